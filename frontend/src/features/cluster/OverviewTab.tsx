import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import type { ClusterDetail, Condition } from '@/api/model';
import { Said } from '@/api/said';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Facts } from '@/shared/ui/Facts';
import { type Column, Rows } from '@/shared/ui/Rows';
import { Section } from '@/shared/ui/Section';
import { StateMark } from '@/shared/ui/StateMark';
import { Term } from '@/shared/ui/Term';
import { ApiList } from './ApiList';
import { Capacity } from './Capacity';
import { LabelEditor } from './LabelEditor';
import styles from './OverviewTab.module.css';
import { TaintEditor } from './TaintEditor';
import { clusterWords } from './words';

/** What the cluster reports of itself, and what was set for it here. */
export function OverviewTab({ cluster }: { cluster: ClusterDetail }) {
  const words = useWords(clusterWords);
  const set = (value: string | undefined) => value || <span className="dim">{words.notSet}</span>;
  return (
    <div className={styles['columns']}>
      <div className={styles['column']}>
        <Section title={words.conditions}><Conditions conditions={cluster.conditions} /></Section>
        {cluster.dialect === 'ocm'
          ? <Section title={words.capacity}><p className="dim">{words.toldThere} <Link href={paths.managedCluster(cluster.name)}>{words.asManaged}</Link></p></Section>
          : <><Section title={words.capacity}><Capacity cluster={cluster} /></Section><ApiList enablements={cluster.apiEnablements} /></>}
      </div>
      <div className={styles['column']}>
        <Section title={words.facts}>
          <Facts facts={[
            [words.region, set(cluster.region)],
            [words.zones, set(cluster.zones.join(', '))],
            [words.provider, set(cluster.provider)],
            [words.agent, words.agents[cluster.agent] ?? cluster.agent],
            [words.endpoint, cluster.apiEndpoint ? <code>{cluster.apiEndpoint}</code> : set('')],
            ...(cluster.proxyURL ? [[words.proxy, <code key="proxy">{cluster.proxyURL}</code>] as [string, ReactNode]] : []),
            [words.id, cluster.id ? <code key="id">{cluster.id}</code> : set('')],
            [words.created, <Age key="age" at={cluster.createdAt} ago />],
          ]} />
        </Section>
        <LabelEditor key={`labels-${cluster.name}`} cluster={cluster} />
        <TaintEditor key={`taints-${cluster.name}`} cluster={cluster} />
      </div>
    </div>
  );
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  const words = useWords(clusterWords);
  const columns = useMemo<Column<Condition>[]>(() => [
    { key: 'type', label: words.type, card: 'title', cell: (condition) => <Term text={condition.type} /> },
    { key: 'status', label: words.status, card: 'corner', cell: (condition) => <StateMark tone={condition.status === 'True' ? 'ok' : condition.status === 'False' ? 'bad' : 'unknown'}>{words.statusWords[condition.status] ?? condition.status}</StateMark> },
    { key: 'since', label: words.sinceHead, right: true, cell: (condition) => <Age at={condition.lastTransitionTime} /> },
    { key: 'message', label: words.message, card: 'text', cell: (condition) => <span className={styles['message']}><code>{condition.reason}</code> <Said text={condition.message} /></span> },
  ], [words]);
  if (conditions.length === 0) return <p className="dim">{words.noConditions}</p>;
  return <Rows caption={words.conditions} columns={columns} rows={conditions} rowKey={(condition) => condition.type} />;
}
