import { Link, useLocation } from 'wouter';
import { useWords } from '@/shared/hooks/useWords';
import { paths } from '../paths';
import { type AppWords } from '../words.en';
import { appWords } from '../words';
import styles from './Crumbs.module.css';

/** Where this page is: the section, and the object in it. */
export function Crumbs() {
  const words = useWords(appWords);
  const [location] = useLocation();
  const [first = '', second, ...deeper] = location.split('/').filter(Boolean);
  const sections: Record<string, [label: string, href: string]> = {
    clusters: [words.clusters, paths.clusters()],
    'add-cluster': [words.clusters, paths.clusters()],
    'managed-clusters': [words.managedClusters, paths.managedClusters()],
    'cluster-sets': [words.clusterSets, paths.clusterSets()],
    placements: [words.placements, paths.placements()],
    operators: [words.operators, paths.operators()],
    workloads: [words.workloads, paths.workloads()],
    policies: [words.policies, paths.policies()],
    waiting: [words.waiting, paths.waiting()],
    tokens: [words.tokens, paths.tokens()],
    audit: [words.audit, paths.audit()],
    users: [words.users, paths.users()],
    sessions: [words.sessions, paths.sessions()],
    settings: [words.settings, paths.settings()],
  };
  const section = sections[first];
  const rest = objectOf(words, first, second, deeper);
  return (
    <nav className={styles['crumbs']} aria-label={words.crumbs}>
      {section && (rest ? <><Link href={section[1]}>{section[0]}</Link><span aria-hidden="true"> / </span><span aria-current="page">{rest}</span></> : <span aria-current="page">{section[0]}</span>)}
    </nav>
  );
}

/** What the page is about, below its section: most objects are named by the second part, those of many kinds by the last. */
function objectOf(words: AppWords, first: string, second: string | undefined, deeper: string[]): string | undefined {
  if (first === 'waiting' && second === 'joining') return words.joining;
  if (first === 'waiting' && second === 'rules') return words.rules;
  if (first === 'add-cluster' || (first === 'waiting' && second)) return words.addCluster;
  if (first === 'policies' && second === 'new') return words.newPolicy;
  if (first === 'workloads' && second === 'new') return words.newWorkload;
  const name = first === 'policies' ? deeper[1] : first === 'placements' ? deeper[0] : first === 'workloads' ? deeper[3] : second;
  return name && decodeURIComponent(name);
}
