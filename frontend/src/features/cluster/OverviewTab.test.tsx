import { QueryClientProvider } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { queryClient } from '@/api/hub';
import type { Cluster, ClusterDetail, SessionInfo } from '@/api/model';
import { SessionProvider } from '@/api/session';
import { render } from '@/test/render';
import { hasReason } from './clusterColumns';
import { OverviewTab } from './OverviewTab';
import { en } from './words.en';

const cluster = { name: 'edge', id: '', labels: {}, taints: [], zones: [], conditions: [], apiEnablements: [], agent: 'muster', dialect: 'karmada', createdAt: '2026-11-22T00:00:00Z' } as unknown as ClusterDetail;

it.each([['karmada', false], ['ocm', true]] as const)('says of a member whose capacity is told elsewhere where that is, not that it has not reported: %s', async (dialect, elsewhere) => {
  const session = { user: { name: 'ada', role: 'viewer' } } as SessionInfo;
  const place = await render(<QueryClientProvider client={queryClient}><SessionProvider value={session}><OverviewTab cluster={{ ...cluster, dialect }} /></SessionProvider></QueryClientProvider>);
  expect(place.querySelector('a[href="/managed-clusters/edge"]') !== null).toBe(elsewhere);
  expect(place.textContent.includes(en.capacityNone)).toBe(!elsewhere);
});

it('has no line under a row about which there is nothing to say', () => {
  const row = { state: 'removing', reason: '', message: '' } as Cluster;
  expect(hasReason(row)).toBe(false);
  expect(hasReason({ ...row, removal: { startedAt: '2026-11-22T00:00:00Z', waitingFor: 'works' } })).toBe(true);
  expect(hasReason({ ...row, state: 'ready', reason: 'ClusterReady' })).toBe(false);
});
