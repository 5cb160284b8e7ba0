import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Facts } from '@/shared/ui/Facts';
import styles from './PolicyFacts.module.css';
import type { HeldPolicy } from './queries';
import { selectorText } from './selectorText';
import { ClusterNames } from './Troubles';
import { policyWords } from './words';

/** The policy in words, and who wrote it. */
export function PolicyFacts({ held }: { held: HeldPolicy }) {
  const words = useWords(policyWords);
  const { detail: { managers } } = held;
  const names = held.clusters ?? [];
  const clusters = (
    <>
      <ClusterNames names={names} missing={held.missingClusters} />
      {held.affinity && <code>{names.length > 0 ? '; ' : ''}{held.affinity}</code>}
      {names.length === 0 && !held.affinity && words.allClusters}
    </>
  );
  const facts: [string, ReactNode][] = [
    [words.resources, held.selectors.length === 0 ? words.everything : <ul className={styles['list']}>{held.selectors.map((selector, index) => <li key={index}><code>{selector.apiVersion}</code> {selectorText(selector)}</li>)}</ul>],
    [words.clusters, clusters],
  ];
  if (held.rules !== undefined) facts.push([words.does, words.rules(held.rules)]);
  if (held.replicas) facts.push([words.does, words.replicas[held.replicas]]);
  if (held.priority !== undefined) facts.push([words.priority, held.priority]);
  facts.push(
    [words.managers, managers.length === 0 ? words.notSet : <ul className={styles['list']}>{managers.map((manager, index) => <li key={index}>{words.manager(manager.manager, manager.operation)} <span className="dim"><Age at={manager.at} ago /></span></li>)}</ul>],
    [words.generation, held.generation],
    [words.created, <Age key="age" at={held.createdAt} ago />],
    [words.uid, <code key="id">{held.uid}</code>],
  );
  return <Facts facts={facts} />;
}
