import '@mantine/core/styles/Tooltip.layer.css';
import { Tooltip } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { factWords, reworded } from '@/api/facts';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './ClusterDots.module.css';
import { placedTones, worstFirst } from './state';
import type { PlacedCluster } from './types';
import { workloadWords } from './words';

const named = 3;
const drawn = 6;

/**
 * One mark a cluster, those that need a look first. A few have their names beside them; of many the names and reasons are
 * behind the pointer or the focus, and a sum says in words how many are not well.
 */
export function ClusterDots({ clusters }: { clusters: PlacedCluster[] }) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const [over, setOver] = useState<{ element: HTMLElement; cluster: PlacedCluster }>();
  if (clusters.length === 0) return <span className="dim">{words.noClusters}</span>;
  const many = clusters.length > named;
  const unwell = clusters.filter((cluster) => cluster.state !== 'ok').length;
  const shown = worstFirst(clusters).slice(0, drawn);
  const line = (cluster: PlacedCluster) => words.dot(cluster.name, words.placedStates[cluster.state]);
  const reason = (cluster: PlacedCluster) => (cluster.message ? reworded(said, cluster.message) : '');
  return (
    <>
      <ul className={styles['dots']} data-many={many || undefined}>
        {shown.map((cluster) => (
          <li key={cluster.name}>
            <Link
              href={paths.cluster(cluster.name)} className={styles['dot']} aria-label={[line(cluster), reason(cluster)].filter(Boolean).join('. ')}
              onMouseEnter={(event) => setOver({ element: event.currentTarget, cluster })} onMouseLeave={() => setOver(undefined)}
              onFocus={(event) => setOver({ element: event.currentTarget, cluster })} onBlur={() => setOver(undefined)}
            >
              <StateMark tone={placedTones[cluster.state]} plain>{many ? undefined : cluster.name}</StateMark>
            </Link>
          </li>
        ))}
        {many && (
          <li className={`${styles['sum']} dim small`}>
            {unwell > 0 ? words.dotsNotWell(unwell, clusters.length) : words.dots(clusters.length)}
          </li>
        )}
      </ul>
      {over && (
        <Tooltip opened target={over.element} multiline withinPortal className={styles['tip']} label={<><strong>{line(over.cluster)}</strong>{reason(over.cluster) && <p>{reason(over.cluster)}</p>}</>} />
      )}
    </>
  );
}
