import { type ReactNode, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { aboutCluster, factWords } from '@/api/facts';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Facts } from '@/shared/ui/Facts';
import { More } from '@/shared/ui/More';
import { type Column, Rows } from '@/shared/ui/Rows';
import { Section } from '@/shared/ui/Section';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import styles from './OverviewTab.module.css';
import type { WorkloadKey } from './queries';
import { Replicas } from './Replicas';
import { placedTones, worstFirst } from './state';
import type { Health, PlacedCluster, WorkloadCondition, WorkloadDetail } from './types';
import { WhyChain } from './WhyChain';
import { workloadWords } from './words';

const healthTones: Record<Health, Tone> = { Healthy: 'ok', Unhealthy: 'warn', Unknown: 'unknown' };

/** How many clusters are added at a time. */
const step = 20;

/** Why the workload stands as it does, where it is, and what it is. */
export function OverviewTab({ workload, detail }: { workload: WorkloadKey; detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  const { row } = detail;
  return (
    <div className={styles['columns']}>
      <div className={styles['column']}>
        <Section title={row.state === 'ok' ? words.why : words.whyNot}><WhyChain workload={workload} detail={detail} /></Section>
        <Section title={words.clusters}><ClusterTable clusters={row.clusters} /></Section>
      </div>
      <div className={styles['column']}>
        <Section title={words.about}>
          <Facts facts={[
            [words.kind, <>{row.kind} <code className="dim">{row.apiVersion}</code></>],
            [words.namespace, row.namespace ?? <span className="dim">{words.clusterScoped}</span>],
            [words.policy, row.policy ? <>{row.policy.kind} <Link href={paths.policy(row.policy)}>{row.policy.namespace ? `${row.policy.namespace}/` : ''}{row.policy.name}</Link></> : <span className="dim">{words.noPolicy}</span>],
            ...(row.binding ? [[words.binding, <code key="binding">{row.binding.name}</code>] as [string, ReactNode]] : []),
            ...conditionFact(words.scheduled, detail.scheduled, words.conditionWords),
            ...conditionFact(words.fullyApplied, detail.fullyApplied, words.conditionWords),
            ...(row.images.length > 0 ? [[words.images, <ul key="images" className={styles['images']}>{row.images.map((image) => <li key={image}><code>{image}</code></li>)}</ul>] as [string, ReactNode]] : []),
            [words.created, <Age key="age" at={row.createdAt} ago />],
          ]} />
        </Section>
      </div>
    </div>
  );
}

function conditionFact(label: string, condition: WorkloadCondition | undefined, statuses: Record<WorkloadCondition['status'], string>): [string, ReactNode][] {
  if (!condition) return [];
  const tone: Tone = condition.status === 'True' ? 'ok' : condition.status === 'False' ? 'warn' : 'unknown';
  return [[label, <StateMark key={label} tone={tone} plain>{statuses[condition.status]}{condition.lastTransitionTime && <span className="dim"> <Age at={condition.lastTransitionTime} /></span>}</StateMark>]];
}

function ClusterTable({ clusters }: { clusters: PlacedCluster[] }) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const columns = useMemo<Column<PlacedCluster>[]>(() => [
    { key: 'name', label: words.cluster, card: 'title', cell: (cluster) => <Link href={paths.cluster(cluster.name)}>{cluster.name}</Link> },
    { key: 'state', label: words.state, card: 'corner', cell: (cluster) => <StateMark tone={placedTones[cluster.state]}>{words.placedStates[cluster.state]}</StateMark> },
    { key: 'replicas', label: words.replicas, right: true, cell: (cluster) => (cluster.replicas === undefined ? null : <Replicas of={{ wanted: cluster.replicas, ready: cluster.ready ?? 0 }} />) },
    { key: 'applied', label: words.applied, cell: (cluster) => <StateMark tone={cluster.applied ? 'ok' : 'idle'} plain>{cluster.applied ? words.applied : words.notApplied}</StateMark> },
    { key: 'health', label: words.health, cell: (cluster) => <StateMark tone={healthTones[cluster.health]} plain>{words.healthWords[cluster.health]}</StateMark> },
  ], [words]);
  const rows = useMemo(() => worstFirst(clusters), [clusters]);
  const [most, setMost] = useState(step);
  if (rows.length === 0) return <p className="dim">{words.noPlaces}</p>;
  return (
    <div>
      <Rows caption={words.clusters} columns={columns} rows={rows.slice(0, most)} rowKey={(cluster) => cluster.name} note={(cluster) => (cluster.message ? aboutCluster(said, cluster.message, cluster.name) : null)} />
      {rows.length > step && <More shown={Math.min(most, rows.length)} total={rows.length} hasMore={most < rows.length} loading={false} onMore={() => setMost(most + step)} />}
    </div>
  );
}
