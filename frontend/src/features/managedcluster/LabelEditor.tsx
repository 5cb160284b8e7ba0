import { ActionIcon, Button, TextInput } from '@mantine/core';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import type { ManagedDetail } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { Section } from '@/shared/ui/Section';
import styles from './managedcluster.module.css';
import { changeManaged } from './queries';
import { managedWords } from './words';

type Labels = Record<string, string>;
const setLabel = 'cluster.open-cluster-management.io/clusterset';
const userLabels = (labels: Labels): Labels => Object.fromEntries(Object.entries(labels).filter(([key]) => key !== setLabel));

/** The labels, changed as a whole: what somebody else saved meanwhile makes the hub refuse, never vanishes. The set has its own place. */
export function LabelEditor({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [draft, setDraft] = useState<{ labels: Labels; labelsSeen: Labels }>();
  const [typed, setTyped] = useState('');
  const [bad, setBad] = useState(false);
  const save = useMutation(changeManaged(cluster.name));
  const stored = userLabels(cluster.labels);
  const labels = draft?.labels ?? stored;
  const edit = (next: Labels) => setDraft({ labels: next, labelsSeen: draft?.labelsSeen ?? stored });
  const discard = () => { setDraft(undefined); save.reset(); };
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
    <Section title={words.labels}>
      {entries.length === 0 && <p className="dim">{words.noLabels}</p>}
      <ul className={styles['chips']} aria-label={words.labels}>
        {entries.map(([key, value]) => (
          <li key={key} className={styles['chip']} data-new={stored[key] !== value || undefined}>
            <code>{value ? `${key}=${value}` : key}</code>
            {may && (
              <ActionIcon size={20} aria-label={words.removeLabel(key)} onClick={() => edit(Object.fromEntries(entries.filter(([other]) => other !== key)))}><IconX size={12} /></ActionIcon>
            )}
          </li>
        ))}
      </ul>
      {may && (
        <form className={styles['add']} onSubmit={add}>
          <TextInput className={styles['grow']} aria-label={words.labelInput} placeholder={words.labelHint} value={typed} error={bad && words.badLabel} onChange={(event) => { setTyped(event.target.value); setBad(false); }} spellCheck={false} autoComplete="off" />
          <Button type="submit" variant="default" disabled={!typed}>{words.addLabel}</Button>
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
