import { expect, it } from 'vitest';
import { render } from '@/test/render';
import { ClusterDots } from './ClusterDots';
import type { PlacedCluster, PlacedState } from './types';

const cluster = (name: string, state: PlacedState, message?: string): PlacedCluster => ({ name, state, message, applied: state === 'ok', health: 'Unknown' });

it('names a few clusters beside their marks, what needs a look first', async () => {
  const place = await render(<ClusterDots clusters={[cluster('a', 'ok'), cluster('b', 'failed', 'b: no room')]} />);
  expect([...place.querySelectorAll('a')].map((link) => [link.textContent, link.getAttribute('aria-label'), link.getAttribute('href')])).toEqual([
    ['b', 'b: Failed. b: no room', '/clusters/b'], ['a', 'a: OK', '/clusters/a'],
  ]);
});

it('says in words how many of many are not well', async () => {
  const clusters = Array.from({ length: 40 }, (_, i) => cluster(`c${i}`, i === 30 ? 'progressing' : 'ok'));
  const place = await render(<ClusterDots clusters={clusters} />);
  expect(place.querySelectorAll('a').length).toBeLessThan(12);
  expect(place.querySelector('a')?.getAttribute('aria-label')).toBe('c30: In progress');
  expect(place.querySelector('ul')?.textContent).toBe('1 of 40 not well');
  expect((await render(<ClusterDots clusters={clusters.slice(0, 9)} />)).querySelector('ul')?.textContent).toBe('9 clusters');
});
