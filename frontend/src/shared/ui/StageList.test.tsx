import { expect, it } from 'vitest';
import { render } from '@/test/render';
import { type StageItem, StageList } from './StageList';

const stages: StageItem[] = [
  { key: 'contact', label: 'First contact', state: 'done', spoken: 'done', at: '2026-11-21T14:02:40Z', aside: 'from 203.0.113.9' },
  { key: 'token', label: 'Token accepted', state: 'failed', spoken: 'failed', failure: { code: 'MU-103', what: 'The token has expired', why: 'It expired at 13:58.', fix: 'Make a new one.' }, action: <button type="button">New command</button> },
  { key: 'ready', label: 'Ready', state: 'pending', spoken: 'not yet' },
];

it('shows a failed stage with code, cause, fix and the way on', async () => {
  const place = await render(<StageList label="Progress" stages={stages} />);
  const failed = place.querySelector('[data-stage="token"]');
  expect(failed?.getAttribute('data-state')).toBe('failed');
  for (const text of ['MU-103', 'The token has expired', 'It expired at 13:58.', 'Make a new one.', 'New command']) expect(failed?.textContent).toContain(text);
});

it('says every stage’s state in words, and announces the latest', async () => {
  const place = await render(<StageList label="Progress" stages={stages} />);
  expect(place.querySelector('[data-stage="ready"]')?.textContent).toContain('not yet');
  expect(place.querySelector('[role="status"]')?.textContent).toBe('Token accepted: failed. The token has expired');
});
