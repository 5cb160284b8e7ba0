import type { Tone } from '@/shared/ui/StateMark';
import type { EffectItem, EffectState } from './types';

export const effectStates: readonly EffectState[] = ['applied', 'pending', 'suspended', 'failed'];

export const effectTones: Record<EffectState, Tone> = { applied: 'ok', pending: 'busy', suspended: 'leaving', failed: 'bad' };

/** What is applied but does not do its job yet is not well. */
export function toneOf({ state, health }: EffectItem['clusters'][number]): Tone {
  return state === 'applied' && health === 'Unhealthy' ? 'warn' : effectTones[state];
}

const rank: Record<EffectState, number> = { failed: 0, suspended: 1, pending: 2, applied: 3 };

/** The clusters with what needs a look first, then by name. */
export function worstFirst(clusters: EffectItem['clusters']): EffectItem['clusters'] {
  return clusters.toSorted((a, b) => rank[a.state] - rank[b.state] || a.name.localeCompare(b.name));
}
