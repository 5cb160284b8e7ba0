import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import type { ManagedDetail, ManagedTaint } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Notice } from '@/shared/ui/Notice';
import { Section } from '@/shared/ui/Section';
import styles from './managedcluster.module.css';
import { changeManaged } from './queries';
import { managedWords } from './words';

const effects: ManagedTaint['effect'][] = ['NoSelect', 'PreferNoSelect', 'NoSelectIfNew'];
const blank: ManagedTaint = { key: '', value: '', effect: 'NoSelect', system: false };
const text = (taint: ManagedTaint) => `${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`;

/** The taints, changed as a whole like the labels; those of the hub come and go by themselves. A key stands once. */
export function TaintEditor({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [draft, setDraft] = useState<{ taints: ManagedTaint[]; taintsSeen: ManagedTaint[] }>();
  const [typed, setTyped] = useState(blank);
  const save = useMutation(changeManaged(cluster.name));
  const taints = draft?.taints ?? cluster.taints;
  const edit = (next: ManagedTaint[]) => setDraft({ taints: next, taintsSeen: draft?.taintsSeen ?? cluster.taints });
  const discard = () => { setDraft(undefined); save.reset(); };
  const add = (event: FormEvent) => {
    event.preventDefault();
    const key = typed.key.trim();
    edit([...taints.filter((taint) => taint.key !== key), { ...typed, key, value: typed.value?.trim() ?? '' }]);
    setTyped(blank);
  };
  return (
    <Section title={words.taints}>
      {taints.length === 0 && <p className="dim">{words.noTaints}</p>}
      <ul className={styles['chips']} aria-label={words.taints}>
        {taints.map((taint) => (
          <li key={text(taint)} className={styles['chip']} data-new={!cluster.taints.some((held) => text(held) === text(taint)) || undefined} title={taint.system ? words.systemTaint : undefined}>
            <code>{text(taint)}</code>
            {taint.timeAdded && <span className="dim small"><Age at={taint.timeAdded} /></span>}
            {may && !taint.system && <ActionIcon size={20} aria-label={words.removeTaint(text(taint))} onClick={() => edit(taints.filter((other) => other.key !== taint.key))}><IconX size={12} /></ActionIcon>}
          </li>
        ))}
      </ul>
      {may && (
        <form className={styles['add']} onSubmit={add}>
          <TextInput className={styles['grow']} aria-label={words.taintKey} placeholder={words.taintKey} value={typed.key} onChange={(event) => setTyped({ ...typed, key: event.target.value })} spellCheck={false} autoComplete="off" />
          <TextInput className={styles['grow']} aria-label={words.taintValue} placeholder={words.taintValue} value={typed.value} onChange={(event) => setTyped({ ...typed, value: event.target.value })} spellCheck={false} autoComplete="off" />
          <NativeSelect className={styles['effect']} aria-label={words.taintEffect} data={effects} value={typed.effect} onChange={(event) => setTyped({ ...typed, effect: effects.find((effect) => effect === event.target.value) ?? 'NoSelect' })} />
          <Button type="submit" variant="default" disabled={!typed.key.trim()}>{words.addTaint}</Button>
        </form>
      )}
      {save.error && <Notice explained={explain.error(save.error)} />}
      {draft && (
        <div className={styles['save']}>
          <Button variant="default" onClick={discard}>{words.discard}</Button>
          <Button loading={save.isPending} onClick={() => save.mutate(draft, { onSuccess: discard })}>{words.save}</Button>
        </div>
      )}
    </Section>
  );
}
