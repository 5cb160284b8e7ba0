/** A preview in few figures: what saving the policy does. */
import type { Preview } from './types';

export interface Gains {
  matched: number;
  /** Clusters that get something new or more. */
  gain: number;
  /** Clusters that lose something. */
  lose: number;
  /** Objects that would find no place. */
  unfit: number;
  /** Clusters in which overrides change something. */
  changed: number;
}

export function gainsOf({ templates }: Preview): Gains {
  const net = new Map<string, number>();
  const changed = new Set<string>();
  const add = (cluster: string, by: number) => net.set(cluster, (net.get(cluster) ?? 0) + by);
  let unfit = 0;
  for (const item of templates.items) {
    if (item.takes && item.failure) unfit++;
    for (const { name, change, replicas, now } of item.chosen ?? []) {
      // What has no replicas counts as one thing.
      const by = (replicas ?? 1) - (now ?? 0);
      if (change === 'new' || change === 'more') add(name, Math.max(1, by));
      if (change === 'fewer') add(name, Math.min(-1, by));
    }
    for (const { name, replicas } of item.leaves ?? []) add(name, -(replicas || 1));
    for (const { cluster, changes } of item.overrides ?? []) if (changes.length > 0) changed.add(cluster);
  }
  const values = [...net.values()];
  return { matched: templates.matched, gain: values.filter((by) => by > 0).length, lose: values.filter((by) => by < 0).length, unfit, changed: changed.size };
}
