import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, it, vi } from 'vitest';
import { type HeldPolicy, policyDetail } from './queries';

const at = { resource: 'propagationpolicies', namespace: 'default', name: 'nginx' };

/** How often a policy is read within three seconds of an event that says it changed, where reading it answers so. */
async function reads(answer: () => Promise<HeldPolicy>): Promise<number> {
  vi.useFakeTimers();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const queryFn = vi.fn(answer);
  const options = { ...policyDetail(at), queryFn, staleTime: Infinity };
  client.setQueryData(options.queryKey, { resourceVersion: '2', detail: { row: { resourceVersion: '1' } } } as HeldPolicy);
  const leave = new QueryObserver(client, options).subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(3_000);
  leave();
  vi.useRealTimers();
  return queryFn.mock.calls.length;
}

it('reads a policy that changed until the answer is as new as the event', async () => {
  const answers = ['1', '2'];
  expect(await reads(() => Promise.resolve({ resourceVersion: '2', detail: { row: { resourceVersion: answers.shift() } } } as HeldPolicy))).toBe(2);
});

it('asks once for a policy that was deleted meanwhile', async () => {
  expect(await reads(() => Promise.reject(new Error('there is no such policy')))).toBe(1);
});
