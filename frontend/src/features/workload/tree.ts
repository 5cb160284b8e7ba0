/** The topology as a table: its hops one under another, each with its depth. */
import { groupBy } from './group';
import { byOrder, columns } from './layout';
import type { Topology, TopologyNode } from './types';

export interface TreeRow {
  node: TopologyNode;
  /** From 1. */
  level: number;
  parent?: string;
  children: number;
}

/** Every hop once, under the first hop that leads to it, the clusters in the order given. */
export function treeRows(topology: Topology, order: readonly string[] = []): TreeRow[] {
  const nodes = new Map(topology.nodes.map((node) => [node.id, node]));
  const compare = byOrder(order);
  const next = groupBy(topology.edges.filter((edge) => nodes.has(edge.from) && nodes.has(edge.to)).toSorted((a, b) => compare(nodes.get(a.to), nodes.get(b.to))), (edge) => edge.from);
  const reached = new Set(topology.edges.filter((edge) => nodes.has(edge.from)).map((edge) => edge.to));
  const rows: TreeRow[] = [];
  const seen = new Set<string>();
  const add = (id: string, level: number, parent?: string) => {
    const node = nodes.get(id);
    if (!node || seen.has(id)) return;
    seen.add(id);
    const row: TreeRow = { node, level, parent, children: 0 };
    rows.push(row);
    for (const edge of next.get(id) ?? []) {
      if (seen.has(edge.to)) continue;
      row.children++;
      add(edge.to, level + 1, id);
    }
  };
  const ordered = topology.nodes.toSorted((a, b) => columns.indexOf(a.kind) - columns.indexOf(b.kind));
  for (const node of ordered) if (!reached.has(node.id)) add(node.id, 1);
  for (const node of ordered) add(node.id, 1);
  return rows;
}

/** The hops above one, from its parent up. */
export function above(rows: readonly TreeRow[], id: string | undefined): string[] {
  const parents = new Map(rows.map((row) => [row.node.id, row.parent]));
  const ids: string[] = [];
  for (let at = id === undefined ? undefined : parents.get(id); at !== undefined; at = parents.get(at)) ids.push(at);
  return ids;
}

/** What is closed at first: nothing while it is short; of a long one the works of clusters where all is well. */
export function closedAtFirst(rows: readonly TreeRow[], broken: string | undefined, most = 60): Set<string> {
  if (rows.length <= most) return new Set();
  const unwell = new Set(rows.filter((row) => row.node.state !== 'ok').flatMap((row) => above(rows, row.node.id)));
  for (const id of above(rows, broken)) unwell.add(id);
  return new Set(rows.filter((row) => row.children > 0 && row.node.cluster && !unwell.has(row.node.id)).map((row) => row.node.id));
}

/** The rows that no closed row hides. */
export function openRows(rows: readonly TreeRow[], closed: ReadonlySet<string>): TreeRow[] {
  const open: TreeRow[] = [];
  let hiddenBelow = Infinity;
  for (const row of rows) {
    if (row.level > hiddenBelow) continue;
    hiddenBelow = closed.has(row.node.id) ? row.level : Infinity;
    open.push(row);
  }
  return open;
}
