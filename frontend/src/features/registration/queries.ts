import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, post } from '@/api/client';
import { liveList, liveOne, queryClient } from '@/api/hub';
import type { Cluster, ClusterDetail, Decoded, NewRegistration, Page, Preflight, Registration, RegistrationCreated, RegistrationDetail } from '@/api/model';

const path = (id: string) => `/registrations/${encodeURIComponent(id)}`;

/** The topic of one registration. */
export const topicOf = (id: string) => `registrations/${id}`;

export function registrationList(state: string) {
  return liveList<Page<Registration>>('registrations', '/registrations', { state });
}

export function registrationDetail(id: string) {
  return queryOptions(liveOne<RegistrationDetail, RegistrationDetail>('registrations', id, path(id), {}, { topic: topicOf(id) }));
}

/**
 * The commands with their tokens, as long as the page lives: the hub shows a token once, and neither the address nor the
 * browser's storage is a place for it.
 */
const issued = new Map<string, RegistrationCreated & { request: NewRegistration }>();

export function issuedFor(id: string) {
  return issued.get(id);
}

export const startPull = mutationOptions({
  // The answer is remembered by us, not by the mutation cache.
  gcTime: 0,
  mutationFn: async (request: NewRegistration) => {
    const created = await post<RegistrationCreated>('/registrations', request);
    issued.set(created.registration.id, { ...created, request });
    return created.registration;
  },
  onSuccess: remember,
});

export const startPush = mutationOptions({
  gcTime: 0,
  mutationFn: async (request: NewRegistration) => (await post<RegistrationCreated>('/registrations', request)).registration,
  onSuccess: remember,
});

export const cancelRegistration = mutationOptions({
  mutationFn: (id: string) => del<Registration | undefined>(path(id)),
  onSuccess: (_, id) => {
    issued.delete(id);
    return queryClient.invalidateQueries({ queryKey: ['registrations'] });
  },
});

export const preflight = mutationOptions({
  gcTime: 0,
  mutationFn: (input: { kubeconfig: string; context?: string; name?: string }) => post<Preflight>('/preflight', input),
});

export function decodeOutput(id: string) {
  return mutationOptions({ gcTime: 0, mutationFn: (text: string) => post<Decoded>(`${path(id)}/decode`, { text }) });
}

export function clusterOf(name: string) {
  return queryOptions(liveOne<ClusterDetail, Cluster>('clusters', name, `/clusters/${encodeURIComponent(name)}`, { apiEnablements: true, works: true }));
}

function remember(registration: Registration): Promise<void> {
  queryClient.setQueryData(registrationDetail(registration.id).queryKey, { epoch: '', seq: 0, ...registration });
  return queryClient.invalidateQueries({ queryKey: ['registrations', 'count'] });
}
