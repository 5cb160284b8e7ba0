import type { Tone } from '@/shared/ui/StateMark';
import type { EffectItem, EffectState } from './types';

export const effectStates: readonly EffectState[] = ['applied', 'pending', 'suspended', 'failed'];

export const effectTones: Record<EffectState, Tone> = { applied: 'ok', pending: 'busy', suspended: 'leaving', failed: 'bad' };

const rank: Record<EffectState, number> = { failed: 0, suspended: 1, pending: 2, applied: 3 };

/** The clusters with what needs a look first, then by name. */
export function worstFirst(clusters: EffectItem['clusters']): EffectItem['clusters'] {
  return clusters.toSorted((a, b) => rank[a.state] - rank[b.state] || a.name.localeCompare(b.name));
}
