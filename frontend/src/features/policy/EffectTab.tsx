import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import { useExplain } from '@/api/errors';
import { aboutCluster, factWords, remedyOf } from '@/api/facts';
import { useFollow } from '@/api/hub';
import { type PolicyAt, paths } from '@/app/paths';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { More } from '@/shared/ui/More';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { type Column, Rows } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { count } from '@/shared/ui/time';
import styles from './EffectTab.module.css';
import { effectStates, effectTones, toneOf, worstFirst } from './effect';
import type { Family } from './kinds';
import { policyEffect } from './queries';
import type { EffectItem } from './types';
import { policyWords } from './words';

const shown = 6;
const keyOf = (item: EffectItem) => item.id;

/** What the policy does now: its objects, and how that goes in each cluster. */
export function EffectTab({ at, family }: { at: PolicyAt; family: Family }) {
  const words = useWords(policyWords);
  const explain = useExplain();
  const { language } = useLanguage();
  useFollow('effects');
  const query = useInfiniteQuery(policyEffect(at));
  const columns = useMemo<Column<EffectItem>[]>(() => [
    {
      key: 'object', label: words.object, card: 'title', breaks: true, cell: (item) => (
        <span className="linked"><span className="dim">{item.kind} </span><Link href={paths.workload(item)}>{item.namespace && item.namespace !== at.namespace ? `${item.namespace}/` : ''}{item.name}</Link></span>
      ),
    },
    { key: 'clusters', label: words.inClusters, card: 'text', cell: (item) => <Clusters item={item} /> },
    { key: 'since', label: words.since, right: true, card: 'corner', cell: (item) => (item.since ? <Age at={item.since} ago /> : <span className="dim">–</span>) },
  ], [words, at.namespace]);
  if (query.error && !query.data) return <Notice explained={explain.error(query.error)} />;
  const first = query.data?.pages[0];
  if (!first) return <Placeholder />;
  const items = query.data?.pages.flatMap((page) => page.items.items) ?? [];
  if (items.length === 0) return <Empty title={words.effectNoneTitle}>{family === 'override' ? words.effectNoneOverride : words.effectNonePropagation}</Empty>;
  return (
    <div className={styles['effect']}>
      <p className={styles['counts']} title={words.effectHint}>
        <strong>{words.effectSum(count(language, first.matched))}</strong>
        {effectStates.filter((state) => state === 'applied' || (first.counts[state] ?? 0) > 0).map((state) => (
          <StateMark key={state} tone={effectTones[state]} plain>{words.effectCount(count(language, first.counts[state] ?? 0), words.effectStates[state])}</StateMark>
        ))}
        {first.counts.drifted > 0 && <StateMark tone="warn" plain>{words.effectDrifted(count(language, first.counts.drifted))}</StateMark>}
      </p>
      <Rows caption={words.tabs.effect} columns={columns} rows={items} rowKey={keyOf} note={reasonsOf} />
      <More shown={items.length} total={first.items.total} hasMore={query.hasNextPage} loading={query.isFetchingNextPage} onMore={() => void query.fetchNextPage()} />
    </div>
  );
}

function Clusters({ item }: { item: EffectItem }) {
  const words = useWords(policyWords);
  const clusters = worstFirst(item.clusters);
  return (
    <span className={styles['clusters']}>
      {clusters.slice(0, shown).map((cluster) => (
        <StateMark key={cluster.name} tone={toneOf(cluster)} plain>
          <Link href={paths.cluster(cluster.name)}>{cluster.name}</Link>
          <span className="dim"> {words.effectStates[cluster.state]}{cluster.state === 'applied' && cluster.health === 'Unhealthy' ? `${words.comma}${words.unhealthy}` : ''}</span>
          {cluster.driftedAt && <span className="dim" title={words.driftHint}>{words.comma}{words.drifted} <Age at={cluster.driftedAt} ago /></span>}
        </StateMark>
      ))}
      {clusters.length > shown && <span className="dim">{words.moreClusters(clusters.length - shown)}</span>}
    </span>
  );
}

/** Why it is not applied somewhere, and what to do about it, in a line of its own under the row. */
function reasonsOf(item: EffectItem): ReactNode {
  const told = worstFirst(item.clusters).filter((cluster) => cluster.message && cluster.state !== 'applied').slice(0, shown);
  return told.length > 0 && told.map((cluster) => <Reason key={cluster.name} cluster={cluster} />);
}

function Reason({ cluster: { name, message = '' } }: { cluster: EffectItem['clusters'][number] }) {
  const said = useWords(factWords);
  const remedy = remedyOf(said, { text: message });
  return <span className={styles['reason']}><code>{name}</code> {aboutCluster(said, message, name)}{remedy && <span className="dim"> {said.remedy(remedy)}</span>}</span>;
}
