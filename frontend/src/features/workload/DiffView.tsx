import { type ReactNode, useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { type DiffLine, ruleKey, stretches } from './diff';
import styles from './DiffView.module.css';
import { RuleName } from './RuleName';
import { workloadWords } from './words';

const signs = { same: '', add: '+', del: '−' };

/** A manifest with what came and went; far from any change it is folded until asked for. */
export function DiffView({ label, lines }: { label: string; lines: DiffLine[] }) {
  const words = useWords(workloadWords);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  return (
    <div className={styles['diff']} role="table" aria-label={label}>
      <div role="row" className="hidden"><span role="columnheader">{words.line}</span><span role="columnheader">{label}</span><span role="columnheader">{words.byRule}</span></div>
      {stretches(lines).map((stretch) => (stretch.folded && !unfolded.has(stretch.from)
        ? <div key={stretch.from} role="row"><div role="cell"><button type="button" className={styles['fold']} onClick={() => setUnfolded(new Set(unfolded).add(stretch.from))}>⋯ {words.unfold(stretch.to - stretch.from)}</button></div></div>
        : lines.slice(stretch.from, stretch.to).map((line, index) => <Line key={stretch.from + index} line={line} before={lines[stretch.from + index - 1]} />)))}
    </div>
  );
}

const keysOf = (line: DiffLine | undefined) => line && `${line.op} ${line.rules.map(ruleKey).join(' ')}`;

function Line({ line, before }: { line: DiffLine; before: DiffLine | undefined }) {
  const words = useWords(workloadWords);
  return (
    <div role="row" className={styles['line']} data-op={line.op} data-again={keysOf(line) === keysOf(before) || undefined}>
      <span role="cell" className={styles['number']}>{line.left}</span>
      <span role="cell" className={styles['number']}>{line.right}</span>
      <span className={styles['sign']} aria-hidden="true">{signs[line.op]}</span>
      <span role="cell" className={styles['text']}>{line.op !== 'same' && <span className="hidden">{line.op === 'add' ? words.added : words.removed}: </span>}{marked(line)}</span>
      {line.op !== 'same' && (
        <span role="cell" className={styles['rules']}>
          {line.rules.length === 0 && <span className="dim" title={words.noRuleHint}>{words.noRule}</span>}
          {[...new Map(line.rules.map((rule) => [ruleKey(rule), rule])).values()].map((rule) => (
            <span key={ruleKey(rule)}><RuleName change={rule} /></span>
          ))}
        </span>
      )}
    </div>
  );
}

function marked({ text, part }: DiffLine): ReactNode {
  if (!part || part[0] >= part[1]) return text || ' ';
  return <>{text.slice(0, part[0])}<mark>{text.slice(...part)}</mark>{text.slice(part[1])}</>;
}
