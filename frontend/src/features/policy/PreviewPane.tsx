import { Link } from 'wouter';
import { Said } from '@/api/said';
import { paths } from '@/app/paths';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { count } from '@/shared/ui/time';
import { editorWords } from './editor/words';
import { Excluded } from './Excluded';
import { OverrideChanges } from './OverrideChanges';
import styles from './PreviewPane.module.css';
import type { ChosenCluster, Preview, PreviewItem } from './types';

interface PreviewPaneProps {
  preview: Preview | undefined;
  /** The answer is to an older text; the newer is on its way. */
  stale: boolean;
  failed: React.ReactNode;
  override: boolean;
}

/** What saving would do, in the words of the scheduler itself. */
export function PreviewPane({ preview, stale, failed, override }: PreviewPaneProps) {
  const words = useWords(editorWords).preview;
  const { language } = useLanguage();
  if (failed) return failed;
  if (!preview) return <Placeholder rows={4} />;
  if (!preview.valid) return <p className="dim">{words.invalid}</p>;
  const { matched, items, hidden = 0 } = preview.templates;
  return (
    <div className={styles['preview']} data-stale={stale || undefined} aria-busy={stale}>
      <p hidden={matched === 0}>
        <strong>{words.matched(count(language, matched))}</strong>
        {matched > items.length + hidden && <span className="dim">{words.comma}{words.shown(items.length)}</span>}
        {hidden > 0 && <span className="dim">; {words.hidden(hidden)}</span>}
      </p>
      {matched === 0 && <p className="dim">{words.none}</p>}
      {items.map((item, index) => (
        <details key={`${item.apiVersion}/${item.kind}/${item.namespace}/${item.name}`} className={styles['item']} open={index < 3}>
          <summary><span className="dim">{item.kind}</span> {item.namespace ? `${item.namespace}/` : ''}{item.name}</summary>
          <div className={styles['body']}>
            {override ? <OverrideChanges item={item} /> : <Placing item={item} />}
            <p className="small"><Link href={paths.workload(item)}>{words.open(item.name)}</Link></p>
          </div>
        </details>
      ))}
      <p className="dim small">{stale ? words.stale : words.took(count(language, preview.clustersTotal), count(language, preview.tookMillis))}</p>
    </div>
  );
}

/** One sentence on why it is taken or not; in the other language it is put together from its parts. */
export function useWhy(): (item: PreviewItem) => string {
  const words = useWords(editorWords).preview;
  const { language } = useLanguage();
  return (item) => {
    const sentence = words.why[item.whyCode ?? ''];
    if (!sentence || language === 'en') return item.why || sentence || '';
    return sentence.replace(/\{(\w+)\}/g, (_, name: string) => item.whyParams?.[name] ?? '–');
  };
}

function Placing({ item }: { item: PreviewItem }) {
  const words = useWords(editorWords).preview;
  const why = useWhy();
  const { failure, chosen = [], leaves = [], excluded = [] } = item;
  return (
    <>
      <p className="dim small">{why(item)}</p>
      {failure && (
        <Notice tone="warn" title={failure.reason}>
          <p className="wrap"><Said text={failure.message} /></p>
          {failure.available !== undefined && item.replicas !== undefined && <p>{words.short(item.replicas, failure.available)}</p>}
        </Notice>
      )}
      {chosen.length + leaves.length > 0 && (
        <ul className={styles['clusters']}>
          {chosen.map((cluster) => <Chosen key={cluster.name} cluster={cluster} />)}
          {leaves.map((cluster) => (
            <li key={cluster.name} data-change="leaves">
              <Dot change="leaves" /><Link href={paths.cluster(cluster.name)}>{cluster.name}</Link>
              <span className="dim">{cluster.replicas !== undefined && words.replicas(cluster.replicas)}</span><span className={styles['change']}>{words.leaves}</span>
            </li>
          ))}
        </ul>
      )}
      <Excluded excluded={excluded} />
    </>
  );
}

function Chosen({ cluster }: { cluster: ChosenCluster }) {
  const words = useWords(editorWords).preview;
  const { name, replicas, now, change } = cluster;
  return (
    <li data-change={change}>
      <Dot change={change} /><Link href={paths.cluster(name)}>{name}</Link>
      <span className="dim">
        {replicas !== undefined && words.replicas(replicas)}
        {(change === 'more' || change === 'fewer') && typeof now === 'number' && `${words.comma}${words.from(now)}`}
      </span>
      <span className={styles['change']}>{words.changes[change]}</span>
    </li>
  );
}

/** Full where it runs, hollow where it does not any more. */
function Dot({ change }: { change: ChosenCluster['change'] | 'leaves' }) {
  return (
    <svg viewBox="0 0 12 12" width="10" height="10" aria-hidden="true">
      {change === 'leaves' ? <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" /> : <circle cx="6" cy="6" r="4.5" fill="currentColor" />}
    </svg>
  );
}
