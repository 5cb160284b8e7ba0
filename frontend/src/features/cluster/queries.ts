import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, get, patch } from '@/api/client';
import { liveList, liveOne, queryClient } from '@/api/hub';
import type { LiveEvent } from '@/api/live';
import type { AuditEntry, Cluster, ClusterChange, ClusterDetail, ClusterPage, Page, RemovalPlan, Work } from '@/api/model';
import type { Filter } from '@/shared/ui/FilterBar';

const path = (name: string) => `/clusters/${encodeURIComponent(name)}`;

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['state', 'dialect', 'mode', 'region', 'provider', 'label'] as const;

export function clusterList(filter: Filter, sort: string) {
  return liveList<ClusterPage>('clusters', '/clusters', { ...filter, sort });
}

export function clusterDetail(name: string) {
  return queryOptions(liveOne<ClusterDetail, Cluster>('clusters', name, path(name), { apiEnablements: true, works: true }));
}

export function changeCluster(name: string) {
  return mutationOptions({
    mutationFn: (change: ClusterChange) => patch<Cluster>(path(name), change),
    onSuccess: (row) => queryClient.setQueryData(clusterDetail(name).queryKey, (held: ClusterDetail | undefined) => held && { ...held, ...row }),
  });
}

/** The topic of one cluster's works. */
export const worksTopic = (name: string) => `works/${name}`;

/**
 * The works of one cluster. The cache patches the lists of whole topics row by row; this one is asked for again, half a
 * second after the first thing that its topic says, which the second word of the key stands for.
 */
export function workList(name: string) {
  const options = liveList<Page<Work>>(worksTopic(name), `${path(name)}/works`, {});
  return { ...options, queryKey: ['works', 'count', name, {}] as unknown as typeof options.queryKey, staleTime: 0 };
}

/** What the audit knows of one cluster; the audit's own topic keeps it true. */
export function clusterHistory(name: string) {
  return { ...liveList<Page<AuditEntry>>('audit', `${path(name)}/history`, {}), staleTime: 0 };
}

/** How many of the announced entries are of this cluster and not shown yet: the topic tells of everything. */
export function announced(name: string, events: readonly LiveEvent[], shown: readonly AuditEntry[]): number {
  const known = new Set(shown.map((entry) => entry.id));
  const mine = events.filter((event) => event.op === 'upsert' && !known.has(event.key) && concerns(event.row as Partial<AuditEntry>, name));
  return new Set(mine.map((event) => event.key)).size;
}

function concerns(entry: Partial<AuditEntry>, name: string): boolean {
  return entry.kind === 'Cluster' && entry.name === name;
}

/** What keeps a cluster is told by topics of its own: the works that the hub or others put into it. The cluster's row says the rest. */
export const removalTopics = (name: string) => [worksTopic(name), `manifest-works/${name}`] as const;

export function removalPlan(name: string) {
  return queryOptions({ queryKey: ['removal', name], staleTime: 0, gcTime: 0, meta: { follows: ['clusters', ...removalTopics(name)] }, queryFn: ({ signal }) => get<RemovalPlan>(`${path(name)}/removal`, undefined, signal) });
}

export function removeCluster(name: string) {
  return mutationOptions({
    mutationFn: (force: boolean) => del<Cluster>(path(name), { confirm: name, force }),
    onSuccess: (row) => queryClient.setQueryData(clusterDetail(name).queryKey, (held: ClusterDetail | undefined) => held && row && { ...held, ...row }),
  });
}
