import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useExplain } from '@/api/errors';
import { factWords, sentence } from '@/api/facts';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Notice } from '@/shared/ui/Notice';
import { type Column, Rows } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './PodTable.module.css';
import { podTone } from './pods';
import { workloadPods, type WorkloadKey } from './queries';
import { factTones } from './state';
import type { Pod, PodsAnswer } from './types';
import { workloadWords } from './words';

interface PodTableProps {
  workload: WorkloadKey;
  cluster: string;
  /** What the hub knows of the workload there. */
  version: string;
}

/** The pods of a workload in one cluster as the member shows them, those first that are not ready. */
export function PodTable({ workload, cluster, version }: PodTableProps) {
  const words = useWords(workloadWords);
  const explain = useExplain();
  const { data, error, isFetching, refetch } = useQuery(workloadPods(workload, cluster, version));
  return (
    <section className={styles['pods']} aria-label={words.podsIn(cluster)}>
      {error && <Notice explained={explain.error(error)} />}
      {!data && !error && <p className="dim">{words.looking}</p>}
      {data && <Said answer={data} />}
      {data && data.pods.length > 0 && <PodRows cluster={cluster} pods={data.pods} />}
      {(data ?? error) && <div><Button variant="default" size="compact-sm" loading={isFetching} onClick={() => void refetch()}>{words.lookAgain}</Button></div>}
    </section>
  );
}

/** The sum of the table; where a row says why, that is enough. */
function Said({ answer: { fact, pods, total, notReady, partial } }: { answer: PodsAnswer }) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const counted = fact.code === 'pods.worst' || fact.code === 'pods.worst-plain';
  return (
    <p className={styles['said']}>
      {counted
        ? words.podsUnready(String(notReady), `${total}${partial ? '+' : ''}`)
        : <><StateMark tone={factTones[fact.level]} /> {sentence(said, fact)}</>}
      {pods.length > 0 && (total > pods.length || partial) && <span className="dim"> {words.podsFirst(pods.length)}</span>}
    </p>
  );
}

function PodRows({ cluster, pods }: { cluster: string; pods: Pod[] }) {
  const words = useWords(workloadWords);
  const columns = useMemo<Column<Pod>[]>(() => [
    { key: 'name', label: words.pod, card: 'title', cell: (pod) => pod.name },
    { key: 'state', label: words.state, card: 'corner', cell: (pod) => <StateMark tone={podTone(pod)}>{pod.ok ? words.podPhases[pod.phase] : pod.reason || words.podPhases[pod.phase]}</StateMark> },
    { key: 'ready', label: words.podReady, right: true, cell: (pod) => `${pod.ready}/${pod.containers}` },
    { key: 'restarts', label: words.restarts, right: true, cell: (pod) => pod.restarts },
    { key: 'age', label: words.age, right: true, cell: (pod) => <Age at={pod.createdAt} /> },
    { key: 'node', label: words.node, minor: true, cell: (pod) => pod.node ?? <span className="dim">{words.noNode}</span> },
  ], [words]);
  return <Rows caption={words.podsIn(cluster)} columns={columns} rows={pods} rowKey={(pod) => pod.name} note={why} />;
}

/** What the member says about a pod that is not ready; which container it is about where there are several. */
function why(pod: Pod) {
  if (pod.ok || (!pod.message && (!pod.container || pod.containers === 1))) return null;
  return <>{pod.container && <code>{pod.container}</code>}{pod.container && pod.message && ': '}{pod.message}</>;
}
