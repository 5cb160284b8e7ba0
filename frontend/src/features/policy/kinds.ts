/** The four kinds of policies: what tells them apart, and where their objects live. */
import type { PolicyKind } from './types';

export type Family = 'propagation' | 'override';

export interface KindFacts {
  resource: PolicyKind;
  kind: string;
  family: Family;
  namespaced: boolean;
}

export const apiVersion = 'policy.karmada.io/v1alpha1';

export const kinds: readonly KindFacts[] = [
  { resource: 'propagationpolicies', kind: 'PropagationPolicy', family: 'propagation', namespaced: true },
  { resource: 'clusterpropagationpolicies', kind: 'ClusterPropagationPolicy', family: 'propagation', namespaced: false },
  { resource: 'overridepolicies', kind: 'OverridePolicy', family: 'override', namespaced: true },
  { resource: 'clusteroverridepolicies', kind: 'ClusterOverridePolicy', family: 'override', namespaced: false },
];

/** The kind of a resource's plural; undefined for what is no policy. */
export function kindOf(resource: string): KindFacts | undefined {
  return kinds.find((facts) => facts.resource === resource);
}

/** The path below /policies of one policy, and the key under which its query is cached. */
export function policyPath(at: { resource: string; namespace?: string; name: string }): string {
  return `${at.resource}/${encodeURIComponent(at.namespace || '-')}/${encodeURIComponent(at.name)}`;
}
