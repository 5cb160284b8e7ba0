import { Button } from '@mantine/core';
import { useCallback, useMemo, useState } from 'react';
import { useSearchParams } from 'wouter';
import type { AuditEntry, Page } from '@/api/model';
import { useLiveList } from '@/api/useLiveList';
import { verbWords } from '@/api/verbs';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Choice } from '@/shared/ui/Choice';
import { Empty } from '@/shared/ui/Empty';
import { type Filter, FilterBar } from '@/shared/ui/FilterBar';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import { type Column } from '@/shared/ui/Rows';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import styles from './AuditPage.module.css';
import { EntryDetails } from './EntryDetails';
import { auditList, filterFields } from './queries';
import { auditWords } from './words';

const tones: Record<AuditEntry['outcome'], Tone> = { pending: 'busy', ok: 'ok', denied: 'warn', failed: 'bad', unknown: 'unknown' };
const fields = {
  actor: [], kind: ['Cluster', 'Token', 'Registration', 'User', 'Session', 'Work', 'Secret'],
  verb: ['create', 'update', 'patch', 'delete'], outcome: ['ok', 'denied', 'failed', 'pending', 'unknown'],
} satisfies Record<Exclude<typeof filterFields[number], 'name'>, readonly string[]>;
const closed = ['outcome'];
const keyOf = (entry: AuditEntry) => entry.id;

/** Who changed what. Filter, period and the entry that is open live in the address. */
export default function AuditPage() {
  const words = useWords(auditWords);
  const verbs = useWords(verbWords);
  const [search, setSearch] = useSearchParams();
  const filter: Filter = Object.fromEntries(filterFields.flatMap((key) => (search.get(key) ? [[key, search.get(key) ?? '']] : [])));
  const period = search.get('period') ?? '';
  const open = search.get('entry');
  // The period's beginning must not move at every render.
  const key = JSON.stringify([filter, period]);
  const [options, setOptions] = useState({ key, value: auditList(filter, period) });
  if (options.key !== key) setOptions({ key, value: auditList(filter, period) });
  const list = useLiveList<AuditEntry, Page<AuditEntry>>(options.value);
  const filtered = Object.keys(filter).length > 0 || period !== '';

  const set = (next: Filter, nextPeriod: string) => setSearch({ ...next, ...(nextPeriod ? { period: nextPeriod } : {}) }, { replace: true });
  const columns = useMemo<Column<AuditEntry>[]>(() => [
    { key: 'verb', label: words.verb, card: 'title', cell: (entry) => <><span title={entry.verb}>{verbs[entry.verb] ?? entry.verb}</span> <span className="dim">{entry.kind}</span></> },
    { key: 'object', label: words.object, cell: (entry) => <code className={styles['name']}>{entry.namespace ? `${entry.namespace}/` : ''}{entry.name || '–'}</code> },
    { key: 'actor', label: words.actor, cell: (entry) => <span className={styles['name']}>{entry.actor}</span> },
    { key: 'outcome', label: words.outcome, card: 'corner', cell: (entry) => <StateMark tone={tones[entry.outcome]}><span title={entry.outcome === 'unknown' ? words.outcomeHint : undefined}>{words.outcomes[entry.outcome]}</span></StateMark> },
    { key: 'via', label: words.via, minor: true, cell: (entry) => words.vias[entry.via] ?? entry.via },
    { key: 'source', label: words.source, card: 'none', minor: true, cell: (entry) => <code>{entry.source || '–'}</code> },
    { key: 'when', label: words.when, right: true, cell: (entry) => <Age at={entry.at} ago /> },
    {
      key: 'details', label: words.details, quiet: true, right: true, card: 'foot', cell: (entry) => (
        <Button
          variant="subtle" size="compact-sm" aria-expanded={entry.id === open} aria-label={words.detailsOf(`${entry.verb} ${entry.kind} ${entry.name ?? ''}`.trim())}
          onClick={() => setSearch((all) => { if (entry.id === open) all.delete('entry'); else all.set('entry', entry.id); return all; }, { replace: true })}
        >
          {words.details}
        </Button>
      ),
    },
  ], [words, verbs, open, setSearch]);
  const note = useCallback((entry: AuditEntry) => (entry.id === open ? <EntryDetails entry={entry} /> : null), [open]);
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} />
      <FilterBar label={words.filter} placeholder={words.filterHint} fields={fields} closed={closed} value={filter} free="name" onChange={(next) => set(next, period)} />
      <Choice label={words.period} options={Object.entries(words.periods)} chosen={period} onChoose={(next) => set(filter, next)} />
      <Listing
        list={list} caption={words.title} columns={columns} rowKey={keyOf} note={note}
        empty={filtered
          ? <Empty title={words.noneTitle} action={<Button variant="default" onClick={() => set({}, '')}>{words.clear}</Button>}>{words.noneText}</Empty>
          : <Empty title={words.emptyTitle}>{words.emptyText}</Empty>}
      />
    </div>
  );
}
