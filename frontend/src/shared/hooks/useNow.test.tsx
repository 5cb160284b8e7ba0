import { act } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { render } from '@/test/render';
import { useAge } from './useNow';

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

it('counts seconds of what is young, and renders what is old once a minute', async () => {
  const renders = { young: 0, old: 0 };
  const began = Date.now();
  function Shown({ name, at }: { name: keyof typeof renders; at: number }) {
    renders[name]++;
    return <i data-name={name}>{useAge(at)}</i>;
  }
  const place = await render(<><Shown name="young" at={began} /><Shown name="old" at={began - 3_600_000} /></>);
  const before = { ...renders };
  for (let second = 0; second < 30; second++) await act(() => vi.advanceTimersByTimeAsync(1_000));
  expect(renders.young - before.young).toBeGreaterThan(25);
  expect(renders.old).toBe(before.old);
  expect(place.querySelector('[data-name=young]')?.textContent).toBe('30000');
  for (let second = 0; second < 40; second++) await act(() => vi.advanceTimersByTimeAsync(1_000));
  expect(renders.old).toBe(before.old + 1);
});
