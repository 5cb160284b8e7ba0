import { expect, it } from 'vitest';
import type { ManagedDetail } from '@/api/model';
import { render } from '@/test/render';
import { Consents } from './Consents';

const detail = (more: Partial<ManagedDetail>): ManagedDetail => ({
  name: 'edge', dialect: 'ocm', state: 'denied', accepted: false, joined: true, available: 'Unknown', urls: [], set: 'default', labels: {}, taints: [], createdAt: '2026-11-21T12:00:00Z', removing: false,
  resourceVersion: '1', works: { total: 0, applied: 0, available: 0, failed: 0 }, conditions: [], claims: [], capacity: {}, allocatable: {}, leaseSeconds: 60, certificateRequests: [], managedNamespaces: [], ...more,
});

it('tells why a cluster was denied, whether the hub had accepted it before or not', async () => {
  const why = 'The cluster was denied in the waiting room by ada: not ours';
  const condition = { type: 'HubAcceptedManagedCluster', status: 'False' as const, reason: 'HubClusterAdminDenied', message: 'The hub denies this cluster.', lastTransitionTime: '2026-11-21T12:00:00Z' };
  expect((await render(<Consents cluster={detail({ message: why })} />)).textContent).toContain('by ada: not ours');
  const after = await render(<Consents cluster={detail({ message: `${condition.message}\n${why}`, conditions: [condition] })} />);
  expect(after.textContent).toContain('The hub denies this cluster.');
  expect(after.textContent).toContain('by ada: not ours');
});

it('tells what the hub says of an acceptance that it has not given', async () => {
  const condition = { type: 'HubAcceptedManagedCluster', status: 'False' as const, reason: 'Other', message: 'Something waits.', lastTransitionTime: '2026-11-21T12:00:00Z' };
  expect((await render(<Consents cluster={detail({ state: 'waiting', message: 'The hub has not accepted the cluster yet.', conditions: [condition] })} />)).textContent).toContain('Something waits.');
});
