import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'wouter';
import { useExplain } from '@/api/errors';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useNarrow } from '@/shared/hooks/useNarrow';
import { useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import styles from './GalleryPage.module.css';
import { type Entry, entries, entryOf, fleetOf } from './gallery/entries';
import { type Family, kindOf, kinds } from './kinds';
import { PreviewPane } from './PreviewPane';
import { fleet, preview as previewOf } from './queries';
import { usePreviewTopics } from './usePreviewTopics';
import { policyWords } from './words';
import { YamlView } from './YamlView';

const families: readonly Family[] = ['propagation', 'override'];

/** Twelve starting points, each with what it would do to this very fleet. The choice lives in the address. */
export default function GalleryPage() {
  const words = useWords(policyWords);
  const narrow = useNarrow();
  const [search, setSearch] = useSearchParams();
  const family = families.find((one) => one === search.get('family'));
  const shown = entries.filter((entry) => !family || kindOf(entry.resource)?.family === family);
  const chosen = entryOf(search.get('start')) ?? (narrow ? undefined : shown[0]);
  const set = (key: string, value: string) => setSearch((all) => {
    if (value) all.set(key, value);
    else all.delete(key);
    return all;
  }, { replace: true });
  return (
    <div className="page">
      <title>{`${words.gallery.title} · Muster`}</title>
      <PageHead title={words.gallery.title} />
      <p className="dim">{words.gallery.text}</p>
      <Choice
        label={words.gallery.filterLabel} chosen={family ?? ''} onChoose={(key) => setSearch(key ? { family: key } : {}, { replace: true })}
        options={[['', words.gallery.all], ['propagation', words.gallery.propagation], ['override', words.gallery.override]]}
      />
      <div className={styles['gallery']}>
        <ul className={styles['entries']}>
          {shown.map((entry) => (
            <li key={entry.key}>
              <button type="button" className={styles['entry']} aria-pressed={entry === chosen} onClick={() => set('start', narrow && entry === chosen ? '' : entry.key)}>
                <strong>{words.entries[entry.key].title}</strong>
                <span className="dim">{words.entries[entry.key].text}</span>
              </button>
              {narrow && entry === chosen && <EntryView entry={entry} />}
            </li>
          ))}
        </ul>
        {!narrow && chosen && <EntryView entry={chosen} />}
      </div>
      <p className={styles['blank']}>
        <span className="dim">{words.gallery.blank}</span>
        {kinds.map((facts) => <Link key={facts.resource} href={paths.newPolicy(facts.resource)} title={words.kindHints[facts.resource]}>{facts.kind}</Link>)}
      </p>
    </div>
  );
}

/** One example: its text, what it would do now, and the button that begins with it. */
function EntryView({ entry }: { entry: Entry }) {
  const words = useWords(policyWords);
  const explain = useExplain();
  const may = useMay('operator');
  const clusters = useQuery(fleet);
  const yaml = entry.yaml(fleetOf(clusters.data ?? []));
  const answer = useQuery(previewOf(yaml, !clusters.isPending));
  const family = kindOf(entry.resource)?.family;
  usePreviewTopics();
  return (
    <section className={styles['view']} aria-label={words.entries[entry.key].title}>
      <div className={styles['head']}>
        <h2>{words.entries[entry.key].title}</h2>
        <Button component={Link} href={`${paths.newPolicy(entry.resource)}?start=${entry.key}`} disabled={!may} title={may ? undefined : words.needRole}>{words.gallery.use}</Button>
      </div>
      <YamlView text={yaml} label={words.gallery.example} />
      <h3>{words.gallery.wouldDo}</h3>
      <div aria-live="polite">
        <PreviewPane
          preview={answer.data} stale={answer.isPlaceholderData} override={family === 'override'}
          failed={answer.error && !answer.isFetching ? <Notice explained={explain.error(answer.error)} /> : null}
        />
      </div>
    </section>
  );
}
