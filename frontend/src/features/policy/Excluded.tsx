import { Link } from 'wouter';
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
  const { language } = useLanguage();
  if (excluded.length === 0) return null;
  const groups = [...new Set(excluded.map((cluster) => cluster.filter))].map((filter) => [filter, excluded.filter((cluster) => cluster.filter === filter)] as const);
  return (
    <details className={styles['excluded']} open={excluded.length <= few}>
      <summary>{words.leftOut(count(language, excluded.length))}</summary>
      <dl>
        {groups.map(([filter, clusters]) => (
          <div key={filter}>
            <dt title={filter}>{words.filters[filter] ?? filter}{clusters.length > 1 && <span className="dim"> · {words.leftOutBy(count(language, clusters.length))}</span>}</dt>
            {clusters.slice(0, shown).map((cluster) => (
              <dd key={cluster.name}>
                <Link href={paths.cluster(cluster.name)}>{cluster.name}</Link>
                <span className="dim"> {words.reasons[cluster.reason] ?? cluster.reason}</span>
              </dd>
            ))}
            {clusters.length > shown && <dd className="dim">{words.andMore(clusters.length - shown)}</dd>}
          </div>
        ))}
      </dl>
    </details>
  );
}
