import '@mantine/core/styles/Combobox.layer.css';
import { Button, NativeSelect } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link } from 'wouter';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import type { ManagedDetail } from '@/api/model';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { Section } from '@/shared/ui/Section';
import styles from './managedcluster.module.css';
import { changeManaged, setNames } from './queries';
import { managedWords } from './words';

/** The one set that the cluster is in by its label, and a way to another. */
export function SetPicker({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const may = useMay('operator');
  useFollow('cluster-sets');
  const { data: known } = useQuery({ ...setNames, enabled: may });
  const names = known ?? [];
  const move = useMutation(changeManaged(cluster.name));
  const [chosen, setChosen] = useState('');
  const others = names.filter((name) => name !== cluster.set);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (chosen) move.mutate({ set: chosen }, { onSuccess: () => setChosen('') });
  };
  return (
    <Section title={words.setTitle} aside={<Link href={paths.clusterSets()}>{cluster.set || '–'}</Link>}>
      {known && cluster.set && !known.includes(cluster.set)
        ? <Notice tone="warn" title={words.setGone(cluster.set)} />
        : <p className="dim">{words.setText}</p>}
      {may && others.length > 0 && (
        <form className={styles['add']} onSubmit={submit}>
          <NativeSelect className={styles['grow']} aria-label={words.setChange} data={[{ value: '', label: words.setChange }, ...others]} value={chosen} onChange={(event) => setChosen(event.target.value)} />
          <Button type="submit" variant="default" disabled={!chosen} loading={move.isPending}>{words.setMove}</Button>
        </form>
      )}
      {move.error && <Notice explained={explain.error(move.error)} />}
    </Section>
  );
}
