/** The five ways to place replicas, as the API writes them. */
import { isObject, valueAt } from '@/shared/yaml/value';
import type { FormWords } from './words.en';

export type Division = keyof FormWords['divisions'];

/** Reads the way; nothing at all means every replica in each cluster, an empty object means evenly. */
export function divisionOf(scheduling: unknown): Division {
  if (!isObject(scheduling) || scheduling['replicaSchedulingType'] === 'Duplicated') return 'duplicated';
  if (scheduling['replicaDivisionPreference'] === 'Aggregated') return 'aggregated';
  if (valueAt(scheduling, ['weightPreference', 'dynamicWeight'])) return 'dynamic';
  return valueAt(scheduling, ['weightPreference', 'staticWeightList']) ? 'static' : 'even';
}

/** Writes the way; undefined where nothing needs to be written. */
export function schedulingOf(division: string, names: readonly string[]): Record<string, unknown> | undefined {
  const weighted = { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' };
  switch (division) {
    case 'even': return weighted;
    case 'aggregated': return { ...weighted, replicaDivisionPreference: 'Aggregated' };
    case 'dynamic': return { ...weighted, weightPreference: { dynamicWeight: 'AvailableReplicas' } };
    case 'static': return { ...weighted, weightPreference: { staticWeightList: [names[0], names[1]].map((name) => ({ targetCluster: name === undefined ? {} : { clusterNames: [name] }, weight: 1 })) } };
    default: return undefined;
  }
}
