import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { TabBar } from '@/shared/ui/TabBar';
import { newLines } from '@/shared/yaml/lines';
import { type Conflict, merge } from '@/shared/yaml/merge';
import { parse } from '@/shared/yaml/parse';
import { formatPath } from '@/shared/yaml/path';
import { reconcile } from '@/shared/yaml/reconcile';
import { withValue } from '@/shared/yaml/value';
import { write } from '../form/anyValue';
import styles from './PolicyEditor.module.css';
import { editorWords } from './words';

const sides = ['before', 'theirs', 'mine', 'merged'] as const;
type Side = typeof sides[number];
const wraps = { label: styles['does'] ?? '' };
type Choice = 'mine' | 'theirs';

interface MergeViewProps {
  name: string;
  base: string;
  mine: string;
  theirs: string;
  onTake: (text: string) => void;
  onCancel: () => void;
}

/** Two changes of one policy, brought together field by field. Where both changed one field, a person chooses. */
export function MergeView({ name, base, mine, theirs, onTake, onCancel }: MergeViewProps) {
  const all = useWords(editorWords);
  const words = all.stale;
  const [choices, setChoices] = useState<Record<string, Choice>>({});
  const [side, setSide] = useState<Side>('merged');
  const own = useMemo(() => parse(mine), [mine]);
  // A draft that cannot be read cannot be merged: only theirs is left to take.
  const merged = useMemo(() => (own.faults.length > 0 ? undefined : merge(parse(base).value, own.value, parse(theirs).value)), [base, own, theirs]);
  const conflicts = merged?.conflicts ?? [];
  const open = conflicts.some((conflict) => !choices[formatPath(conflict.path)]);
  const text = useMemo(() => {
    if (!merged) return theirs;
    const value = merged.conflicts.reduce((held, { path, theirs: other }) => (choices[formatPath(path)] === 'theirs' ? withValue(held, path, other) : held), merged.value);
    // Mine is the text that the merge is written into: its comments stay.
    return reconcile(mine, [], value);
  }, [merged, choices, mine, theirs]);
  const texts: Record<Side, string> = { before: base, theirs, mine, merged: text };
  return (
    <div className="page">
      <PageHead title={words.heading} below={name} />
      <Notice tone={!merged || conflicts.length > 0 ? 'warn' : 'info'} title={!merged ? words.unreadable : conflicts.length > 0 ? words.conflicts(conflicts.length) : words.clean} />
      {conflicts.length > 0 && (
        <ul className={styles['conflicts']}>
          {conflicts.map((conflict) => {
            const key = formatPath(conflict.path);
            return <li key={key}><ConflictFields conflict={conflict} choice={choices[key]} onChoose={(choice) => setChoices({ ...choices, [key]: choice })} /></li>;
          })}
        </ul>
      )}
      <div className={styles['mergeTabs']}><TabBar label={words.sides} panel="merge" chosen={side} tabs={sides.map((key) => ({ key, label: words[key] }))} onChoose={(key) => setSide(key as Side)} /></div>
      <div className={styles['sides']} id="merge">
        {sides.map((key) => (
          <section key={key} className={styles['side']} data-shown={key === side || undefined} aria-label={words[key]}>
            <div className={styles['title']}><h2>{words[key]}</h2></div>
            <Text text={texts[key]} against={base} label={words[key]} />
          </section>
        ))}
      </div>
      <p className="dim">{words.takeHint}</p>
      <div className={styles['bar']}>
        <Button variant="default" classNames={wraps} onClick={onCancel}>{all.keep}</Button>
        <Button variant="default" classNames={wraps} onClick={() => onTake(theirs)}>{words.drop}</Button>
        <Button classNames={wraps} disabled={open || !merged} onClick={() => onTake(text)}>{words.take}</Button>
      </div>
    </div>
  );
}

function Text({ text, against, label }: { text: string; against: string; label: string }) {
  const lines = text.replace(/\n$/, '').split('\n');
  const fresh = useMemo(() => newLines(against, text), [against, text]);
  return <pre aria-label={label} tabIndex={0}>{lines.map((line, index) => <span key={index} data-new={fresh.has(index) || undefined}>{line}</span>)}</pre>;
}

function ConflictFields({ conflict, choice, onChoose }: { conflict: Conflict; choice: Choice | undefined; onChoose: (choice: Choice) => void }) {
  const words = useWords(editorWords).stale;
  const key = formatPath(conflict.path);
  const show = (value: unknown) => (value === undefined ? words.absent : write(value));
  return (
    <fieldset className={styles['conflict']}>
      <legend><code>{key}</code> <span className="dim">({words.was} <code>{show(conflict.base)}</code>)</span></legend>
      {(['theirs', 'mine'] as const).map((side) => (
        <label key={side}><input type="radio" name={key} checked={choice === side} onChange={() => onChoose(side)} /><span>{words[side]}: <code className="wrap">{show(conflict[side])}</code></span></label>
      ))}
    </fieldset>
  );
}
