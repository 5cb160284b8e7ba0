import { Link, useLocation } from 'wouter';
import { useWords } from '@/shared/hooks/useWords';
import { useCarries } from '@/api/dialects';
import { paths } from './paths';
import styles from './WaitingTabs.module.css';
import { appWords } from './words';

/** The fleet as a whole, and as Open Cluster Management sees it; two features, hence put together here. */
export function FleetTabs() {
  const words = useWords(appWords);
  const [location] = useLocation();
  if (!useCarries('karmada')) return null; // there is one view only
  return (
    <nav className={styles['tabs']} aria-label={words.fleetViews}>
      {[[paths.clusters(), words.allClusters], [paths.managedClusters(), words.managedClusters]].map(([href = '', label]) => (
        <Link key={href} href={href} className={styles['tab']} aria-current={location === href ? 'page' : undefined}>{label}</Link>
      ))}
    </nav>
  );
}
