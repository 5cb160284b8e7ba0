import '@mantine/core/styles/Combobox.layer.css';
import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { type FormEvent, useState } from 'react';
import { useDraft } from '@/shared/hooks/useDraft';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '../Age';
import styles from './Editor.module.css';
import { EditorFrame, type Saving } from './EditorFrame';
import { editorWords } from './words';

export interface AnyTaint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

interface TaintEditorProps<T extends AnyTaint, S> extends Saving {
  title: string;
  none: string;
  taints: T[];
  /** The effects to choose from, and a taint with the first of them and nothing else. */
  effects: readonly T['effect'][];
  blank: T;
  /** Which taints come and go by themselves. */
  byHub: (taint: T) => boolean;
  /** Which taints cannot stand side by side. */
  same: (a: T, b: T) => boolean;
  /** What a save is compared with, as it was when the first taint was changed. */
  seen: S;
  onSave: (taints: T[], seen: S, saved: () => void) => void;
}

const text = (taint: AnyTaint) => `${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`;

/** Taints, changed as a whole like labels. */
export function TaintEditor<T extends AnyTaint, S>({ title, none, taints: stored, effects, blank, byHub, same, seen, onSave, ...saving }: TaintEditorProps<T, S>) {
  const words = useWords(editorWords);
  const { value: taints, draft, edit, discard } = useDraft(stored, seen);
  const [typed, setTyped] = useState(blank);
  const add = (event: FormEvent) => {
    event.preventDefault();
    const taint = { ...typed, key: typed.key.trim(), value: typed.value?.trim() ?? '' };
    edit([...taints.filter((other) => !same(other, taint)), taint]);
    setTyped(blank);
  };
  return (
    <EditorFrame
      {...saving} title={title} empty={taints.length === 0 ? none : undefined} changed={draft !== undefined}
      onSave={() => draft && onSave(draft.value, draft.seen, discard)} onDiscard={() => { discard(); saving.onDiscard(); }}
      chips={taints.map((taint) => (
        <li key={text(taint)} className={styles['chip']} data-new={!stored.some((held) => text(held) === text(taint)) || undefined} title={byHub(taint) ? words.byHub : undefined}>
          <code>{text(taint)}</code>
          {taint.timeAdded && <span className="dim small"><Age at={taint.timeAdded} /></span>}
          {saving.may && !byHub(taint) && <ActionIcon size={20} aria-label={words.removeTaint(text(taint))} onClick={() => edit(taints.filter((other) => !same(other, taint)))}><IconX size={12} /></ActionIcon>}
        </li>
      ))}
      form={
        <form className={styles['add']} onSubmit={add}>
          <TextInput className={styles['grow']} aria-label={words.taintKey} placeholder={words.taintKey} value={typed.key} onChange={(event) => setTyped({ ...typed, key: event.target.value })} spellCheck={false} autoComplete="off" autoCapitalize="off" />
          <TextInput className={styles['grow']} aria-label={words.taintValue} placeholder={words.taintValue} value={typed.value} onChange={(event) => setTyped({ ...typed, value: event.target.value })} spellCheck={false} autoComplete="off" autoCapitalize="off" />
          <NativeSelect className={styles['effect']} aria-label={words.taintEffect} data={[...effects]} value={typed.effect} onChange={(event) => setTyped({ ...typed, effect: event.target.value })} />
          <Button type="submit" variant="default" disabled={!typed.key.trim()}>{words.addTaint}</Button>
        </form>
      }
    />
  );
}
