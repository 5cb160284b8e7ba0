import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { get } from '@/api/client';
import { liveList, liveOne } from '@/api/hub';
import type { Filter } from '@/shared/ui/FilterBar';
import type { OverrideDiff, WorkloadDetail, WorkloadList } from './types';

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
const path = (key: WorkloadKey) => `/workloads/${parts(key).map(encodeURIComponent).join('/')}`;

/** The id that the hub gives a workload. */
export const idOf = (key: WorkloadKey) => parts(key).join('/');

/** The topic of one workload. */
export const topicOf = (key: WorkloadKey) => `workloads/${idOf(key)}`;

export function workloadList(filter: Filter, all: boolean, sort: string) {
  return liveList<WorkloadList>('workloads', '/workloads', { ...filter, all, sort });
}

export function workloadDetail(key: WorkloadKey) {
  return queryOptions(liveOne<WorkloadDetail>('workloads', idOf(key), path(key), topicOf(key)));
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
