import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, get, post, put } from '@/api/client';
import { liveList } from '@/api/hub';
import type { ClusterSet, NewClusterSet, Page, Placement, PlacementDetail } from '@/api/model';
import type { Filter } from '@/shared/ui/FilterBar';

const setPath = (set: string) => `/cluster-sets/${encodeURIComponent(set)}`;
const bindingPath = ({ set, namespace }: Binding) => `${setPath(set)}/bindings/${encodeURIComponent(namespace)}`;

export interface Binding {
  set: string;
  namespace: string;
}

export const setList = liveList<Page<ClusterSet>>('cluster-sets', '/cluster-sets', {});

export const createSet = mutationOptions({ mutationFn: (set: NewClusterSet) => post<ClusterSet>('/cluster-sets', set) });
export const deleteSet = mutationOptions({ mutationFn: (name: string) => del<undefined>(setPath(name), { confirm: name }) });
export const bindSet = mutationOptions({ mutationFn: (binding: Binding) => put<undefined>(bindingPath(binding), {}) });
export const unbindSet = mutationOptions({ mutationFn: (binding: Binding) => del<undefined>(bindingPath(binding)) });

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['namespace', 'state'] as const;

export function placementList(filter: Filter, sort: string) {
  return liveList<Page<Placement>>('placements', '/placements', { ...filter, sort });
}

/** A cluster's labels and claims, and the sets, may change what is said of a placement, without a word about it. */
const detailTopics = ['placements', 'managed-clusters', 'cluster-sets'];

/** One placement; what left a cluster out may change with any cluster, so that it is asked for again whenever anything does. */
export function placementDetail(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['placements', 'count', namespace, name], staleTime: 0, meta: { follows: detailTopics },
    queryFn: ({ signal }) => get<PlacementDetail>(`/placements/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`, undefined, signal),
  });
}
