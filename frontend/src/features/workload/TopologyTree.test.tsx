import { act } from 'react';
import { expect, it, vi } from 'vitest';
import { render } from '@/test/render';
import { TopologyTree } from './TopologyTree';
import type { Topology } from './types';

const topology: Topology = {
  nodes: [
    { id: 'policy', kind: 'policy', label: 'p', state: 'ok' }, { id: 'template', kind: 'template', label: 't', state: 'ok' }, { id: 'binding', kind: 'binding', label: 'b', state: 'ok' },
    { id: 'work/a', kind: 'work', label: 'w', cluster: 'a', state: 'ok' }, { id: 'work/b', kind: 'work', label: 'w', cluster: 'b', state: 'failed', reason: 'b: no room' },
  ],
  edges: [{ from: 'policy', to: 'template' }, { from: 'template', to: 'binding' }, { from: 'binding', to: 'work/a' }, { from: 'binding', to: 'work/b' }],
  broken: 'work/b',
};

async function show() {
  const onChoose = vi.fn();
  const place = await render(<TopologyTree topology={topology} order={['b', 'a']} chosen="work/b" onChoose={onChoose} />);
  const rows = () => [...place.querySelectorAll<HTMLElement>('tbody tr')];
  const press = (key: string) => act(async () => { document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); });
  return { onChoose, rows, press };
}

it('shows every hop with level, state and reason, and stands on the broken one', async () => {
  const { rows } = await show();
  expect(rows().map((row) => [row.dataset['hop'], row.getAttribute('aria-level'), row.tabIndex])).toEqual([
    ['policy', '1', -1], ['template', '2', -1], ['binding', '3', -1], ['work/b', '4', 0], ['work/a', '4', -1],
  ]);
  expect(rows()[3]?.textContent).toContain('Failed');
  expect(rows()[3]?.textContent).toContain('no room');
  expect(rows()[3]?.getAttribute('aria-selected')).toBe('true');
});

it('moves, closes and chooses by keyboard', async () => {
  const { rows, press, onChoose } = await show();
  rows()[3]?.focus();
  await press('ArrowLeft');
  expect((document.activeElement as HTMLElement).dataset['hop']).toBe('binding');
  await press('ArrowLeft');
  expect(rows().map((row) => row.dataset['hop'])).toEqual(['policy', 'template', 'binding']);
  await press('ArrowRight');
  await press('End');
  await press('Enter');
  expect(onChoose).toHaveBeenCalledExactlyOnceWith('work/a');
  await press('Home');
  expect((document.activeElement as HTMLElement).dataset['hop']).toBe('policy');
});
