import { useWords } from '@/shared/hooks/useWords';
import type { EditorProblem } from '@/shared/yaml/problems';
import styles from './ProblemList.module.css';
import { StateMark } from './StateMark';
import { uiWords } from './words';

/** All that is wrong with a text, each leading to its line. */
export function ProblemList({ problems, onGo }: { problems: readonly EditorProblem[]; onGo: (problem: EditorProblem) => void }) {
  const words = useWords(uiWords);
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
