import { useMediaQuery } from '@mantine/hooks';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { factWords, reworded, sentence } from '@/api/facts';
import { leftOut, schedulingWords } from '@/api/scheduling';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { ClusterDots } from './ClusterDots';
import { Replicas } from './Replicas';
import { reasonsOf, tones } from './state';
import type { WorkloadRow } from './types';
import type { WorkloadWords } from './words.en';
import { workloadWords } from './words';
import styles from './workloadColumns.module.css';

/** The columns of the list; at phone width name, state and reason come first, and a window of middle width goes without the minor ones. */
export function useWorkloadColumns(): Column<WorkloadRow>[] {
  const words = useWords(workloadWords);
  const middle = useMediaQuery('(min-width: 641px) and (max-width: 1320px)');
  return useMemo(() => {
    const columns: Column<WorkloadRow>[] = [
      { key: 'name', label: words.name, sortable: true, card: 'title', breaks: true, cell: (row) => <NameCell row={row} /> },
      { key: 'state', label: words.state, sortable: true, card: 'corner', cell: (row) => <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark> },
      { key: 'clusters', label: words.clusters, sortable: true, card: 'text', cell: (row) => <ClusterDots clusters={row.clusters} /> },
      { key: 'replicas', label: words.replicas, sortable: true, right: true, cell: (row) => (row.replicas ? <Replicas of={row.replicas} /> : null) },
      { key: 'images', label: words.images, cell: (row) => (row.images.length > 0 ? <Images images={row.images} words={words} /> : null) },
      { key: 'policy', label: words.policy, sortable: true, minor: true, breaks: true, cell: (row) => <PolicyCell row={row} words={words} /> },
      { key: 'age', label: words.age, sortable: true, right: true, card: 'none', minor: true, cell: (row) => <Age at={row.createdAt} /> },
    ];
    return middle ? columns.filter((column) => !column.minor) : columns;
  }, [words, middle]);
}

function NameCell({ row }: { row: WorkloadRow }) {
  return (
    <span className={styles['name']}>
      <Link href={paths.workload(row)}>{row.name}</Link>
      <span className="dim small">{row.kind}{row.namespace && ` · ${row.namespace}`}</span>
    </span>
  );
}

function Images({ images, words }: { images: string[]; words: WorkloadWords }) {
  const [first] = images;
  return <span className={styles['images']}><code title={images.join('\n')}>{first}</code>{images.length > 1 && <span className="dim small">{words.moreImages(images.length - 1)}</span>}</span>;
}

function PolicyCell({ row, words }: { row: WorkloadRow; words: WorkloadWords }) {
  return row.policy ? <Link href={paths.policy(row.policy)}>{row.policy.name}</Link> : <span className="dim">{words.noPolicy}</span>;
}

/** Why a workload is not well, and what the clusters say to it. */
export function ReasonLine({ row, words }: { row: WorkloadRow; words: WorkloadWords }) {
  const known = useWords(schedulingWords);
  const said = useWords(factWords);
  if (row.state === 'ok') return null;
  const { reason, others } = reasonsOf(row);
  const shown = others.slice(0, 2);
  const main = reason ? sentence(said, leftOut(known, { text: reason, code: row.reasonCode, params: row.reasonParams })) : shown.length === 0 && words.noReason[row.state];
  return (
    <>
      {main}
      {shown.map((cluster) => <span key={cluster.name} className={styles['more']}>{reworded(said, cluster.message ?? '')}</span>)}
      {others.length > shown.length && <span className={styles['more']}>{words.moreDots(others.length - shown.length)}</span>}
    </>
  );
}
