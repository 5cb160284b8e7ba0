import { Link, useLocation } from 'wouter';
import { useWords } from '@/shared/hooks/useWords';
import { paths } from '../paths';
import { appWords } from '../words';
import styles from './Crumbs.module.css';

/** Where this page is: the section, and the object in it. */
export function Crumbs() {
  const words = useWords(appWords);
  const [location] = useLocation();
  const [first = '', second] = location.split('/').filter(Boolean);
  const sections: Record<string, [label: string, href: string]> = {
    clusters: [words.clusters, paths.clusters()],
    'add-cluster': [words.clusters, paths.clusters()],
    waiting: [words.waiting, paths.waiting()],
    tokens: [words.tokens, paths.tokens()],
    audit: [words.audit, paths.audit()],
    users: [words.users, paths.users()],
    sessions: [words.sessions, paths.sessions()],
    settings: [words.settings, paths.settings()],
  };
  const section = sections[first];
  const rest = first === 'add-cluster' || (first === 'waiting' && second) ? words.addCluster : second && decodeURIComponent(second);
  return (
    <nav className={styles['crumbs']} aria-label="Breadcrumb">
      {section && (rest ? <><Link href={section[1]}>{section[0]}</Link><span aria-hidden="true"> / </span><span aria-current="page">{rest}</span></> : <span aria-current="page">{section[0]}</span>)}
    </nav>
  );
}
