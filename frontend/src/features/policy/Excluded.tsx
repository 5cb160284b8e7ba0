import { Link } from 'wouter';
import { reasonOf, schedulingWords } from '@/api/scheduling';
import { paths } from '@/app/paths';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { count } from '@/shared/ui/time';
import { editorWords } from './editor/words';
import styles from './PreviewPane.module.css';
import type { ExcludedCluster } from './types';

const few = 8;
const shown = 20;

/** The clusters that are left out, by the filter that left each out; a few are named at once, many on request. */
export function Excluded({ excluded }: { excluded: readonly ExcludedCluster[] }) {
  const words = useWords(editorWords).preview;
  const known = useWords(schedulingWords);
  const { language } = useLanguage();
  if (excluded.length === 0) return null;
  const groups = [...new Set(excluded.map(({ filter, reason }) => `${filter} ${reason}`))].map((key) => excluded.filter(({ filter, reason }) => `${filter} ${reason}` === key));
  return (
    <details className={styles['excluded']} open={excluded.length <= few}>
      <summary>{words.leftOut(count(language, excluded.length))}</summary>
      <dl>
        {groups.map((clusters) => {
          const { filter = '', reason = '' } = clusters[0] ?? {};
          return (
            <div key={filter + reason}>
              <dt title={filter}>{known.filters[filter] ?? filter}</dt>
              <dd className="dim small">{reasonOf(known, reason)}</dd>
              <dd className={styles['names']}>
                {clusters.slice(0, shown).map((cluster) => <Link key={cluster.name} href={paths.cluster(cluster.name)}>{cluster.name}</Link>)}
                {clusters.length > shown && <span className="dim">{words.andMore(clusters.length - shown)}</span>}
              </dd>
            </div>
          );
        })}
      </dl>
    </details>
  );
}
