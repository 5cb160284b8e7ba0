import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, type ReactNode } from 'react';
import { afterEach, expect, it, vi } from 'vitest';
import { click, render } from '@/test/render';
import { PodTable } from './PodTable';
import { looksForPods, podsVersion, unreadyClusters } from './pods';
import { workloadPods } from './queries';
import type { PodsAnswer, WorkloadDetail } from './types';
import { WhyChain } from './WhyChain';

// Rendering waits for answers, however busy the machine is.
vi.setConfig({ testTimeout: 60_000 });

const key = { group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'shop', name: 'nginx' };
const worst = 'm1: pod nginx-b is not ready, ImagePullBackOff: Back-off pulling image';

const answer: PodsAnswer = {
  reachable: true, total: 2, notReady: 1, partial: false, shared: false, at: '2026-11-21T20:00:00Z',
  fact: { level: 'error', code: 'pods.worst', text: worst, params: { cluster: 'm1', pod: 'nginx-b', reason: 'ImagePullBackOff', message: 'Back-off pulling image' } },
  pods: [
    { name: 'nginx-b', phase: 'Pending', ok: false, ready: 0, containers: 1, restarts: 3, container: 'app', reason: 'ImagePullBackOff', message: 'Back-off pulling image', createdAt: '2026-11-21T19:00:00Z' },
    { name: 'nginx-a', phase: 'Running', ok: true, ready: 1, containers: 1, restarts: 0, node: 'n1', createdAt: '2026-11-21T19:00:00Z' },
  ],
};

const detail = {
  row: {
    id: 'x', apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'nginx', images: [], state: 'progressing', createdAt: '', resourceVersion: '1',
    clusters: [
      { name: 'm0', applied: true, health: 'Healthy', state: 'ok', replicas: 1, ready: 1 },
      { name: 'm1', applied: true, health: 'Unhealthy', state: 'progressing', replicas: 2, ready: 1 },
      { name: 'm2', applied: false, health: 'Unknown', state: 'failed' },
    ],
  },
  yaml: '', events: [], facts: [{ level: 'warn', code: 'health.unready', text: 'm1: 1 of 2 replicas are ready.' }],
  topology: { nodes: [{ id: 'pods/m1', kind: 'pods', label: '1/2', cluster: 'm1', state: 'progressing', detail: { ready: '1' } }], edges: [] },
} as unknown as WorkloadDetail;

/** Answers every question as told, and keeps what was asked. */
function member(of: () => PodsAnswer | { status: number }) {
  const asked: string[] = [];
  vi.stubGlobal('fetch', vi.fn(async (url: string) => {
    asked.push(url);
    const body = of();
    return 'status' in body ? new Response('{}', { status: body.status }) : new Response(JSON.stringify(body), { status: 200 });
  }));
  return asked;
}

afterEach(() => vi.unstubAllGlobals());

async function show(node: ReactNode, until: (place: HTMLElement) => boolean) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const place = await render(<QueryClientProvider client={client}>{node}</QueryClientProvider>);
  await settle(() => until(place));
  return place;
}

async function settle(met: () => boolean) {
  await act(async () => { await vi.waitFor(() => { if (!met()) throw new Error('not yet'); }, { timeout: 50_000 }); });
}

const table = <PodTable workload={key} cluster="m1" version="1" />;

it('lists the pods, those first that are not ready, each with its reason', async () => {
  const asked = member(() => answer);
  const place = await show(table, (at) => at.querySelector('tbody') !== null);
  expect(asked).toEqual(['/api/v1/workloads/apps/v1/Deployment/shop/nginx/pods?cluster=m1']);
  const lines = [...place.querySelectorAll('tbody tr')].map((line) => line.textContent);
  expect(lines[0]).toContain('nginx-bImagePullBackOff0/13');
  expect(lines[1]).toBe('app: Back-off pulling image');
  expect(lines[2]).toContain('nginx-aRunning1/10');
  expect(lines).toHaveLength(3);
  expect(place.textContent).toContain('1 of 2 pods are not ready.');
});

it('says why the member cannot be asked, and looks again when told', async () => {
  const text = 'The hub cannot ask m1 for pods: it has no address of it or no credential for it. Look in the member (kubectl -n shop get pods).';
  let next: PodsAnswer = { ...answer, reachable: false, pods: [], total: 0, notReady: 0, fact: { level: 'info', code: 'pods.no-way', text } };
  const asked = member(() => next);
  const place = await show(table, (at) => at.textContent.includes('kubectl'));
  expect(place.textContent).toContain(text);
  expect(place.querySelector('table')).toBeNull();
  next = answer;
  await click(place.querySelector('button'));
  await settle(() => place.querySelector('tbody') !== null);
  expect(asked).toHaveLength(2);
});

it('tells of more pods than it lists', async () => {
  member(() => ({ ...answer, total: 5000, notReady: 60, partial: true }));
  const place = await show(table, (at) => at.querySelector('tbody') !== null);
  expect(place.textContent).toContain('60 of 5000+ pods are not ready. The first 2 are listed.');
});

it('shows an error of the hub in place', async () => {
  member(() => ({ status: 403 }));
  const place = await show(table, (at) => at.querySelector('[role="alert"]') !== null);
  expect(place.querySelector('table')).toBeNull();
});

it('ends the chain of facts with what the worst pod says, asking only clusters that are not ready', async () => {
  const asked = member(() => answer);
  const place = await show(<WhyChain workload={key} detail={detail} />, (at) => at.querySelectorAll('li').length === 2);
  expect(asked.map((url) => url.split('?')[1])).toEqual(['cluster=m1']);
  expect(place.querySelector('li:last-child')?.textContent).toContain(worst);
  expect(place.querySelector('li:last-child a')?.textContent).toBe('m1');
});

it('knows when a look is worth it, and when the last one is old', () => {
  expect(unreadyClusters(detail)).toEqual(['m1']);
  expect(unreadyClusters({ ...detail, row: { ...detail.row, apiVersion: 'v1', kind: 'ConfigMap' } })).toEqual([]);
  expect(looksForPods(detail.row, { kind: 'object', state: 'progressing' })).toBe(true);
  expect(looksForPods(detail.row, { kind: 'object', state: 'ok' })).toBe(false);
  expect(looksForPods(detail.row, { kind: 'work', state: 'failed' })).toBe(false);
  const before = podsVersion(detail, 'm1');
  expect(podsVersion({ ...detail, yaml: 'other' }, 'm1')).toBe(before);
  const more = { ...detail, row: { ...detail.row, clusters: detail.row.clusters.map((cluster) => ({ ...cluster, ready: 2 })) } };
  expect(podsVersion(more, 'm1')).not.toBe(before);
});

it('asks once more after an answer that was somebody else’s, and never by the clock', () => {
  const { refetchInterval } = workloadPods(key, 'm1', '1');
  if (typeof refetchInterval !== 'function') throw new Error('the interval does not depend on the answer');
  const after = (data: PodsAnswer | undefined) => refetchInterval({ state: { data } } as unknown as Parameters<typeof refetchInterval>[0]);
  expect(after({ ...answer, shared: true })).toBe(5_000);
  expect(after(answer)).toBe(false);
  expect(after(undefined)).toBe(false);
});
