import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, get, patch } from '@/api/client';
import { liveList, liveOne, queryClient } from '@/api/hub';
import type { AuditEntry, Cluster, ClusterChange, ClusterDetail, ClusterPage, Page, RemovalPlan, Work } from '@/api/model';
import type { Filter } from '@/shared/ui/FilterBar';

const path = (name: string) => `/clusters/${encodeURIComponent(name)}`;

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['state', 'mode', 'region', 'provider', 'label'] as const;

export function clusterList(filter: Filter, sort: string) {
  return liveList<ClusterPage>('clusters', '/clusters', { ...filter, sort });
}

export function clusterDetail(name: string) {
  return queryOptions(liveOne<ClusterDetail>('clusters', name, path(name)));
}

export function changeCluster(name: string) {
  return mutationOptions({
    mutationFn: (change: ClusterChange) => patch<Cluster>(path(name), change),
    onSuccess: (row) => queryClient.setQueryData(clusterDetail(name).queryKey, (held: ClusterDetail | undefined) => held && { ...held, ...row }),
  });
}

/** Works have no live topic yet: the tab asks again while it is open. */
export function workList(name: string) {
  return { ...liveList<Page<Work>>('works', `${path(name)}/works`, {}), refetchInterval: 10_000, staleTime: 0 };
}

export function clusterHistory(name: string) {
  return { ...liveList<Page<AuditEntry>>('history', `${path(name)}/history`, {}), staleTime: 0 };
}

export function removalPlan(name: string) {
  return queryOptions({ queryKey: ['removal', name], staleTime: 0, gcTime: 0, queryFn: ({ signal }) => get<RemovalPlan>(`${path(name)}/removal`, undefined, signal) });
}

export function removeCluster(name: string) {
  return mutationOptions({
    mutationFn: (force: boolean) => del<Cluster>(path(name), { confirm: name, force }),
    onSuccess: (row) => queryClient.setQueryData(clusterDetail(name).queryKey, (held: ClusterDetail | undefined) => held && row && { ...held, ...row }),
  });
}
