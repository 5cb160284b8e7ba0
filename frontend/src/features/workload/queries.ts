import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { get } from '@/api/client';
import { liveList, liveOne } from '@/api/hub';
import type { Filter } from '@/shared/ui/FilterBar';
import type { OverrideDiff, PodsAnswer, WorkloadDetail, WorkloadList } from './types';

/** A workload as addresses name it: "core" for the group without a name, "-" for no namespace. */
export interface WorkloadKey {
  group: string;
  version: string;
  kind: string;
  namespace: string;
  name: string;
}

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['namespace', 'kind', 'policy', 'cluster', 'state'] as const;

const parts = ({ group, version, kind, namespace, name }: WorkloadKey) => [group, version, kind, namespace, name];
/** The path of a workload in the API. */
export const path = (key: WorkloadKey) => `/workloads/${parts(key).map(encodeURIComponent).join('/')}`;

/** The id that the hub gives a workload. */
export const idOf = (key: WorkloadKey) => parts(key).join('/');

/** The topic of one workload. */
export const topicOf = (key: WorkloadKey) => `workloads/${idOf(key)}`;

export function workloadList(filter: Filter, all: boolean, sort: string) {
  return liveList<WorkloadList>('workloads', '/workloads', { ...filter, all, sort });
}

export function workloadDetail(key: WorkloadKey) {
  return queryOptions(liveOne<WorkloadDetail, WorkloadDetail>('workloads', idOf(key), path(key), {}, { topic: topicOf(key) }));
}

/** For how long the hub gives others the same answer about pods. */
const podsShared = 5_000;

/**
 * The pods of a workload in one cluster, which the hub asks the member for. They are asked for again when `version` changes,
 * which is what the hub knows of the workload there; and once more after an answer that somebody got shortly before.
 */
export function workloadPods(key: WorkloadKey, cluster: string, version: string) {
  return queryOptions({
    queryKey: ['workloads', 'pods', idOf(key), cluster, version] as const,
    queryFn: ({ signal }) => get<PodsAnswer>(`${path(key)}/pods`, { cluster }, signal),
    staleTime: podsShared,
    refetchInterval: ({ state }) => (state.data?.shared ? podsShared : false),
    placeholderData: (before, query) => (query?.queryKey[2] === idOf(key) && query.queryKey[3] === cluster ? before : undefined),
  });
}

/**
 * The manifests of one cluster or two, beside the template. The second word of the key has every change of a policy ask
 * again; a change of the template or of its placement does so by `version`.
 */
export function overrideDiff(key: WorkloadKey, cluster: string, against: string, version: string) {
  return queryOptions({
    queryKey: ['policies', 'count', 'diff', idOf(key), cluster, against, version] as const,
    queryFn: ({ signal }) => get<OverrideDiff>(`${path(key)}/diff`, { cluster, against }, signal),
    placeholderData: keepPreviousData,
  });
}
