import { Button } from '@mantine/core';
import { useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { DiscardDialog } from '@/shared/ui/DiscardDialog';
import { gainsOf } from '../gains';
import styles from './PolicyEditor.module.css';
import type { Editing } from './useEditing';
import type { EditorWords } from './words.en';
import { editorWords } from './words';

interface SaveBarProps {
  editing: Editing;
  saved: boolean;
  /** Somebody else saved, or owns the fields: that comes first. */
  blocked: boolean;
  saving: boolean;
  onSave: () => void;
  onDiscard: () => void;
}

/** The foot of the editor. The button says what saving does. */
export function SaveBar({ editing, saved, blocked, saving, onSave, onDiscard }: SaveBarProps) {
  const words = useWords(editorWords);
  const [asking, setAsking] = useState(false);
  const { dirty, may, problems, fresh } = editing;
  const idle = saved && !dirty;
  const ready = may && !idle && !blocked && fresh && problems.length === 0;
  return (
    <div className={styles['bar']}>
      <Button variant="default" onClick={() => (dirty ? setAsking(true) : onDiscard())}>{dirty ? words.discard : words.back}</Button>
      <Button classNames={{ label: styles['does'] ?? '' }} disabled={!ready} loading={saving} title={may ? undefined : words.needRole} onClick={onSave}>
        <span aria-live="polite">{saveLabel(words, editing, saved)}</span>
      </Button>
      {asking && <DiscardDialog onKeep={() => setAsking(false)} onDiscard={onDiscard} />}
    </div>
  );
}

/** "Save: 2 clusters gain, 1 loses". */
export function saveLabel(all: EditorWords, { preview, fresh, dirty, problems, identity }: Pick<Editing, 'fresh' | 'dirty' | 'problems' | 'identity'> & { preview: { data: Editing['preview']['data'] } }, saved: boolean): string {
  const words = all.save;
  const verb = saved ? words.save : words.create;
  if (saved && !dirty) return words.unchanged;
  if (problems.length > 0) return words.say(verb, words.faulty);
  if (!fresh || !preview.data) return words.say(verb, words.checking);
  const gains = gainsOf(preview.data);
  if (gains.matched === 0) return words.say(verb, words.nothing);
  if (identity.facts.family === 'override') return words.say(verb, gains.changed > 0 ? words.changes(gains.changed) : words.changesNothing);
  const parts = [
    ...(gains.gain > 0 ? [words.gain(gains.gain)] : []),
    ...(gains.lose > 0 ? [gains.gain > 0 ? words.lose(gains.lose) : words.loseOnly(gains.lose)] : []),
    ...(gains.unfit > 0 ? [words.unfit(gains.unfit)] : []),
  ];
  return words.say(verb, parts.length > 0 ? parts.join(words.comma) : words.still);
}
