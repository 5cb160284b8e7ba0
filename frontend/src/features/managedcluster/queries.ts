import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, get, patch } from '@/api/client';
import { type Adds, liveList, liveOne, queryClient } from '@/api/hub';
import type { AuditEntry, ClusterSet, ManagedChange, ManagedCluster, ManagedDetail, ManagedPage, ManagedRemovalPlan, ManifestWorkDetail, ManifestWorkPage, Page } from '@/api/model';
import type { Filter } from '@/shared/ui/FilterBar';

const noun = 'managed-clusters';
const path = (name: string) => `/managed-clusters/${encodeURIComponent(name)}`;

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['state', 'set', 'dialect', 'label'] as const;

export function managedList(filter: Filter, sort: string) {
  return liveList<ManagedPage>(noun, '/managed-clusters', { ...filter, sort });
}

/** The topic that says when something of one cluster's page moved: its lease, its certificate requests, what its removal waits for. */
export const detailTopic = (name: string) => `${noun}/${name}`;

const adds: Adds<ManagedDetail, ManagedCluster> = {
  conditions: true, claims: true, capacity: true, allocatable: true, leaseSeconds: true, lease: true, certificateRequests: true, managedNamespaces: true,
};

export function managedDetail(name: string) {
  return queryOptions(liveOne<ManagedDetail, ManagedCluster>(noun, name, path(name), adds, { follows: [detailTopic(name)] }));
}

export function changeManaged(name: string) {
  return mutationOptions({
    mutationFn: (change: ManagedChange) => patch<ManagedCluster>(path(name), change),
    onSuccess: (row) => queryClient.setQueryData(managedDetail(name).queryKey, (held: ManagedDetail | undefined) => held && { ...held, ...row }),
  });
}

/** The topic of one cluster's ManifestWorks. */
export const worksTopic = (name: string) => `manifest-works/${name}`;

/** The ManifestWorks of one cluster; asked for again a moment after their topic says anything. */
export function workList(name: string, state: string) {
  const options = liveList<ManifestWorkPage>(worksTopic(name), `${path(name)}/works`, state ? { state } : {});
  return { ...options, queryKey: ['manifest-works', 'count', name, { state }] as unknown as typeof options.queryKey, staleTime: 0 };
}

export function workDetail(name: string, work: string) {
  return queryOptions({
    queryKey: ['manifest-works', 'count', name, 'one', work], staleTime: 0,
    queryFn: ({ signal }) => get<ManifestWorkDetail>(`${path(name)}/works/${encodeURIComponent(work)}`, undefined, signal),
  });
}

/** Deletes a work. What becomes of its objects is said by itself; the hub refuses for one that a replica set would make again. */
export function deleteWork(name: string, work: string) {
  return mutationOptions({
    mutationFn: () => del(`${path(name)}/works/${encodeURIComponent(work)}`, { confirm: work }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['manifest-works', 'count', name] }),
  });
}

/** What the audit knows of one ManagedCluster; the audit's own topic keeps it true. */
export function managedHistory(name: string) {
  return { ...liveList<Page<AuditEntry>>('audit', `${path(name)}/history`, {}), staleTime: 0 };
}

/** The names of all sets, to move a cluster to. */
export const setNames = queryOptions({
  queryKey: ['cluster-sets', 'count', 'names'],
  queryFn: async ({ signal }) => (await get<Page<ClusterSet>>('/cluster-sets', { limit: 500 }, signal)).items.filter((set) => set.type === 'ExclusiveClusterSetLabel').map((set) => set.name),
});

export function removalPlan(name: string) {
  return queryOptions({ queryKey: ['managed-removal', name], staleTime: 0, gcTime: 0, meta: { follows: [detailTopic(name)] }, queryFn: ({ signal }) => get<ManagedRemovalPlan>(`${path(name)}/removal`, undefined, signal) });
}

export function removeManaged(name: string) {
  return mutationOptions({
    mutationFn: () => del<ManagedCluster>(path(name), { confirm: name }),
    onSuccess: (row) => queryClient.setQueryData(managedDetail(name).queryKey, (held: ManagedDetail | undefined) => held && row && { ...held, ...row }),
  });
}
