import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { del, post } from '@/api/client';
import { liveList, liveOne, queryClient } from '@/api/hub';
import type { ApprovalRule, BulkDecision, BulkOutcome, NewOnboarding, NewRule, Onboarded, Page, WaitingRow } from '@/api/model';

const path = (cluster: string) => `/waiting/${encodeURIComponent(cluster)}`;

export function waitingList(state: string, q: string) {
  return liveList<Page<WaitingRow>>('waiting', '/waiting', { state, q });
}

/** One cluster, also before it has introduced itself. */
export function waitingRow(cluster: string) {
  return queryOptions(liveOne<WaitingRow, WaitingRow>('waiting', cluster, path(cluster), {}));
}

/** What somebody decides about one cluster or several. */
export interface Decision {
  action: BulkDecision['action'];
  rows: WaitingRow[];
  /** The one request that is meant; without it the hub takes the newest. */
  request?: string;
  reason?: string;
}

const refresh = () => queryClient.invalidateQueries({ queryKey: ['waiting'] });

async function decideOne({ action, rows: [row], request, reason }: Decision): Promise<BulkOutcome[]> {
  if (!row) return [];
  const at = path(row.cluster);
  if (action === 'deny') await post(`${at}/deny`, { reason: reason || undefined });
  if (action === 'approve' || (action === 'approve-and-accept' && row.certificate === 'pending')) await post(`${at}/approve`, request ? { requests: [request] } : {});
  if (action === 'accept' || (action === 'approve-and-accept' && !row.accepted)) await post(`${at}/accept`);
  return [{ cluster: row.cluster, ok: true }];
}

/** Of several, each is answered by itself. */
export const decide = mutationOptions({
  mutationFn: (decision: Decision) => (decision.rows.length === 1
    ? decideOne(decision)
    : post<BulkOutcome[]>('/waiting/bulk', { action: decision.action, clusters: decision.rows.map((row) => row.cluster) })),
  onSettled: refresh,
});

/** Where the agents of a cluster run. */
export type Mode = NonNullable<NewOnboarding['mode']>;
export const modes: readonly Mode[] = ['default', 'singleton', 'hosted'];

/** The commands with their token, as long as the page lives: the hub shows it once, and no storage is a place for it. */
const made = new Map<string, Onboarded & { request: NewOnboarding; at: string }>();

export function madeFor(cluster: string) {
  return made.get(cluster);
}

export const introduce = mutationOptions({
  gcTime: 0, // the answer is remembered by us, not by the mutation cache
  mutationFn: async (request: NewOnboarding) => {
    const answer = await post<Onboarded>('/onboarding/ocm', request);
    made.set(request.clusterName, { ...answer, request, at: new Date().toISOString() });
    return answer.waitFor;
  },
});

export const ruleList = liveList<Page<ApprovalRule>>('approval-rules', '/approval-rules', {});

const refreshRules = () => queryClient.invalidateQueries({ queryKey: ['approval-rules'] });

export const addRule = mutationOptions({ mutationFn: (rule: NewRule) => post<ApprovalRule>('/approval-rules', rule), onSuccess: refreshRules });

export const removeRule = mutationOptions({ mutationFn: (id: string) => del(`/approval-rules/${encodeURIComponent(id)}`), onSuccess: refreshRules });
