import { type InfiniteData, QueryClient } from '@tanstack/react-query';
import { describe, expect, it, vi } from 'vitest';
import { cacheSink, fetchOne, fetchPage, patchPage, patchPages, Unseen } from '@/api/cache';
import type { Live, LiveEvent } from '@/api/live';
import type { Page } from '@/api/model';

type Row = Record<string, unknown>;

function page(rows: Row[], seq = 5): Page<Row> & { counts: Record<string, number> } {
  return { items: rows, total: rows.length, epoch: 'e1', seq, counts: { ready: 1, unknown: 1 } };
}

function event(over: Partial<LiveEvent>): LiveEvent {
  return { topic: 'clusters', seq: 6, op: 'upsert', key: 'a', row: { name: 'a', state: 'unknown' }, ...over };
}

const rows = () => [{ name: 'a', state: 'ready', extra: 1 }, { name: 'b', state: 'unknown' }];

describe('patching a page', () => {
  it('replaces the one row, keeps the others’ identity and moves the counts', () => {
    const before = page(rows());
    const after = patchPage(before, event({}));
    expect(after.items[0]).toEqual({ name: 'a', state: 'unknown' }); // what is not told of it any more is gone
    expect(after.items[1]).toBe(before.items[1]);
    expect(after).toMatchObject({ seq: 6, total: 2, counts: { ready: 0, unknown: 2 } });
  });

  it('takes a deleted row out', () => {
    expect(patchPage(page(rows()), event({ op: 'delete', row: undefined }))).toMatchObject({ total: 1, items: [{ name: 'b' }], counts: { ready: 0, unknown: 1 } });
  });

  it('ignores what the page already holds', () => {
    const before = page(rows(), 6);
    expect(patchPage(before, event({ seq: 6 }))).toBe(before);
  });

  it('says when no page has the row', () => {
    const list = { pages: [page(rows())], pageParams: [''] };
    expect(patchPages(list, event({ key: 'z' }))).toEqual({ list, known: false });
  });

  it('knows rows of other nouns by id', () => {
    const after = patchPage(page([{ id: 't1', usedBy: [] }]), event({ topic: 'tokens', key: 't1', row: { id: 't1', usedBy: ['a'] } }));
    expect(after.items[0]).toEqual({ id: 't1', usedBy: ['a'] });
  });
});

describe('fetching while events arrive', () => {
  const fakeLive = (events: LiveEvent[], begun: (number | undefined)[] = []) => ({ mark: () => 1, since: () => events, begunSince: () => begun.shift() }) as unknown as Live;

  it('applies what came in meanwhile', async () => {
    const result = await fetchPage(fakeLive([event({ seq: 4 }), event({ seq: 7, key: 'b', row: { name: 'b', state: 'ready' } })]), 'clusters', () => Promise.resolve(page(rows())));
    expect(result.items).toEqual([{ name: 'a', state: 'ready', extra: 1 }, { name: 'b', state: 'ready' }]);
  });

  it('fetches again when the page is older than the topic’s beginning', async () => {
    const answers = [page(rows(), 5), page(rows(), 9)];
    const fetch = vi.fn(() => Promise.resolve(answers.shift() as ReturnType<typeof page>));
    expect((await fetchPage(fakeLive([], [8, undefined]), 'clusters', fetch)).seq).toBe(9);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it('applies events to one row in order', async () => {
    const events = [event({ row: { name: 'a', state: 'unknown', reason: 'away' } }), event({ key: 'b', row: { name: 'b', state: 'failed' } }), event({ row: { name: 'a', state: 'ready' } })];
    const answer = { name: 'a', state: 'joining', epoch: 'e1', seq: 5, works: 3 };
    expect(await fetchOne(fakeLive(events), 'clusters', 'a', ['works'], () => Promise.resolve(answer))).toEqual({ ...answer, state: 'ready' });
  });
});

describe('the cache sink', () => {
  function setUp() {
    const client = new QueryClient();
    const unseen = new Unseen();
    const key = ['clusters', 'list', '/clusters', {}];
    client.setQueryData(key, { pages: [page(rows())], pageParams: [''] });
    client.setQueryDefaults(['clusters', 'one'], { meta: { adds: ['works'] } });
    client.setQueryData(['clusters', 'one', 'a'], { name: 'a', state: 'ready', message: 'all is well', works: 3 });
    client.setQueryData(['tokens', 'list', '/tokens', {}], { pages: [page([])], pageParams: [''] });
    return { client, unseen, key, sink: cacheSink(client, unseen, () => undefined) };
  }

  it('patches lists and details of the topic and nothing else', () => {
    const { client, key, sink } = setUp();
    const tokens = client.getQueryData(['tokens', 'list', '/tokens', {}]);
    sink.event(event({}));
    expect(client.getQueryData<InfiniteData<Page<Row>>>(key)?.pages[0]?.items[0]).toMatchObject({ state: 'unknown' });
    expect(client.getQueryData(['clusters', 'one', 'a'])).toEqual({ name: 'a', state: 'unknown', works: 3 });
    expect(client.getQueryData(['tokens', 'list', '/tokens', {}])).toBe(tokens);
  });

  it('counts rows that a list does not show, once each', () => {
    const { unseen, key, sink } = setUp();
    sink.event(event({ key: 'new', row: { name: 'new' } }));
    sink.event(event({ seq: 7, key: 'new', row: { name: 'new' } }));
    expect(unseen.count(key)).toBe(1);
    unseen.clear(key);
    expect(unseen.count(key)).toBe(0);
  });

  it('counts as new what was made since the list was read; of other rows it notes that something moved', () => {
    const { unseen, key, sink } = setUp();
    sink.event(event({ key: 'old', row: { name: 'old', createdAt: '2020-01-01T00:00:00Z' } }));
    expect([unseen.count(key), unseen.hasMoved(key)]).toEqual([0, true]);
    sink.event(event({ seq: 7, key: 'new', row: { name: 'new', createdAt: new Date().toISOString() } }));
    expect(unseen.count(key)).toBe(1);
    unseen.clear(key);
    expect([unseen.count(key), unseen.hasMoved(key)]).toEqual([0, false]);
  });

  it('does not announce rows that the list’s filter leaves out', () => {
    const { client, unseen, sink } = setUp();
    const list = (params: object) => ['audit', 'list', '/audit', params];
    for (const params of [{ actor: 'ada' }, { actor: 'BOB', verb: '' }]) client.setQueryData(list(params), { pages: [page([])], pageParams: [''] });
    sink.event(event({ topic: 'audit', key: 'e1', row: { id: 'e1', actor: 'bob', at: new Date().toISOString() } }));
    expect([unseen.count(list({ actor: 'ada' })), unseen.count(list({ actor: 'BOB', verb: '' }))]).toEqual([0, 1]);
  });

  it('asks again, once the hub is back, for what failed and for what depends on topics', async () => {
    const { client, sink } = setUp();
    await client.prefetchQuery({ queryKey: ['failed'], retry: false, queryFn: () => Promise.reject(new Error('no answer')) });
    await client.prefetchQuery({ queryKey: ['preview'], meta: { follows: ['clusters'] }, queryFn: () => 1 });
    sink.ready();
    expect(['failed', 'preview'].map((key) => client.getQueryState([key])?.isInvalidated)).toEqual([true, true]);
    expect(client.getQueryState(['clusters', 'one', 'a'])?.isInvalidated).toBe(false);
  });

  it('asks for what depends on a topic once after several of its events, and not after those of others', async () => {
    vi.useFakeTimers();
    try {
      const { client, sink } = setUp();
      await client.prefetchQuery({ queryKey: ['preview'], meta: { follows: ['clusters'] }, queryFn: () => 1 });
      const asked = vi.spyOn(client, 'invalidateQueries');
      sink.event(event({ topic: 'users', key: 'u', row: {} }));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(asked).not.toHaveBeenCalled();
      for (let seq = 6; seq < 20; seq++) sink.event(event({ seq }));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(asked).toHaveBeenCalledExactlyOnceWith({ queryKey: ['preview'], exact: true });
    } finally {
      vi.useRealTimers();
    }
  });

  it('asks for what depends on one row’s own topic after its events, and not after those of its neighbours', async () => {
    vi.useFakeTimers();
    try {
      const { client, sink } = setUp();
      for (const topic of ['managed-clusters/east', 'managed-clusters']) await client.prefetchQuery({ queryKey: [topic], meta: { follows: [topic] }, queryFn: () => 1 });
      const asked = () => ['managed-clusters/east', 'managed-clusters'].map((topic) => client.getQueryState([topic])?.isInvalidated);
      sink.event(event({ topic: 'managed-clusters/west', key: 'west', row: undefined }));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(asked()).toEqual([false, true]);
      sink.event(event({ topic: 'managed-clusters/east', key: 'east', row: undefined }));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(asked()).toEqual([true, true]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('leaves lists alone when only one row’s own topic speaks', () => {
    const { client, sink } = setUp();
    const list = { pages: [page([{ id: 'r1', state: 'waiting' }])], pageParams: [''] };
    client.setQueryDefaults(['registrations', 'one'], { meta: { topic: 'registrations/r1' } });
    client.setQueryData(['registrations', 'one', 'r1'], { id: 'r1', state: 'waiting', stages: [] });
    sink.event(event({ topic: 'registrations', key: 'r1', row: { id: 'r1', state: 'waiting' } })); // a row of lists, without the stages
    expect(client.getQueryData(['registrations', 'one', 'r1'])).toHaveProperty('stages');
    client.setQueryData(['registrations', 'list', '/registrations', {}], list);
    sink.event(event({ topic: 'registrations/r1', key: 'r1', row: { id: 'r1', state: 'running' } }));
    expect(client.getQueryData(['registrations', 'list', '/registrations', {}])).toBe(list);
    expect(client.getQueryData(['registrations', 'one', 'r1'])).toEqual({ id: 'r1', state: 'running' });
  });

  it('at a topic’s beginning refetches only what may lack changes', () => {
    const { client, key, sink } = setUp();
    sink.begin('clusters', 'e1', 5);
    expect(client.getQueryState(key)?.isInvalidated).toBe(false);
    expect(client.getQueryState(['clusters', 'one', 'a'])?.isInvalidated).toBe(true);
    sink.begin('clusters', 'e1', 6);
    expect(client.getQueryState(key)?.isInvalidated).toBe(true);
  });

  it('on a resync refetches all of the noun', () => {
    const { client, key, sink } = setUp();
    sink.resync('clusters');
    expect(client.getQueryState(key)?.isInvalidated).toBe(true);
    expect(client.getQueryState(['tokens', 'list', '/tokens', {}])?.isInvalidated).toBe(false);
  });
});

it('knows a policy by its path', () => {
  const row = { resource: 'overridepolicies', namespace: 'default', name: 'nginx', rules: 1 };
  const page = { items: [row, { ...row, resource: 'clusteroverridepolicies', namespace: undefined }], total: 2, epoch: 'e', seq: 1 };
  const after = patchPage(page, { topic: 'policies', seq: 2, op: 'upsert', key: 'clusteroverridepolicies/-/nginx', row: { ...row, namespace: undefined, resource: 'clusteroverridepolicies', rules: 3 } });
  expect(after.items.map((item) => item['rules'])).toEqual([1, 3]);
});
