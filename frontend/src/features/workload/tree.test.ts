import { expect, it } from 'vitest';
import { above, closedAtFirst, openRows, treeRows } from './tree';
import type { Topology } from './types';

const chain = (clusters: string[], broken?: string): Topology => ({
  nodes: [
    ...clusters.flatMap((cluster) => [
      { id: `o-${cluster}`, kind: 'object' as const, label: 'o', cluster, state: cluster === broken ? 'failed' as const : 'ok' as const },
      { id: `w-${cluster}`, kind: 'work' as const, label: cluster, cluster, state: 'ok' as const },
    ]),
    { id: 't', kind: 'template', label: 't', state: 'ok' }, { id: 'p', kind: 'policy', label: 'p', state: 'ok' }, { id: 'b', kind: 'binding', label: 'b', state: 'ok' },
  ],
  edges: [{ from: 'p', to: 't' }, { from: 't', to: 'b' }, { from: 'b', to: 'nowhere' }, ...clusters.flatMap((cluster) => [{ from: 'b', to: `w-${cluster}` }, { from: `w-${cluster}`, to: `o-${cluster}` }])],
  broken: broken && `o-${broken}`,
});

it('lists every hop once, under what leads to it', () => {
  const given = chain(['a', 'b']);
  given.edges.push({ from: 'p', to: 'w-b' }, { from: 'o-a', to: 'p' });
  const rows = treeRows(given);
  expect(rows.map((row) => `${row.level} ${row.node.id} ${row.children}`)).toEqual(['1 p 1', '2 t 1', '3 b 2', '4 w-a 1', '5 o-a 0', '4 w-b 1', '5 o-b 0']);
  expect(above(rows, 'o-a')).toEqual(['w-a', 'b', 't', 'p']);
  expect(above(rows, undefined)).toEqual([]);
});

it('puts the clusters into the order given, those it does not name behind', () => {
  expect(treeRows(chain(['a', 'b', 'c']), ['c', 'b']).filter((row) => row.level === 4).map((row) => row.node.cluster)).toEqual(['c', 'b', 'a']);
});

it('closes of a long one what is well, and never the way to the broken hop', () => {
  const names = Array.from({ length: 40 }, (_, i) => `c${i}`);
  const rows = treeRows(chain(names, 'c7'));
  const closed = closedAtFirst(rows, 'o-c7');
  expect(closed.size).toBe(39);
  expect(closed.has('w-c7')).toBe(false);
  const open = openRows(rows, closed);
  expect(open).toHaveLength(3 + 40 + 1);
  expect(open.some((row) => row.node.id === 'o-c7')).toBe(true);
  expect(closedAtFirst(treeRows(chain(['a'])), undefined).size).toBe(0);
});
