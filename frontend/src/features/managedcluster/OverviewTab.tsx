import { type ReactNode, useMemo } from 'react';
import type { ManagedDetail } from '@/api/model';
import { Said } from '@/api/said';
import { useNow } from '@/shared/hooks/useNow';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Facts } from '@/shared/ui/Facts';
import { type Column, Rows } from '@/shared/ui/Rows';
import { Section } from '@/shared/ui/Section';
import { StateMark } from '@/shared/ui/StateMark';
import { Term } from '@/shared/ui/Term';
import { compactAge } from '@/shared/ui/time';
import { uiWords } from '@/shared/ui/words';
import { Consents } from './Consents';
import { LabelEditor } from './LabelEditor';
import styles from './managedcluster.module.css';
import { SetPicker } from './SetPicker';
import { conditionTone } from './state';
import { TaintEditor } from './TaintEditor';
import { managedWords } from './words';

type Condition = ManagedDetail['conditions'][number];

/** Who agreed, what the agent reports, and what was set for the cluster here. */
export function OverviewTab({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const set = (value: string | undefined) => value || <span className="dim">{words.notSet}</span>;
  return (
    <div className={styles['columns']}>
      <div className={styles['column']}>
        <Consents cluster={cluster} />
        <Section title={words.conditions}><Conditions conditions={cluster.conditions} /></Section>
        <Section title={words.capacity}><Capacity cluster={cluster} /></Section>
        {cluster.managedNamespaces.length > 0 && (
          <Section title={words.namespaces}>
            <ul className={styles['said']}>
              {cluster.managedNamespaces.map((one) => <li key={`${one.set} ${one.name}`}><StateMark tone={conditionTone(one.state)} plain><code>{one.name}</code> <span className="dim">{words.namespaceOf(one.set)}</span></StateMark></li>)}
            </ul>
          </Section>
        )}
      </div>
      <div className={styles['column']}>
        <Section title={words.facts}>
          <Facts facts={[
            [words.urls, cluster.urls.length > 0 ? cluster.urls.map((url) => <div key={url}><code>{url}</code></div>) : set('')],
            [words.version, set(cluster.kubernetesVersion)],
            [words.lease, <LeaseLine key="lease" cluster={cluster} />],
            [words.created, <Age key="age" at={cluster.createdAt} ago />],
          ] as [string, ReactNode][]} />
        </Section>
        <Section title={words.claims}>
          {cluster.claims.length === 0
            ? <p className="dim">{words.claimsNone}</p>
            : <Facts facts={cluster.claims.map((claim) => [claim.name, <code key={claim.name}>{claim.value}</code>])} />}
        </Section>
        <SetPicker key={`set-${cluster.name}`} cluster={cluster} />
        <LabelEditor key={`labels-${cluster.name}`} cluster={cluster} />
        <TaintEditor key={`taints-${cluster.name}`} cluster={cluster} />
      </div>
    </div>
  );
}

function LeaseLine({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const units = useWords(uiWords);
  const now = useNow();
  if (!cluster.lease) return <span className="dim">{words.leaseNone}</span>;
  const left = Date.parse(cluster.lease.expiresAt) - now;
  return (
    <>
      {words.leaseRenewed} <Age at={cluster.lease.renewedAt} ago />{words.comma}{words.leaseEvery(cluster.leaseSeconds)}
      <div className="dim">{left > 0 ? words.leaseEnds(compactAge(units, left)) : words.leaseOver}</div>
    </>
  );
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  const words = useWords(managedWords);
  const columns = useMemo<Column<Condition>[]>(() => [
    { key: 'type', label: words.type, card: 'title', cell: (condition) => <Term text={condition.type} /> },
    { key: 'status', label: words.status, card: 'corner', cell: (condition) => <StateMark tone={conditionTone(condition.status)}>{words.statusWords[condition.status] ?? condition.status}</StateMark> },
    { key: 'since', label: words.since, right: true, cell: (condition) => <Age at={condition.lastTransitionTime} /> },
    { key: 'message', label: words.message, card: 'text', cell: (condition) => <span className={styles['message']}><code>{condition.reason}</code> <Said text={condition.message} /></span> },
  ], [words]);
  if (conditions.length === 0) return <p className="dim">{words.noConditions}</p>;
  return <Rows caption={words.conditions} columns={columns} rows={conditions} rowKey={(condition) => condition.type} />;
}

interface Amount {
  resource: string;
  total: string;
  free: string;
}

function Capacity({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const columns = useMemo<Column<Amount>[]>(() => [
    { key: 'resource', label: words.resource, card: 'title', cell: (row) => row.resource },
    { key: 'total', label: words.total, right: true, cell: (row) => <code>{row.total}</code> },
    { key: 'allocatable', label: words.allocatable, right: true, cell: (row) => <code>{row.free}</code> },
  ], [words]);
  const names = [...new Set([...Object.keys(cluster.capacity), ...Object.keys(cluster.allocatable)])].sort();
  if (names.length === 0) return <p className="dim">{words.capacityNone}</p>;
  const rows = names.map((resource) => ({ resource, total: cluster.capacity[resource] ?? '–', free: cluster.allocatable[resource] ?? '–' }));
  return <Rows caption={words.capacity} columns={columns} rows={rows} rowKey={(row) => row.resource} />;
}
