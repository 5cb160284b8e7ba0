import { describe, expect, it } from 'vitest';
import { clusterOrder, fold, layout, size, worstOf } from './layout';
import type { NodeState, Topology, TopologyNode } from './types';

/** One policy, template and binding, and a chain of work, object and pods in each cluster. */
function topology(clusters: [name: string, state: NodeState][]): Topology {
  const nodes: TopologyNode[] = [
    { id: 'p', kind: 'policy', label: 'p', state: 'ok' }, { id: 't', kind: 'template', label: 't', state: 'ok' }, { id: 'b', kind: 'binding', label: 'b', state: 'ok' },
  ];
  const edges = [{ from: 'p', to: 't' }, { from: 't', to: 'b' }];
  for (const [cluster, state] of clusters) {
    nodes.push({ id: `w-${cluster}`, kind: 'work', label: cluster, cluster, state: 'ok' }, { id: `o-${cluster}`, kind: 'object', label: 'o', cluster, state: 'ok' }, { id: `d-${cluster}`, kind: 'pods', label: 'd', cluster, state });
    edges.push({ from: 'b', to: `w-${cluster}` }, { from: `w-${cluster}`, to: `o-${cluster}` }, { from: `o-${cluster}`, to: `d-${cluster}` });
  }
  return { nodes, edges, broken: clusters.find(([, state]) => state === 'failed')?.[0] && `d-${clusters.find(([, state]) => state === 'failed')?.[0]}` };
}

const drawn = (given: Topology) => layout({ hops: given.nodes, edges: given.edges });
const step = size.height + size.gapY;

describe('layout', () => {
  it('gives each kind a column and each cluster a row', () => {
    const { at } = drawn(topology([['a', 'ok'], ['b', 'failed'], ['c', 'ok']]));
    expect(['p', 't', 'b', 'w-a', 'o-a', 'd-a'].map((id) => at[id]?.x)).toEqual([0, 1, 2, 3, 4, 5].map((n) => n * (size.width + size.gapX)));
    for (const [row, cluster] of ['a', 'b', 'c'].entries()) {
      for (const kind of ['w', 'o', 'd']) expect(at[`${kind}-${cluster}`]?.y).toBe(row * step);
    }
    expect(['p', 't', 'b'].map((id) => at[id]?.y)).toEqual([step, step, step]);
  });

  it('never lays two hops over each other, nor loses one', () => {
    const given = topology([['a', 'ok'], ['b', 'ok']]);
    given.nodes.push({ id: 'p2', kind: 'policy', label: 'p2', state: 'ok' }, { id: 'alone', kind: 'work', label: 'alone', state: 'missing' });
    given.edges.push({ from: 'p2', to: 't' }, { from: 'd-a', to: 'b' });
    const { at, width, height } = drawn(given);
    const places = Object.values(at);
    expect(places).toHaveLength(given.nodes.length);
    for (const [i, a] of places.entries()) for (const b of places.slice(i + 1)) expect(a.x !== b.x || Math.abs(a.y - b.y) >= step).toBe(true);
    for (const place of places) expect(place.x >= 0 && place.x + size.width <= width && place.y >= 0 && place.y + size.height <= height).toBe(true);
  });

  it('begins with what needs a look, and with where it comes from', () => {
    const names = Array.from({ length: 40 }, (_, i): [string, NodeState] => [`c${i}`, i === 33 ? 'failed' : i === 20 ? 'progressing' : 'ok']);
    const given = topology(names);
    const order = clusterOrder(given);
    expect(order.slice(0, 3)).toEqual(['c33', 'c20', 'c0']);
    const { at } = layout({ hops: given.nodes, edges: given.edges }, order);
    expect(at['w-c33']?.y).toBe(0);
    expect(at['w-c20']?.y).toBe(step);
    expect(at['b']?.y).toBe(2 * step);
  });

  it('leaves no room for hops that are not there', () => {
    const { at, width } = layout({ hops: [{ id: 't', kind: 'template', label: 't', state: 'ok' }, { id: 'w', kind: 'work', label: 'w', state: 'ok' }], edges: [{ from: 't', to: 'w' }] });
    expect([at['t']?.x, at['w']?.x]).toEqual([0, size.width + size.gapX]);
    expect(width).toBe(2 * size.width + size.gapX);
    expect(layout({ hops: [], edges: [] }).at).toEqual({});
  });
});

describe('fold', () => {
  const many = (n: number, state: NodeState, prefix: string): [string, NodeState][] => Array.from({ length: n }, (_, i) => [`${prefix}${i}`, state]);

  it('draws what fits as it is', () => {
    const given = topology([['a', 'ok'], ['b', 'ok']]);
    expect(fold(given).hops).toEqual(given.nodes);
  });

  it('draws clusters that stand alike as one, the well first, and leaves the broken hop alone', () => {
    const given = topology([...many(300, 'ok', 'ok'), ...many(8, 'progressing', 'busy'), ['bad', 'failed']]);
    const { hops, edges } = fold(given);
    const folded = hops.filter((hop) => hop.folded);
    expect(folded.map((hop) => [hop.kind, hop.state, hop.folded?.length])).toEqual([['work', 'ok', 300], ['object', 'ok', 300], ['pods', 'ok', 300]]);
    expect(hops).toHaveLength(3 + 3 + 8 * 3 + 3);
    expect(hops.some((hop) => hop.id === given.broken)).toBe(true);
    for (const edge of edges) for (const end of [edge.from, edge.to]) expect(hops.some((hop) => hop.id === end), end).toBe(true);
    expect(edges.filter((edge) => edge.to === folded[0]?.id)).toHaveLength(1);
  });

  it('folds even the failed ones when there are too many of them', () => {
    const given = topology([...many(200, 'ok', 'ok'), ...many(200, 'failed', 'bad')]);
    const { hops } = fold(given);
    expect(hops.length).toBeLessThanOrEqual(200);
    expect(hops.filter((hop) => hop.folded).map((hop) => hop.folded?.length)).toEqual([200, 200, 200, 199, 199, 199]);
    expect(hops.find((hop) => hop.id === 'd-bad0')?.folded).toBeUndefined();
  });
});

it('names the worst of several states', () => {
  expect(worstOf(['ok', 'progressing', 'missing'])).toBe('missing');
  expect(worstOf([])).toBe('ok');
});
