import { act } from 'react';
import { expect, it, vi } from 'vitest';
import { click, render, type } from '@/test/render';
import { type Filter, FilterBar } from './FilterBar';

const fields = { state: ['ready', 'degraded'], region: [] };

async function setUp(value: Filter) {
  const onChange = vi.fn();
  const place = await render(<FilterBar label="Filter" placeholder="" fields={fields} closed={['state']} value={value} onChange={onChange} />);
  return { onChange, place, input: place.querySelector('input') as HTMLInputElement };
}

it('makes a chip of field:value and keeps the free text', async () => {
  const { onChange, input } = await setUp({});
  await type(input, 'edge region:eu-1 ');
  expect(onChange).toHaveBeenLastCalledWith({ q: 'edge', region: 'eu-1' });
});

it('takes a suggestion as it is picked', async () => {
  const { onChange, input } = await setUp({ q: 'edge' });
  await type(input, 'state:ready');
  expect(onChange).toHaveBeenLastCalledWith({ state: 'ready' });
});

it('filters by free text once typing pauses, never by half a chip', async () => {
  vi.useFakeTimers();
  const { onChange, input } = await setUp({ state: 'ready' });
  await type(input, 'region:e');
  await act(async () => { vi.advanceTimersByTime(500); });
  expect(onChange).not.toHaveBeenCalled();
  await type(input, 'edge');
  await act(async () => { vi.advanceTimersByTime(500); });
  expect(onChange).toHaveBeenCalledExactlyOnceWith({ state: 'ready', q: 'edge' });
  vi.useRealTimers();
});

it('removes a chip and clears all', async () => {
  const { onChange, place } = await setUp({ state: 'ready', q: 'x' });
  await click(place.querySelector('[aria-label="Remove filter state:ready"]'));
  expect(onChange).toHaveBeenLastCalledWith({ q: 'x' });
  await click(place.querySelector('[aria-label="Clear filters"]'));
  expect(onChange).toHaveBeenLastCalledWith({});
});

it('names a value that does not exist, and not one that is being typed', async () => {
  const { onChange, place, input } = await setUp({});
  const said = () => place.querySelector('[role="status"]')?.textContent;
  await type(input, 'state:rea');
  expect(said()).toBe('');
  await type(input, 'state:nonsense ');
  expect(said()).toBe('There is no state “nonsense”. It is one of: ready, degraded.');
  expect(onChange).not.toHaveBeenCalled();
  await type(input, 'region:anything ');
  expect(onChange).toHaveBeenLastCalledWith({ region: 'anything' });
});

it('names a wrong value that came with the address', async () => {
  const { place } = await setUp({ state: 'nonsense' });
  expect(place.querySelector('[role="status"]')?.textContent).toContain('nonsense');
});
