import { useMemo } from 'react';
import { Link } from 'wouter';
import type { Amount, Cluster } from '@/api/model';
import { Said, useSay } from '@/api/said';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Bar } from '@/shared/ui/Bar';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './clusterColumns.module.css';
import { tones } from './state';
import type { ClusterWords } from './words.en';
import { clusterWords } from './words';

/** The fleet's columns; three facts come first at phone width: name, state, and why. */
export function useClusterColumns(): Column<Cluster>[] {
  const words = useWords(clusterWords);
  return useMemo(() => [
    { key: 'name', label: words.name, sortable: true, card: 'title', cell: (cluster) => <Link href={cluster.dialect === 'ocm' ? paths.managedCluster(cluster.name) : paths.cluster(cluster.name)}>{cluster.name}</Link> },
    { key: 'state', label: words.state, sortable: true, card: 'corner', cell: (cluster) => <StateCell cluster={cluster} words={words} /> },
    { key: 'dialect', label: words.dialect, sortable: true, cell: (cluster) => <span className={styles['dialect']} title={words.dialectHints[cluster.dialect]}>{words.dialects[cluster.dialect]}</span> },
    { key: 'mode', label: words.mode, sortable: true, minor: true, cell: (cluster) => cluster.mode },
    { key: 'version', label: words.version, sortable: true, cell: (cluster) => (cluster.version ? <code>{cluster.version}</code> : null) },
    { key: 'nodes', label: words.nodes, sortable: true, right: true, cell: (cluster) => (cluster.nodes ? `${cluster.nodes.ready}/${cluster.nodes.total}` : null) },
    { key: 'cpu', label: words.cpu, hint: words.usedHint, sortable: true, card: 'none', minor: true, cell: (cluster) => <Share amount={cluster.cpu} label={words.cpu} /> },
    { key: 'memory', label: words.memory, hint: words.usedHint, sortable: true, card: 'none', minor: true, cell: (cluster) => <Share amount={cluster.memory} label={words.memory} /> },
    { key: 'region', label: words.region, sortable: true, minor: true, cell: (cluster) => cluster.region || null },
    { key: 'age', label: words.age, sortable: true, right: true, card: 'none', cell: (cluster) => <Age at={cluster.createdAt} /> },
  ], [words]);
}

function StateCell({ cluster, words }: { cluster: Cluster; words: ClusterWords }) {
  return (
    <StateMark tone={tones[cluster.state]}>
      {words.states[cluster.state]}
      {cluster.state !== 'ready' && cluster.since && <span className="dim"> <Age at={cluster.since} /></span>}
      {cluster.cordoned && <span className="dim" title={words.cordonedHint}> · {words.cordoned}</span>}
    </StateMark>
  );
}

function Share({ amount, label }: { amount: Amount | undefined; label: string }) {
  return amount ? <Bar label={label} used={amount.allocated} total={amount.allocatable} /> : <span className="dim">–</span>;
}

/** Whether there is anything to say about a cluster that is not well. */
export const hasReason = (cluster: Cluster) => cluster.state !== 'ready' && Boolean(cluster.removal?.waitingFor || cluster.reason || cluster.message);

/** Why a cluster is not well, in the hub's words; the reason is the same term that kubectl shows. */
export function ReasonLine({ cluster }: { cluster: Cluster }) {
  const words = useWords(clusterWords);
  const say = useSay();
  if (cluster.removal?.waitingFor) return words.waitsFor(say(cluster.removal.waitingFor));
  if (!cluster.reason && !cluster.message) return null;
  return <>{cluster.reason && <code>{cluster.reason}</code>}{cluster.reason && cluster.message ? ' ' : ''}<Said text={cluster.message} /></>;
}
