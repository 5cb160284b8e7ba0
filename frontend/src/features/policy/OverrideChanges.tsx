import { Link } from 'wouter';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { editorWords } from './editor/words';
import { write } from './form/anyValue';
import { formWords } from './form/words';
import { sorts } from './form/overriders';
import styles from './PreviewPane.module.css';
import { useWhy } from './PreviewPane';
import type { Change, PreviewItem } from './types';

/** What overrides would change of one object, cluster by cluster, each change with the rule that makes it. */
export function OverrideChanges({ item }: { item: PreviewItem }) {
  const words = useWords(editorWords).preview;
  const why = useWhy();
  const clusters = item.overrides ?? [];
  return (
    <>
      <p className="dim small">{why(item) || (clusters.length === 0 && words.nowhere)}</p>
      <ul className={styles['overrides']}>
        {clusters.map(({ cluster, changes, error }) => (
          <li key={cluster}>
            <Link href={paths.cluster(cluster)}>{cluster}</Link>
            {changes.length === 0 && !error && <span className="dim"> {words.noChange}</span>}
            {error && <p className={styles['error']}>{error}</p>}
            {changes.map((change, index) => <Line key={index} change={change} />)}
          </li>
        ))}
      </ul>
    </>
  );
}

function Line({ change }: { change: Change }) {
  const words = useWords(editorWords).preview;
  const form = useWords(formWords);
  const sort = sorts.find((one) => one === change.overrider);
  const show = (value: unknown) => (value === undefined || value === null ? words.absent : write(value));
  return (
    <div className={styles['edit']}>
      <code className="dim wrap">{change.path}</code>
      <span className="wrap"><del>{show(change.before)}</del> <span aria-hidden="true">→</span> <ins>{show(change.after)}</ins></span>
      <span className="dim small">{words.rule(change.rule + 1, sort ? form.sorts[sort] : change.overrider)} · {words.otherPolicy(change.policy.name)}</span>
    </div>
  );
}
