import type { ClusterDetail } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Section } from '@/shared/ui/Section';
import styles from './ApiList.module.css';
import { clusterWords } from './words';

/** What the cluster's API offers: one line a group version, its kinds on demand. */
export function ApiList({ enablements }: { enablements: ClusterDetail['apiEnablements'] }) {
  const words = useWords(clusterWords);
  const kinds = enablements.reduce((sum, group) => sum + group.resources.length, 0);
  return (
    <Section title={words.apis} aside={enablements.length > 0 && <span className="dim small">{words.apiCount(enablements.length, kinds)}</span>}>
      {enablements.length === 0 && <p className="dim">{words.apisNone}</p>}
      <div className={styles['groups']}>
        {enablements.map((group) => (
          <details key={group.groupVersion} className={styles['group']}>
            <summary><code>{group.groupVersion}</code><span className="dim small">{group.resources.length}</span></summary>
            <p className="dim small">{group.resources.map((resource) => resource.kind).join(', ')}</p>
          </details>
        ))}
      </div>
    </Section>
  );
}
