/**
 * Patches the query cache row by row from live events. Query keys begin with the topic:
 * [topic, 'list', …] holds an infinite list of pages, [topic, 'one', key] one row with what its detail adds, which its meta names, and
 * [topic, 'count'] a figure, which is asked for again. Whatever else depends on topics names them in its meta as `follows`,
 * and is asked for again, in measure, when something happens on one of them.
 */
import type { InfiniteData, QueryClient, QueryKey } from '@tanstack/react-query';
import type { Live, LiveEvent, LiveSink } from '@/api/live';
import type { Page } from '@/api/model';

type Row = Record<string, unknown>;
type CountedPage = Page<Row> & { counts?: Record<string, number> };

const names: Record<string, string> = { clusters: 'name', users: 'name', waiting: 'cluster', 'managed-clusters': 'name', 'cluster-sets': 'name' };

/** What a query of one row says of itself. */
export interface OneMeta {
  /** The topic that carries its rows, if that is not its noun's. */
  topic?: string;
  /** What it has beside the row. */
  adds?: readonly string[];
}

/** The noun of a topic: "registrations" for "registrations/17". */
function noun(topic: string): string {
  return topic.split('/', 1)[0] ?? topic;
}

function keyOf(topic: string, row: Row): string {
  // Policies of four kinds share a topic; their key is the path below /policies.
  if (noun(topic) === 'policies') return `${String(row['resource'])}/${String(row['namespace'] || '-')}/${String(row['name'])}`;
  if (topic === 'placements') return `${String(row['namespace'])}/${String(row['name'])}`;
  return String(row[names[noun(topic)] ?? 'id']);
}

/** One page with the event applied; the same page when the event says nothing new about it. */
export function patchPage(page: CountedPage, event: LiveEvent): CountedPage {
  if (event.seq <= page.seq) return page;
  const index = page.items.findIndex((row) => keyOf(event.topic, row) === event.key);
  if (index < 0) return page;
  const before = page.items[index] as Row;
  if (event.op === 'delete') {
    return { ...page, seq: event.seq, total: page.total - 1, items: page.items.toSpliced(index, 1), ...recount(page, before, undefined) };
  }
  // The whole row: what it does not have any more must not stay.
  const after = event.row as Row;
  return { ...page, seq: event.seq, items: page.items.with(index, after), ...recount(page, before, after) };
}

function recount(page: CountedPage, before: Row, after: Row | undefined): Pick<CountedPage, 'counts'> {
  if (!page.counts || before['state'] === after?.['state']) return {};
  const counts = { ...page.counts };
  const move = (state: unknown, by: number) => {
    if (typeof state === 'string' && state in counts) counts[state] = Math.max(0, (counts[state] ?? 0) + by);
  };
  move(before['state'], -1);
  move(after?.['state'], 1);
  return { counts };
}

/** All pages of a list with the event applied, and whether the list held the row. */
export function patchPages(list: InfiniteData<CountedPage>, event: LiveEvent): { list: InfiniteData<CountedPage>; known: boolean } {
  const known = list.pages.some((page) => page.items.some((row) => keyOf(event.topic, row) === event.key));
  if (!known) return { list, known };
  const pages = list.pages.map((page) => patchPage(page, event));
  return { list: pages.some((page, i) => page !== list.pages[i]) ? { ...list, pages } : list, known };
}

/** Where an answer stands in the order of events; no event's row has that. */
const marks = ['epoch', 'seq'];

/** The row of a detail query with the event applied: the whole new row, and of what was there only what the detail `adds` to rows. */
export function patchOne<T extends object>(row: T, event: LiveEvent, adds: readonly string[]): T {
  if (event.op === 'delete') return row;
  const added = Object.entries(row).filter(([field]) => adds.includes(field) || marks.includes(field));
  return { ...Object.fromEntries(added), ...(event.row as T) };
}

/**
 * Fetches a page and applies what changed while the request was under way. When the topic began meanwhile and the page is
 * older than its beginning, changes between the two reached nobody: fetch again.
 */
export async function fetchPage<P extends Page<unknown>>(live: Live, topic: string, fetch: () => Promise<P>): Promise<P> {
  for (;;) {
    const mark = live.mark();
    const page = await fetch();
    if (page.seq < (live.begunSince(topic, mark) ?? 0)) continue;
    return live.since(topic, mark).reduce((held, event) => patchPage(held as CountedPage, event) as unknown as P, page);
  }
}

/** The same for one row, whose answer may carry no sequence number: events since the request are applied in order. */
export async function fetchOne<T extends object>(live: Live, topic: string, key: string, adds: readonly string[], fetch: () => Promise<T>): Promise<T> {
  for (;;) {
    const mark = live.mark();
    const row = await fetch();
    const begun = live.begunSince(topic, mark);
    if (begun !== undefined && !(Number((row as { seq?: unknown }).seq) >= begun)) continue;
    return live.since(topic, mark).filter((event) => event.key === key).reduce((held, event) => patchOne(held, event, adds), row);
  }
}

/**
 * Lists that lack rows: per query the keys of rows that were made since and that the list does not show yet, and whether
 * something else changed outside of the rows shown, which may belong among them by now.
 */
export class Unseen {
  private keys = new Map<string, Set<string>>();
  private moved = new Set<string>();
  private watchers = new Set<() => void>();

  add(query: QueryKey, key: string): void {
    const id = JSON.stringify(query);
    const set = this.keys.get(id) ?? new Set<string>();
    if (set.has(key)) return;
    this.keys.set(id, set.add(key));
    this.tell();
  }

  move(query: QueryKey): void {
    const id = JSON.stringify(query);
    if (this.moved.has(id)) return;
    this.moved.add(id);
    this.tell();
  }

  clear(query: QueryKey): void {
    const id = JSON.stringify(query);
    const [had, moved] = [this.keys.delete(id), this.moved.delete(id)];
    if (had || moved) this.tell();
  }

  hasMoved = (query: QueryKey): boolean => this.moved.has(JSON.stringify(query));

  count = (query: QueryKey): number => this.keys.get(JSON.stringify(query))?.size ?? 0;

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  private tell(): void {
    this.watchers.forEach((watcher) => watcher());
  }
}

const countWait = 500;
const followWait = 3_000;

/** The sink that keeps a query client's cache true. */
export function cacheSink(client: QueryClient, unseen: Unseen, ended: () => void): LiveSink {
  const recounts = new Map<string, ReturnType<typeof setTimeout>>();
  const recount = (topic: string) => {
    if (recounts.has(topic)) return;
    recounts.set(topic, setTimeout(() => {
      recounts.delete(topic);
      void client.invalidateQueries({ queryKey: [topic, 'count'] });
    }, countWait));
  };
  const followers = new Map<string, ReturnType<typeof setTimeout>>();
  const tell = (topic: string) => {
    for (const query of client.getQueryCache().findAll({ predicate: ({ meta }) => follows(meta, topic) })) {
      const id = query.queryHash;
      if (followers.has(id)) continue;
      followers.set(id, setTimeout(() => {
        followers.delete(id);
        void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
      }, followWait));
    }
  };
  // Whoever names the noun follows all its topics; whoever names one of them, that one.
  const tellAll = (topic: string) => new Set([noun(topic), topic]).forEach(tell);
  return {
    ended,
    // What failed while the hub was away, or was asked of nobody, is asked for again as soon as it is back.
    ready: () => void client.invalidateQueries({ predicate: ({ state, meta }) => state.status === 'error' || meta?.['follows'] !== undefined }),
    resync: (topic) => {
      tellAll(topic);
      void client.invalidateQueries({ queryKey: [noun(topic)] });
    },
    begin: (topic, epoch, seq) => {
      tellAll(topic); // what was read before may lack what came meanwhile
      void client.invalidateQueries({ queryKey: [noun(topic)], predicate: (query) => query.meta?.['follows'] === undefined && !upToDate(query.state.data, epoch, seq) });
    },
    event: (event) => {
      tellAll(event.topic);
      for (const query of client.getQueryCache().findAll({ queryKey: [noun(event.topic)] })) {
        const data = query.state.data;
        if (typeof data !== 'object' || data === null) continue;
        if (query.queryKey[1] === 'count') recount(noun(event.topic));
        if (query.queryKey[1] === 'one' && query.queryKey[2] === event.key) {
          const { topic = noun(event.topic), adds = [] } = (query.meta ?? {}) as OneMeta;
          if (event.op === 'delete') void client.invalidateQueries({ queryKey: query.queryKey });
          else if (event.topic === topic) client.setQueryData(query.queryKey, patchOne(data, event, adds));
        }
        if (query.queryKey[1] === 'list' && event.topic === noun(event.topic)) {
          const { list, known } = patchPages(data as InfiniteData<CountedPage>, event);
          if (known) client.setQueryData(query.queryKey, list);
          else if (event.op === 'upsert' && mayBelong(query.queryKey[3], event.row as Row)) {
            if (isNew(event.row as Row, query.state.dataUpdatedAt)) unseen.add(query.queryKey, event.key);
            else unseen.move(query.queryKey);
          }
        }
      }
    },
  };
}

/** How far the clocks of hub and browser may differ, in milliseconds, for a row to count as made after the list was read. */
const skew = 10_000;

/** Whether a row was made since the list was read; one that does not say when it was made counts as new. */
function isNew(row: Row, readAt: number): boolean {
  const made = Date.parse(String(row['createdAt'] ?? row['at'] ?? ''));
  return Number.isNaN(made) || made > readAt - skew;
}

/** Filters that name a field of the row: whoever has another value there does not belong to the list. The hub decides on all others. */
const plainFilters: Record<string, readonly string[]> = { actor: ['actor'], verb: ['verb'], outcome: ['outcome'], namespace: ['namespace'], state: ['state'], kind: ['kind', 'resource'] };

function mayBelong(params: unknown, row: Row): boolean {
  return Object.entries((params ?? {}) as Row).every(([param, wanted]) => {
    const held = (plainFilters[param] ?? []).flatMap((field) => (typeof row[field] === 'string' ? [row[field].toLowerCase()] : []));
    return typeof wanted !== 'string' || wanted === '' || held.length === 0 || held.includes(wanted.toLowerCase());
  });
}

function follows(meta: Record<string, unknown> | undefined, topic: string): boolean {
  const topics = meta?.['follows'];
  return Array.isArray(topics) && topics.includes(topic);
}

function upToDate(data: unknown, epoch: string, seq: number): boolean {
  if (data === undefined) return true; // never fetched, or on its way: replay completes it
  const holds = (at: { epoch?: unknown; seq?: unknown }) => at.epoch === epoch && Number(at.seq) >= seq;
  const pages = (data as InfiniteData<CountedPage>).pages;
  return Array.isArray(pages) ? pages.every(holds) : typeof data === 'object' && data !== null && holds(data);
}
