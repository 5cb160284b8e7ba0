import { useMemo } from 'react';
import { Link } from 'wouter';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './policyColumns.module.css';
import { selectorText } from './selectorText';
import { ClusterNames } from './Troubles';
import type { PolicyRow } from './types';
import type { PolicyWords } from './words.en';
import { policyWords } from './words';

const shownSelectors = 2;
const shownClusters = 3;

/** The columns of the list; name, state and what goes where come first at phone width. */
export function usePolicyColumns(): Column<PolicyRow>[] {
  const words = useWords(policyWords);
  return useMemo(() => [
    { key: 'name', label: words.name, sortable: true, card: 'title', breaks: true, cell: (row) => <Link href={paths.policy(row)}>{row.name}</Link> },
    { key: 'state', label: words.state, card: 'corner', cell: (row) => <PolicyState row={row} /> },
    { key: 'kind', label: words.kind, sortable: true, cell: (row) => <span title={row.kind}>{words.kinds[row.resource]}</span> },
    { key: 'namespace', label: words.namespace, sortable: true, minor: true, cell: (row) => row.namespace || <span className="dim">{words.allNamespaces}</span> },
    { key: 'resources', label: words.resources, cell: (row) => <Selectors row={row} words={words} /> },
    { key: 'clusters', label: words.clusters, cell: (row) => <Clusters row={row} words={words} /> },
    { key: 'does', label: words.does, minor: true, cell: (row) => (row.rules === undefined ? (row.replicas && words.replicas[row.replicas]) || null : words.rules(row.rules)) },
    { key: 'priority', label: words.priority, sortable: true, right: true, minor: true, card: 'none', cell: (row) => row.priority ?? '–' },
    { key: 'age', label: words.age, sortable: true, right: true, card: 'none', cell: (row) => <Age at={row.createdAt} /> },
  ], [words]);
}

/** Whether the policy is carried out, and if not, why not. */
export function PolicyState({ row }: { row: PolicyRow }) {
  const words = useWords(policyWords);
  if (row.removing) return <StateMark tone="leaving">{words.removing}</StateMark>;
  if (row.misses) return <StateMark tone="warn"><span title={words.missesText}>{words.matchesNothing}</span></StateMark>;
  if (row.suspended) return <StateMark tone="warn"><span title={words.suspendedHint}>{words.suspended}</span></StateMark>;
  if (row.lazy) return <StateMark tone="idle"><span title={words.lazyHint}>{words.lazy}</span></StateMark>;
  return <StateMark tone="ok">{words.active}</StateMark>;
}

function Selectors({ row, words }: { row: PolicyRow; words: PolicyWords }) {
  if (row.selectors.length === 0) return <span className="dim">{words.everything}</span>;
  // Its own namespace says nothing new in a list that has a column for it.
  const texts = row.selectors.map((selector) => selectorText(row.namespace ? { ...selector, namespace: undefined } : selector));
  return (
    <span className={styles['cut']} title={texts.join('\n')}>
      {texts.slice(0, shownSelectors).map((text, index) => <span key={text}>{index > 0 && ', '}<code>{text}</code></span>)}
      {texts.length > shownSelectors && <span className="dim"> {words.moreResources(texts.length - shownSelectors)}</span>}
    </span>
  );
}

function Clusters({ row, words }: { row: PolicyRow; words: PolicyWords }) {
  const names = row.clusters ?? [];
  if (names.length === 0 && !row.affinity) return <span className="dim">{words.allClusters}</span>;
  return (
    <span className={`${styles['cut']} linked`} title={[...names, row.affinity].filter(Boolean).join('\n')}>
      <ClusterNames names={names.slice(0, shownClusters)} missing={row.missingClusters} />
      {names.length > shownClusters && <span className="dim"> {words.moreClusters(names.length - shownClusters)}</span>}
      {row.affinity && <code>{names.length > 0 ? '; ' : ''}{row.affinity}</code>}
    </span>
  );
}
