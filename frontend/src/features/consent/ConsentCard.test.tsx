import { expect, it, vi } from 'vitest';
import type { SessionInfo, WaitingRow } from '@/api/model';
import { SessionProvider } from '@/api/session';
import { click, render } from '@/test/render';
import { ConsentCard } from './ConsentCard';
import type { Decision } from './queries';

const unknownCluster = (cluster: string): WaitingRow => ({
  cluster, exists: false, accepted: false, denied: false, waits: false, next: 'agent', certificate: 'none', joined: false, available: '', urls: [], createdAt: '0001-01-01T00:00:00Z', requests: [],
});
const digest = '0123456789abcdef'.repeat(4);
const row: WaitingRow = {
  ...unknownCluster('edge'), exists: true, waits: true, next: 'both', certificate: 'pending', createdAt: '2026-11-21T12:00:00Z', urls: ['https://edge:6443'],
  requests: [{
    name: 'edge-x7z', cluster: 'edge', agent: 'a1b2c', state: 'pending', superseded: false, requester: 'system:bootstrap:abcdef', groups: [],
    fingerprint: `SHA256:${digest}`, address: '203.0.113.9', createdAt: '2026-11-21T12:00:00Z', renewal: false,
  }],
};

async function card(shown: WaitingRow, role: 'operator' | 'viewer', onDecide: (decision: Decision) => void = () => undefined) {
  const session = { user: { name: 'ada', role } } as SessionInfo;
  return render(<SessionProvider value={session}><ConsentCard row={shown} onDecide={onDecide} /></SessionProvider>);
}

const button = (place: HTMLElement, name: string) => [...place.querySelectorAll('button')].find((one) => (one.getAttribute('aria-label') ?? one.textContent) === name);

it('shows both consents side by side, with what one compares', async () => {
  const place = await card(row, 'operator');
  const [certificate, acceptance] = [...place.querySelectorAll('[role="group"]')];
  expect(certificate?.getAttribute('aria-label')).toBe('Certificate');
  expect(certificate?.querySelector('code')?.textContent).toBe(`SHA256:${digest}`);
  for (const text of ['Waits for approval', 'bootstrap token abcdef', '203.0.113.9']) expect(certificate?.textContent).toContain(text);
  for (const text of ['Waits for acceptance', 'https://edge:6443']) expect(acceptance?.textContent).toContain(text);
});

it('decides on the very request that is shown', async () => {
  const decided = vi.fn<(decision: Decision) => void>();
  const place = await card(row, 'operator', decided);
  await click(button(place, 'Approve the certificate of edge'));
  await click(button(place, 'Accept edge'));
  await click(button(place, 'Deny edge'));
  expect(decided.mock.calls.map(([{ action, request }]) => [action, request])).toEqual([['approve', 'edge-x7z'], ['accept', undefined], ['deny', undefined]]);
});

it('offers to choose a cluster only where there are several', async () => {
  const session = { user: { name: 'ada', role: 'operator' } } as SessionInfo;
  const shown = (chosen?: boolean) => render(<SessionProvider value={session}><ConsentCard row={row} onDecide={() => undefined} chosen={chosen} onChoose={() => undefined} /></SessionProvider>);
  expect((await shown(false)).querySelectorAll('input[type="checkbox"]')).toHaveLength(1);
  expect((await shown()).querySelectorAll('input[type="checkbox"]')).toHaveLength(0);
});

it('lets viewers look only', async () => {
  const place = await card(row, 'viewer');
  expect(button(place, 'Accept edge')?.disabled).toBe(true);
  expect(button(place, 'Approve the certificate of edge')?.disabled).toBe(true);
});

it('warns before an identity in use goes to another key, and offers nothing for an odd request', async () => {
  const joined = await card({ ...row, accepted: true, joined: true, next: 'certificate' }, 'operator');
  expect(joined.textContent).toContain('Approving gives its identity to another key');
  const [request] = row.requests;
  const odd = await card({ ...row, next: 'acceptance', requests: request ? [{ ...request, problem: 'it asks for alternative names' }] : [] }, 'operator');
  expect(odd.textContent).toContain('it asks for alternative names');
  expect(button(odd, 'Approve the certificate of edge')).toBeUndefined();
});
