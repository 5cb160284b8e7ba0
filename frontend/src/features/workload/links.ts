/** Where the names on these pages lead. */
import { paths } from '@/app/paths';
import type { ObjectRef, PolicyResource } from './types';

const policyResources: Record<string, PolicyResource> = {
  PropagationPolicy: 'propagationpolicies', ClusterPropagationPolicy: 'clusterpropagationpolicies',
  OverridePolicy: 'overridepolicies', ClusterOverridePolicy: 'clusteroverridepolicies',
};
const executionSpace = 'karmada-es-';

/** The page of an object, where the dashboard has one. */
export function hrefOf(ref: ObjectRef | undefined, cluster?: string): string | undefined {
  if (!ref) return undefined;
  const resource = policyResources[ref.kind];
  if (resource) return paths.policy({ ...ref, resource });
  if (ref.kind === 'Cluster') return paths.cluster(ref.name);
  // A Work is on its cluster's page, and so is what the Work put there.
  if (ref.kind === 'Work' && ref.namespace?.startsWith(executionSpace)) return `${paths.cluster(ref.namespace.slice(executionSpace.length))}?tab=works`;
  return cluster ? paths.cluster(cluster) : undefined;
}
