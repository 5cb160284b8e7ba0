import { ActionIcon, Button, TextInput } from '@mantine/core';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { type FormEvent, useState } from 'react';
import { useDraft } from '@/shared/hooks/useDraft';
import { useWords } from '@/shared/hooks/useWords';
import styles from './Editor.module.css';
import { EditorFrame, type Saving } from './EditorFrame';
import { editorWords } from './words';

export type Labels = Record<string, string>;

interface LabelEditorProps<S> extends Saving {
  title: string;
  none: string;
  labels: Labels;
  /** What a save is compared with, as it was when the first label was changed. */
  seen: S;
  onSave: (labels: Labels, seen: S, saved: () => void) => void;
}

/** Labels, changed as a whole. */
export function LabelEditor<S>({ title, none, labels: stored, seen, onSave, ...saving }: LabelEditorProps<S>) {
  const words = useWords(editorWords);
  const { value: labels, draft, edit, discard } = useDraft(stored, seen);
  const [typed, setTyped] = useState('');
  const [bad, setBad] = useState(false);
  const add = (event: FormEvent) => {
    event.preventDefault();
    const match = /^([^=\s]+)=(\S*)$/.exec(typed.trim());
    setBad(!match);
    if (!match?.[1]) return;
    edit({ ...labels, [match[1]]: match[2] ?? '' });
    setTyped('');
  };
  const entries = Object.entries(labels).sort(([a], [b]) => a.localeCompare(b));
  return (
    <EditorFrame
      {...saving} title={title} empty={entries.length === 0 ? none : undefined} changed={draft !== undefined}
      onSave={() => draft && onSave(draft.value, draft.seen, discard)} onDiscard={() => { discard(); saving.onDiscard(); }}
      chips={entries.map(([key, value]) => (
        <li key={key} className={styles['chip']} data-new={stored[key] !== value || undefined}>
          <code>{value ? `${key}=${value}` : key}</code>
          {saving.may && (
            <ActionIcon size={20} aria-label={words.removeLabel(key)} onClick={() => edit(Object.fromEntries(entries.filter(([other]) => other !== key)))}><IconX size={12} /></ActionIcon>
          )}
        </li>
      ))}
      form={
        <form className={styles['add']} onSubmit={add}>
          <TextInput className={styles['grow']} aria-label={words.labelInput} placeholder={words.labelHint} value={typed} error={bad && words.badLabel} onChange={(event) => { setTyped(event.target.value); setBad(false); }} spellCheck={false} autoComplete="off" autoCapitalize="off" />
          <Button type="submit" variant="default" disabled={!typed}>{words.addLabel}</Button>
        </form>
      }
    />
  );
}
