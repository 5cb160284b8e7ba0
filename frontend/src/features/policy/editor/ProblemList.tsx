import { useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './PolicyEditor.module.css';
import type { EditorProblem } from './problems';
import { editorWords } from './words';

/** All that is wrong, each leading to its line. */
export function ProblemList({ problems, onGo }: { problems: readonly EditorProblem[]; onGo: (problem: EditorProblem) => void }) {
  const words = useWords(editorWords);
  return (
    <div className={styles['problems']} role="status">
      <StateMark tone={problems.length > 0 ? 'bad' : 'ok'} plain>{problems.length > 0 ? words.problems(problems.length) : words.noProblems}</StateMark>
      {problems.length > 0 && (
        <ul aria-label={words.problemList}>
          {problems.map((problem, index) => (
            <li key={index}><button type="button" onClick={() => onGo(problem)}><span className="dim">{words.line(problem.line)}</span> {problem.message}</button></li>
          ))}
        </ul>
      )}
    </div>
  );
}
