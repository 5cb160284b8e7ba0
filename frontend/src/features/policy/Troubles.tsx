import { Fragment } from 'react';
import { Link } from 'wouter';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { selectorText } from './selectorText';
import styles from './Troubles.module.css';
import type { Miss, PolicyRow } from './types';
import type { PolicyWords } from './words.en';
import { policyWords } from './words';

/** Why the policy does nothing, or nothing in some cluster that it names, and what to do about it. */
export function Troubles({ row }: { row: PolicyRow }) {
  const words = useWords(policyWords);
  const missing = row.missingClusters ?? [];
  return (
    <>
      {row.misses && (
        <Notice tone="warn" title={words.missesTitle}>
          <p>{words.missesText}</p>
          <ul className={styles['list']}>
            {row.misses.map((miss, index) => <li key={index}><code>{selectorText(miss.selector)}</code> {causeOf(words, miss)} <span className="dim">{fixOf(words, miss)}</span></li>)}
          </ul>
        </Notice>
      )}
      {missing.length > 0 && <Notice tone="warn" explained={{ what: words.missingTitle(missing.join(', '), missing.length), why: words.missingText, fix: words.missingFix }} />}
    </>
  );
}

/** The same in a line, below the policy's row. */
export function MissLine({ row }: { row: PolicyRow }) {
  const words = useWords(policyWords);
  const [first, ...others] = row.misses ?? [];
  if (!first) return null;
  return <>{causeOf(words, first)} {fixOf(words, first)}{others.length > 0 && ` ${words.moreMisses(others.length)}`}</>;
}

function causeOf(words: PolicyWords, { cause, instead = '', selector }: Miss): string {
  const { apiVersion, kind, namespace = '', name = '', labelSelector = '' } = selector;
  switch (cause) {
    case 'no-kind': return words.causes.noKind(kind, apiVersion);
    case 'other-version': return words.causes.otherVersion(kind, instead, apiVersion);
    case 'kind-kept': return words.causes.kindKept(kind);
    case 'no-namespace': return words.causes.noNamespace(namespace);
    case 'namespace-kept': return words.causes.namespaceKept(namespace);
    case 'no-name': return words.causes.noName(kind, name, namespace) + (instead && words.causes.elsewhere(instead));
    case 'no-labels': return words.causes.noLabels(kind, labelSelector, namespace);
    case 'no-object': return words.causes.noObject(kind, namespace);
  }
}

function fixOf(words: PolicyWords, { cause, instead = '', selector }: Miss): string {
  switch (cause) {
    case 'no-kind': return words.fixes.noKind;
    case 'other-version': return words.fixes.otherVersion(instead);
    case 'kind-kept': return words.fixes.kindKept;
    case 'no-namespace': return words.fixes.noNamespace(selector.namespace ?? '');
    case 'namespace-kept': return words.fixes.namespaceKept;
    case 'no-name': return instead ? words.fixes.elsewhere(instead) : words.fixes.noName;
    case 'no-labels': return words.fixes.noLabels;
    case 'no-object': return words.fixes.noObject;
  }
}

/** Clusters by name; one that the hub does not have leads nowhere. */
export function ClusterNames({ names, missing = [] }: { names: string[]; missing?: string[] | undefined }) {
  const words = useWords(policyWords);
  return names.map((name, index) => (
    <Fragment key={name}>
      {index > 0 && ', '}
      {missing.includes(name)
        ? <span title={words.missingText}>{name} <span className="dim">({words.noSuchCluster})</span></span>
        : <Link href={paths.cluster(name)}>{name}</Link>}
    </Fragment>
  ));
}
