import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { type Explained, Notice } from '../Notice';
import { Section } from '../Section';
import styles from './Editor.module.css';
import { editorWords } from './words';

/** What a page tells an editor of the save that it does for it. */
export interface Saving {
  /** Whether the user may change anything. */
  may: boolean;
  saving: boolean;
  error: Explained | undefined;
  /** Forgets the error. */
  onDiscard: () => void;
}

interface EditorFrameProps extends Saving {
  title: string;
  /** What to say when there is nothing yet; undefined when there is something. */
  empty: string | undefined;
  chips: ReactNode;
  form: ReactNode;
  changed: boolean;
  onSave: () => void;
}

/** Chips, the form that adds one, and what to do with what was changed. */
export function EditorFrame({ title, empty, chips, form, changed, may, saving, error, onSave, onDiscard }: EditorFrameProps) {
  const words = useWords(editorWords);
  return (
    <Section title={title}>
      {empty !== undefined && <p className="dim">{empty}</p>}
      <ul className={styles['chips']} aria-label={title}>{chips}</ul>
      {may && form}
      {error && <Notice explained={error} />}
      {changed && (
        <div className={styles['save']}>
          <Button variant="default" onClick={onDiscard}>{words.discard}</Button>
          <Button loading={saving} onClick={onSave}>{words.save}</Button>
        </div>
      )}
    </Section>
  );
}
