import { expect, it } from 'vitest';
import type { AuditEntry } from '@/api/model';
import { render } from '@/test/render';
import { EntryDetails } from './EntryDetails';

it('lists what changed, then how much more there was', async () => {
  const entry = {
    id: 'e1', at: '2026-11-22T00:00:00Z', actor: 'ada', via: 'rest', kind: 'PropagationPolicy', name: 'web', verb: 'apply', outcome: 'ok',
    detail: { client: 'kubectl/v1.36', more: '2 further changes', 'spec.priority': '0 → 7' },
  } as unknown as AuditEntry;
  const place = await render(<EntryDetails entry={entry} />);
  const rows = [...place.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows).toEqual([['spec.priority', '0', '7'], ['2 more fields']]);
  expect(place.textContent).toContain('Clientkubectl/v1.36');
  expect(place.textContent).not.toContain('further changes');
});

it('says of a new field that there was none before, and keeps arrows in values', async () => {
  const entry = { id: 'e1', at: '2026-11-22T00:00:00Z', actor: 'ada', via: 'rest', kind: 'ConfigMap', name: 'c', verb: 'create', outcome: 'ok', detail: { 'data.a': 'none → x → y', reason: 'as told' } } as unknown as AuditEntry;
  const place = await render(<EntryDetails entry={entry} />);
  expect([...place.querySelectorAll('tbody td')].map((cell) => cell.textContent)).toEqual(['none', 'x → y']);
  expect(place.textContent).toContain('reasonas told');
});
