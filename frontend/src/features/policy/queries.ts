import { infiniteQueryOptions, keepPreviousData, mutationOptions, queryOptions } from '@tanstack/react-query';
import { fetchOne } from '@/api/cache';
import { del, get, post, put } from '@/api/client';
import { live, liveList, queryClient } from '@/api/hub';
import type { ClusterPage } from '@/api/model';
import type { PolicyAt } from '@/app/paths';
import type { Filter } from '@/shared/ui/FilterBar';
import { completed, type Schema } from '@/shared/yaml/schema';
import { policyPath } from './kinds';
import type { PolicyDetail, PolicyEffect, PolicyPage, PolicyRow, PolicyWrite, Preview, TemplateRef } from './types';

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['kind', 'namespace'] as const;

export function policyList(filter: Filter, sort: string) {
  return liveList<PolicyPage>('policies', '/policies', { ...filter, sort });
}

/** A policy as it was read, under its row, which live events keep true: the two differ once somebody saves. */
export type HeldPolicy = PolicyRow & { detail: PolicyDetail };

export function isOutdated(held: HeldPolicy): boolean {
  return held.resourceVersion !== held.detail.row.resourceVersion;
}

const outdatedWait = 300;

const added = ['detail'];

/** With `follow` the whole is read again when its row changed, unless it cannot be: one that is gone stays so. The editor does not, it merges. */
export function policyDetail(at: PolicyAt, follow = true) {
  const key = `${at.resource}/${at.namespace || '-'}/${at.name}`;
  return queryOptions({
    queryKey: ['policies', 'one', key] as const,
    queryFn: ({ signal }): Promise<HeldPolicy> => fetchOne(live, 'policies', key, added, async () => {
      const detail = await get<PolicyDetail>(`/policies/${policyPath(at)}`, undefined, signal);
      return { ...detail.row, detail };
    }),
    meta: { adds: added },
    refetchInterval: (query) => (follow && query.state.status === 'success' && query.state.data && isOutdated(query.state.data) ? outdatedWait : false),
  });
}

export function readPolicy(at: PolicyAt): Promise<PolicyDetail> {
  return get<PolicyDetail>(`/policies/${policyPath(at)}`);
}

/** Whether there is a policy of this name; asked of the list, where "no" is an ordinary answer. */
export function policyExists(at: PolicyAt, enabled: boolean) {
  return queryOptions({
    queryKey: ['policies', 'exists', at.resource, at.namespace ?? '-', at.name],
    enabled: enabled && at.name !== '',
    queryFn: async ({ signal }) => {
      const page = await get<PolicyPage>('/policies', { kind: at.resource, namespace: at.namespace || '-', q: at.name, limit: 500 }, signal);
      return page.items.some((row) => row.name === at.name);
    },
    staleTime: 5_000,
  });
}

export function policySchema(resource: string) {
  return queryOptions({
    queryKey: ['policy-schema', resource],
    staleTime: Infinity,
    queryFn: async ({ signal }) => completed(await get<Schema>(`/policies/schema/${resource}`, undefined, signal)),
  });
}

/** The clusters that pickers offer. */
export const fleet = queryOptions({
  queryKey: ['clusters', 'fleet'],
  queryFn: async ({ signal }) => (await get<ClusterPage>('/clusters', { limit: 500 }, signal)).items,
});

/** What the effect of a policy depends on; whoever shows it follows these topics. "effects" says only that something moved. */
const effectTopics = ['policies', 'effects'] as const;

/** What an answer of the scheduler depends on; whoever shows one follows these topics. */
export const previewTopics = ['clusters', 'policies', 'workloads'] as const;

/** What a policy would do, saved or not. The fleet moves: the answer is asked for again when the hub tells of that, or is back. */
export function preview(yaml: string, enabled: boolean, templates?: TemplateRef[]) {
  return queryOptions({
    queryKey: ['policy-preview', yaml, templates],
    enabled: enabled && yaml.trim() !== '',
    queryFn: ({ signal }) => post<Preview>('/policies/preview', { yaml, templates, limit: 10 }, signal),
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 30_000,
    retry: false,
    meta: { follows: previewTopics },
  });
}

/** What the hub says to a write that it does not carry out. */
export function dryRun(at: PolicyAt, write: PolicyWrite, enabled: boolean) {
  return queryOptions({
    queryKey: ['policy-dry-run', policyPath(at), write],
    enabled,
    queryFn: ({ signal }) => put<PolicyDetail>(`/policies/${policyPath(at)}`, write, { dryRun: true }, signal),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
}

export function savePolicy(at: PolicyAt) {
  return mutationOptions({
    mutationFn: (write: PolicyWrite) => put<PolicyDetail>(`/policies/${policyPath(at)}`, write),
    onSuccess: (detail) => queryClient.setQueryData(policyDetail(at).queryKey, { ...detail.row, detail }),
  });
}

export function removePolicy(at: PolicyAt) {
  return mutationOptions({
    mutationFn: () => del<undefined>(`/policies/${policyPath(at)}`, { confirm: at.name }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['policies'] }),
  });
}

/** The effect changes with the workloads that the policy holds, drift in a member among it: it is asked for again when the hub says that one did. */
export function policyEffect(at: PolicyAt) {
  return infiniteQueryOptions({
    queryKey: ['policies', 'effect', policyPath(at)],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<PolicyEffect>(`/policies/${policyPath(at)}/effect`, { cursor: pageParam }, signal),
    getNextPageParam: (last) => last.items.next || undefined,
    staleTime: 0,
    meta: { follows: effectTopics },
  });
}
