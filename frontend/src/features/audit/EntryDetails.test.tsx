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
  const text = place.textContent;
  expect(text).toContain('Clientkubectl/v1.36');
  expect(text.indexOf('spec.priority')).toBeLessThan(text.indexOf('And2 more fields'));
  expect(text).not.toContain('further changes');
});
