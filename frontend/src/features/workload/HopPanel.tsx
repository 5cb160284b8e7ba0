import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { aboutCluster, factWords, remedyOf } from '@/api/facts';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './HopPanel.module.css';
import type { Hop } from './layout';
import { hrefOf } from './links';
import { hopTones } from './state';
import type { Health } from './types';
import { workloadWords } from './words';

const named = 12;

/** All that is known of one hop; changes are announced. What looks further stands below and is not. */
export function HopPanel({ hop, broken, children }: { hop: Hop; broken: boolean; children?: ReactNode }) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const href = hrefOf(hop.ref, hop.cluster);
  const remedy = hop.reason && remedyOf(said, { text: hop.reason });
  const text = hop.label || hop.ref?.name || '–';
  const details = Object.entries(hop.detail ?? {});
  return (
    <div className={styles['panel']} data-state={hop.state} data-broken={broken || undefined}>
      <div className={styles['about']} role="status" aria-live="polite">
        <div className={styles['title']}>
          {broken && <span className="dim small">{words.brokenAt}</span>}
          <StateMark tone={hopTones[hop.state]}>{words.hopStates[hop.state]}</StateMark>
          <span>
            {words.hops[hop.kind]} {hop.folded ? words.foldedHop(hop.folded.length) : <span className={styles['name']}>{href ? <Link href={href}>{text}</Link> : text}</span>}
          </span>
          {hop.cluster && <span className="linked"><span className="dim">{words.cluster}</span> <Link href={paths.cluster(hop.cluster)}>{hop.cluster}</Link></span>}
        </div>
        {hop.reason && <p className={styles['reason']}>{aboutCluster(said, hop.reason, hop.cluster)}</p>}
        {remedy && <p>{said.remedy(remedy)}</p>}
        {hop.folded && <p className="dim">{words.foldedText(hop.folded.length)} {hop.folded.slice(0, named).join(', ')}{hop.folded.length > named && ` ${words.moreDots(hop.folded.length - named)}`}</p>}
        {details.length > 0 && (
          <dl className={`${styles['details']} small`}>
            {details.map(([name, value]) => <div key={name}><dt>{words.details[name] ?? name}</dt><dd>{name === 'health' ? words.healthWords[value as Health] ?? value : value}</dd></div>)}
          </dl>
        )}
      </div>
      {children}
    </div>
  );
}
