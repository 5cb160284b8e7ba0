/** How states look, and which of several is the one to name. */
import type { Tone } from '@/shared/ui/StateMark';
import type { Fact, NodeState, PlacedCluster, PlacedState, WorkloadRow, WorkloadState } from './types';

/** The states in the order of the counts; what no policy holds is listed on request only. */
export const states = ['ok', 'progressing', 'pending', 'unscheduled', 'failed'] as const satisfies readonly WorkloadState[];

export const tones: Record<WorkloadState, Tone> = { ok: 'ok', progressing: 'busy', pending: 'idle', unscheduled: 'warn', failed: 'bad', unmanaged: 'unknown' };

export const placedTones: Record<PlacedState, Tone> = { ok: 'ok', progressing: 'busy', pending: 'idle', suspended: 'leaving', failed: 'bad' };

export const hopTones: Record<NodeState, Tone> = { ok: 'ok', progressing: 'busy', pending: 'idle', missing: 'unknown', failed: 'bad' };

export const factTones: Record<Fact['level'], Tone> = { ok: 'ok', info: 'idle', warn: 'warn', error: 'bad' };

const rank: Record<PlacedState, number> = { failed: 0, suspended: 1, pending: 2, progressing: 3, ok: 4 };

/** The clusters with what needs a look first, then by name. */
export function worstFirst(clusters: readonly PlacedCluster[]): PlacedCluster[] {
  return clusters.toSorted((a, b) => rank[a.state] - rank[b.state] || a.name.localeCompare(b.name));
}

/** Why a workload is not well: its own reason, and the clusters that say something else. */
export function reasonsOf(row: WorkloadRow): { reason: string; others: PlacedCluster[] } {
  const reason = row.reason ?? '';
  const others = worstFirst(row.clusters).filter((cluster) => cluster.state !== 'ok' && cluster.message && cluster.message !== reason);
  return { reason, others };
}
