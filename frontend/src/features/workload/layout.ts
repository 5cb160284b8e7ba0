/** Where the hops of a topology stand: a column a kind, a row a cluster, whoever leads to several in the middle of the first of them. */
import { groupBy } from './group';
import type { NodeKind, NodeState, Topology, TopologyNode } from './types';

export const columns: readonly NodeKind[] = ['policy', 'template', 'binding', 'work', 'object', 'pods'];

export const size = { width: 172, height: 70, gapX: 28, gapY: 16 };

/** A hop as it is drawn; `folded` names the clusters of hops that are alike and drawn as one. */
export interface Hop extends TopologyNode {
  folded?: string[];
}

export interface Graph {
  hops: Hop[];
  edges: { from: string; to: string }[];
}

export interface Placed extends Graph {
  at: Record<string, { x: number; y: number }>;
  width: number;
  height: number;
}

/** How many rows below its first follower a hop stands at most: the beginning of a long graph shows where it comes from. */
const reach = 2;

/** Which state to name when several stand for one. */
const worst: readonly NodeState[] = ['failed', 'missing', 'pending', 'progressing', 'ok'];

export function worstOf(states: readonly NodeState[]): NodeState {
  return worst.find((state) => states.includes(state)) ?? 'ok';
}

/** The clusters that need a look first, the broken one before all; the others by name. */
export function clusterOrder(topology: Topology): string[] {
  const ranks = new Map<string, number>();
  for (const node of topology.nodes) {
    if (!node.cluster) continue;
    const rank = node.id === topology.broken ? -1 : worst.indexOf(node.state);
    ranks.set(node.cluster, Math.min(rank, ranks.get(node.cluster) ?? rank));
  }
  return [...ranks].toSorted(([a, x], [b, y]) => x - y || a.localeCompare(b)).map(([name]) => name);
}

/** Puts hops of clusters into the order given; before them those of the hub, behind them those it does not name, and last those drawn as one. */
export function byOrder(order: readonly string[]): (a: Hop | undefined, b: Hop | undefined) => number {
  const places = new Map(order.map((name, index) => [name, index]));
  const place = (hop: Hop | undefined) => (hop?.folded ? Infinity : hop?.cluster ? places.get(hop.cluster) ?? order.length : -1);
  return (a, b) => (place(a) === place(b) ? 0 : place(a) - place(b));
}

/** Lays the graph out in columns, without any that would be empty, the clusters in the order given. */
export function layout(graph: Graph, order: readonly string[] = []): Placed {
  const used = columns.filter((kind) => graph.hops.some((hop) => hop.kind === kind));
  const hops = new Map(graph.hops.map((hop) => [hop.id, hop]));
  const compare = byOrder(order);
  const edges = graph.edges.toSorted((a, b) => compare(hops.get(a.to), hops.get(b.to)));
  const next = groupBy(edges, (edge) => edge.from);
  const rows = new Map<string, number>();
  let free = 0;

  const place = (id: string): number => {
    const known = rows.get(id);
    if (known !== undefined) return known;
    rows.set(id, free); // for graphs that go round
    const inner = (next.get(id) ?? []).filter((edge) => !rows.has(edge.to)).map((edge) => place(edge.to));
    const [first = 0, last = first] = [inner[0], inner.at(-1)];
    const row = inner.length > 0 ? Math.min((first + last) / 2, first + reach) : free++;
    rows.set(id, row);
    return row;
  };
  const reached = new Set(graph.edges.map((edge) => edge.to));
  const ordered = graph.hops.toSorted((a, b) => columns.indexOf(a.kind) - columns.indexOf(b.kind) || compare(a, b));
  for (const hop of ordered) if (!reached.has(hop.id)) place(hop.id);
  for (const hop of ordered) place(hop.id);
  spread(ordered, rows);

  const at = Object.fromEntries(graph.hops.map((hop) => [hop.id, {
    x: used.indexOf(hop.kind) * (size.width + size.gapX),
    y: (rows.get(hop.id) ?? 0) * (size.height + size.gapY),
  }]));
  const bottom = Math.max(0, ...rows.values());
  return { ...graph, at, width: used.length * (size.width + size.gapX) - size.gapX, height: (bottom + 1) * (size.height + size.gapY) - size.gapY };
}

/** Two hops of a column never overlap. */
function spread(ordered: readonly Hop[], rows: Map<string, number>): void {
  for (const kind of columns) {
    let least = -Infinity;
    const column = ordered.filter((hop) => hop.kind === kind).toSorted((a, b) => (rows.get(a.id) ?? 0) - (rows.get(b.id) ?? 0));
    for (const hop of column) {
      const row = Math.max(rows.get(hop.id) ?? 0, least);
      rows.set(hop.id, row);
      least = row + 1;
    }
  }
}

/** Draws clusters that stand alike as one once there are more hops than can be read: the well first, the broken last. */
export function fold(topology: Topology, most = 200): Graph {
  const plain: Graph = { hops: topology.nodes, edges: topology.edges };
  if (topology.nodes.length <= most) return plain;
  const byCluster = groupBy(topology.nodes.filter((node) => node.cluster), (node) => node.cluster ?? '');
  const broken = topology.nodes.find((node) => node.id === topology.broken)?.cluster;
  // Clusters are alike when every kind of hop in them stands the same; the first broken one stays for itself.
  const alike = groupBy([...byCluster].filter(([name]) => name !== broken), ([, nodes]) => {
    return columns.flatMap((kind) => { const of = nodes.filter((node) => node.kind === kind); return of.length > 0 ? [`${kind}:${worstOf(of.map((node) => node.state))}`] : []; }).join(' ');
  });
  const groups = [...alike].filter(([, members]) => members.length > 1).toSorted(([a], [b]) => severity(a) - severity(b));
  const into = new Map<string, string>();
  const made = new Map<string, Hop>();
  let count = topology.nodes.length;
  for (const [key, members] of groups) {
    if (count <= most) break;
    const nodes = members.flatMap(([, of]) => of);
    const names = members.map(([name]) => name).toSorted((a, b) => a.localeCompare(b));
    for (const [kind, of] of groupBy(nodes, (node) => node.kind)) {
      const id = `fold ${key} ${kind}`;
      made.set(id, { id, kind, label: '', state: worstOf(of.map((node) => node.state)), reason: of.find((node) => node.reason)?.reason, folded: names });
      for (const node of of) into.set(node.id, id);
      count -= of.length - 1;
    }
  }
  const edges = new Map<string, { from: string; to: string }>();
  for (const edge of topology.edges) {
    const [from, to] = [into.get(edge.from) ?? edge.from, into.get(edge.to) ?? edge.to];
    if (from !== to) edges.set(`${from} ${to}`, { from, to });
  }
  return { hops: [...topology.nodes.filter((node) => !into.has(node.id)), ...made.values()], edges: [...edges.values()] };
}

/** How late a group of clusters is folded: those that are well first. */
function severity(key: string): number {
  return worst.length - Math.min(...worst.map((state, rank) => (key.includes(`:${state}`) ? rank : worst.length)));
}
