import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { useCarries } from '@/api/dialects';
import { useMay } from '@/api/session';
import { consentsWanted, underWay } from '@/api/underway';
import { useWords } from '@/shared/hooks/useWords';
import { paths } from './paths';
import styles from './WaitingTabs.module.css';
import { appWords } from './words';

/** The three pages about clusters that are not in yet; two features, hence put together here. */
export function WaitingTabs() {
  const words = useWords(appWords);
  const [location] = useLocation();
  const enabled = useMay('operator');
  const { data: wanted } = useQuery({ ...consentsWanted, enabled });
  const karmada = useCarries('karmada');
  const { data: joining } = useQuery({ ...underWay, enabled: enabled && karmada });
  const tabs: [href: string, label: string, count?: number][] = [
    [paths.waiting(), words.room, wanted], ...(karmada ? [[paths.joining(), words.joining, joining] as [string, string, number?]] : []), [paths.approvalRules(), words.rules],
  ];
  return (
    <nav className={styles['tabs']} aria-label={words.waitingViews}>
      {tabs.map(([href, label, count]) => (
        <Link key={href} href={href} className={styles['tab']} aria-current={location === href ? 'page' : undefined}>
          {label}{count ? <span className={styles['count']}>{count}</span> : null}
        </Link>
      ))}
    </nav>
  );
}
