import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, post, put } from '@/api/client';
import { queryClient } from '@/api/hub';
import { path, type WorkloadKey } from '../queries';
import type { WorkloadChange, WorkloadWritten } from '../types';

/** Makes the object, or changes the saved one. */
function write(saved: WorkloadKey | undefined, { yaml, base, force }: WorkloadChange, dryRun: boolean, signal?: AbortSignal): Promise<WorkloadWritten> {
  const query = dryRun ? '?dryRun=true' : '';
  return saved ? put<WorkloadWritten>(path(saved) + query, { yaml, base, force }, undefined, signal) : post<WorkloadWritten>(`/workloads${query}`, { yaml }, signal);
}

/** What the hub says to a write that it does not carry out. */
export function trial(saved: WorkloadKey | undefined, change: WorkloadChange, enabled: boolean) {
  return queryOptions({
    queryKey: ['workload-trial', saved ?? null, change],
    enabled,
    queryFn: ({ signal }) => write(saved, change, true, signal),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
}

export function save(saved: WorkloadKey | undefined) {
  return mutationOptions({
    mutationFn: (change: WorkloadChange) => write(saved, change, false),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['workloads'] }),
  });
}

export function remove(at: WorkloadKey) {
  return mutationOptions({
    mutationFn: () => del<undefined>(path(at), { confirm: at.name }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['workloads', 'list'] }),
  });
}
