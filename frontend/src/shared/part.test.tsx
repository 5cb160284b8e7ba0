import { Suspense } from 'react';
import { expect, it, vi } from 'vitest';
import { render } from '@/test/render';
import { part, patiently, PartMissing, setAnswering } from './part';

it('waits for a hub that is away and asks once more when it is back', async () => {
  let back: () => void = () => undefined;
  setAnswering(() => new Promise((resolve) => { back = resolve; }));
  const load = vi.fn(async () => ({ default: () => <p>here</p> })).mockRejectedValueOnce(new TypeError('no answer'));
  const Late = part(load);
  const place = await render(<Suspense fallback="waits"><Late /></Suspense>);
  expect(place.textContent).toContain('waits');
  back();
  await vi.waitFor(() => expect(place.textContent).toContain('here'));
  expect(load).toHaveBeenCalledTimes(2);
});

it('says that a part is missing when the hub answers without it', async () => {
  setAnswering(() => Promise.resolve());
  const load = vi.fn(() => Promise.reject(new TypeError('not found')));
  await expect(patiently(load)).rejects.toBeInstanceOf(PartMissing);
  expect(load).toHaveBeenCalledTimes(2);
});

it('fetches a stylesheet again that failed with its part', async () => {
  const link = document.head.appendChild(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: 'data:text/css,' }));
  link.dispatchEvent(new Event('error'));
  setAnswering(() => Promise.resolve());
  const load = vi.fn(async () => 'part').mockRejectedValueOnce(new TypeError('no answer'));
  const loaded = patiently(load);
  await vi.waitFor(() => expect(link.isConnected).toBe(false));
  const again = document.head.querySelector('link[rel="stylesheet"]');
  again?.dispatchEvent(new Event('load'));
  expect(await loaded).toBe('part');
  again?.remove();
});
