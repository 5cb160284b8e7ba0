import { expect, it } from 'vitest';
import type { AuditEntry } from '@/api/model';
import type { LiveEvent } from '@/api/live';
import { announced, workList, worksTopic } from './queries';

const event = (key: string, row: Partial<AuditEntry>, op: LiveEvent['op'] = 'upsert'): LiveEvent => ({ topic: 'audit', seq: 1, op, key, row });

it('counts the entries of one cluster that are not shown yet, each once', () => {
  const events = [
    event('1', { kind: 'Cluster', name: 'edge-7' }), event('2', { kind: 'Cluster', name: 'edge-7' }), event('2', { kind: 'Cluster', name: 'edge-7', outcome: 'ok' }),
    event('3', { kind: 'Cluster', name: 'edge-70' }), event('4', { kind: 'Token', name: 'edge-7' }), event('5', { kind: 'Cluster', name: 'edge-7' }, 'delete'),
  ];
  expect(announced('edge-7', events, [])).toBe(2);
  expect(announced('edge-7', events, [{ id: '2' } as AuditEntry])).toBe(1);
});

it('has whatever the topic of a cluster’s works says ask for them again, and never polls', () => {
  const options: Record<string, unknown> = workList('edge-7');
  expect((options['queryKey'] as string[]).slice(0, 3)).toEqual([worksTopic('edge-7').split('/')[0], 'count', 'edge-7']);
  expect(options['refetchInterval']).toBeUndefined();
});
