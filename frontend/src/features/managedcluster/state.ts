import type { ManagedCluster } from '@/api/model';
import type { Tone } from '@/shared/ui/StateMark';

export type ManagedState = ManagedCluster['state'];

/** The states in the order of the counts. */
export const states: readonly ManagedState[] = ['ready', 'waiting', 'joining', 'unknown', 'failed', 'denied', 'removing'];

export const tones: Record<ManagedState, Tone> = { ready: 'ok', waiting: 'idle', joining: 'busy', unknown: 'unknown', failed: 'bad', denied: 'bad', removing: 'leaving' };

export const outcomeTones = { pending: 'busy', ok: 'ok', denied: 'warn', failed: 'bad', unknown: 'unknown' } as const satisfies Record<string, Tone>;

/** The states of a ManifestWork; a work that is applied is well only once its objects are available. */
export const workStates = ['available', 'applied', 'failed', 'pending'] as const;
export type WorkState = typeof workStates[number];

export const workTones: Record<WorkState, Tone> = { available: 'ok', applied: 'warn', failed: 'bad', pending: 'busy' };

export function workState(work: { applied: string; available: string }): WorkState {
  if (work.applied === 'False') return 'failed';
  if (work.applied !== 'True') return 'pending';
  return work.available === 'True' ? 'available' : 'applied';
}

/** The tone of a condition whose wish is True. */
export function conditionTone(status: string): Tone {
  return status === 'True' ? 'ok' : status === 'False' ? 'bad' : 'unknown';
}
