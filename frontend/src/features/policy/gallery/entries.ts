/** The starting points: twelve small policies, made to fit the fleet at hand as far as it allows. */
import { stringify } from 'yaml';
import type { Cluster } from '@/api/model';
import type { ObjectAt } from '@/app/paths';
import { dialect } from '@/shared/yaml/parse';
import { apiVersion, kinds } from '../kinds';
import type { PolicyKind } from '../types';
import type { PolicyWords } from '../words.en';

export type EntryKey = keyof PolicyWords['entries'];

/** What of the fleet the examples name, as YAML writes it: a cluster may be called 1e3. */
export interface Fleet {
  names: [first: string, second: string];
  regions: string[];
}

export interface Entry {
  key: EntryKey;
  resource: PolicyKind;
  yaml: (fleet: Fleet) => string;
}

const scalar = (text: string) => stringify(text, dialect).trimEnd();

export function fleetOf(clusters: readonly Pick<Cluster, 'name' | 'region' | 'state'>[]): Fleet {
  const usable = clusters.filter((cluster) => cluster.state === 'ready' || cluster.state === 'degraded');
  const [first = 'cluster1', second = 'cluster2'] = (usable.length > 0 ? usable : clusters).map((cluster) => cluster.name);
  const regions = new Set(clusters.flatMap((cluster) => (cluster.region ? [cluster.region] : [])));
  return { names: [scalar(first), scalar(second)], regions: [...regions].sort().map(scalar) };
}

const head = (resource: PolicyKind, name: string) => {
  const facts = kinds.find((kind) => kind.resource === resource);
  return `apiVersion: ${apiVersion}\nkind: ${facts?.kind}\nmetadata:\n  name: ${name}\n${facts?.namespaced ? '  namespace: default\n' : ''}`;
};
const deployments = '  resourceSelectors:\n  - apiVersion: apps/v1\n    kind: Deployment\n';
const propagation = (name: string, rest: string) => `${head('propagationpolicies', name)}spec:\n${deployments}${rest}`;

/** A policy that says nothing yet. */
export function blank(resource: PolicyKind): string {
  const rest = resource.includes('override') ? '  resourceSelectors: []\n  overrideRules: []\n' : '  resourceSelectors: []\n';
  return `${head(resource, '""')}spec:\n${rest}`;
}

/** A policy that carries one object to every cluster, named after it. */
export function carrying(resource: PolicyKind, { apiVersion: version, kind, namespace, name }: ObjectAt): string {
  const facts = kinds.find((one) => one.resource === resource);
  const where = facts?.namespaced ? `  namespace: ${scalar(namespace || 'default')}\n` : '';
  const selector = `  - apiVersion: ${version}\n    kind: ${kind}\n    name: ${scalar(name)}\n`;
  const rest = facts?.family === 'override' ? '  overrideRules: []\n' : '  placement: {} # every cluster that serves the kind\n';
  return `apiVersion: ${apiVersion}\nkind: ${facts?.kind}\nmetadata:\n  name: ${scalar(name)}\n${where}spec:\n  resourceSelectors:\n${selector}${rest}`;
}

export const entries: readonly Entry[] = [
  { key: 'everywhere', resource: 'propagationpolicies', yaml: () => propagation('everywhere', '  placement: {} # every cluster that serves the kind\n') },
  {
    key: 'oneCluster', resource: 'propagationpolicies',
    yaml: ({ names }) => propagation('one-cluster', `  placement:\n    clusterAffinity:\n      clusterNames:\n      - ${names[0]}\n`),
  },
  {
    key: 'primaryBackup', resource: 'propagationpolicies',
    yaml: ({ names }) => propagation('primary-and-backup', `  placement:
    # Tried in this order; the first group that fits is used whole.
    clusterAffinities:
    - affinityName: primary
      clusterNames:
      - ${names[0]}
    - affinityName: backup
      clusterNames:
      - ${names[1]}
`),
  },
  {
    key: 'spreadZones', resource: 'propagationpolicies',
    yaml: () => propagation('spread-by-zone', `  placement:
    spreadConstraints:
    - spreadByField: region
      minGroups: 2
      maxGroups: 2
    # Clusters that do not say their zone are left out. A zone cannot be spread over without region or cluster.
    - spreadByField: zone
      minGroups: 2
      maxGroups: 4
    # Without maxGroups no cluster would be chosen.
    - spreadByField: cluster
      minGroups: 2
      maxGroups: 4
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        dynamicWeight: AvailableReplicas
`),
  },
  {
    key: 'divideByWeight', resource: 'propagationpolicies',
    yaml: ({ names }) => propagation('by-weight', `  placement:
    clusterAffinity:
      clusterNames:
      - ${names[0]}
      - ${names[1]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - targetCluster:
            clusterNames:
            - ${names[0]}
          weight: 1
        - targetCluster:
            clusterNames:
            - ${names[1]}
          weight: 3 # three replicas here for each one there
`),
  },
  {
    key: 'byCapacity', resource: 'propagationpolicies',
    yaml: () => propagation('by-capacity', `  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        dynamicWeight: AvailableReplicas
`),
  },
  {
    key: 'canary', resource: 'propagationpolicies',
    yaml: () => propagation('canary', `  placement:
    clusterAffinity:
      # Give a cluster this label on its page.
      labelSelector:
        matchLabels:
          canary: "true"
`),
  },
  { key: 'withDependencies', resource: 'propagationpolicies', yaml: () => propagation('with-dependencies', '  # ConfigMaps, Secrets and the like that the pods refer to.\n  propagateDeps: true\n') },
  {
    key: 'suspended', resource: 'propagationpolicies',
    yaml: () => propagation('suspended', '  # Take this away to release it, or name clusters that wait in dispatchingOnClusters.\n  suspension:\n    dispatching: true\n'),
  },
  {
    key: 'registryMirror', resource: 'clusteroverridepolicies',
    yaml: ({ regions }) => `${head('clusteroverridepolicies', 'registry-mirror')}spec:
  # No resourceSelectors: whatever has images.
  overrideRules:
  - targetCluster:
      fieldSelector:
        matchExpressions:
        - key: region
          operator: In
          values:
          - ${regions[0] ?? 'eu'}
    overriders:
      imageOverrider:
      - component: Registry
        operator: replace
        value: mirror.example.com
`,
  },
  {
    key: 'imageTag', resource: 'overridepolicies',
    yaml: ({ names }) => `${head('overridepolicies', 'image-tag')}spec:
${deployments}  overrideRules:
  - targetCluster:
      clusterNames:
      - ${names[0]}
    overriders:
      imageOverrider:
      - component: Tag
        operator: replace
        value: "1.20"
`,
  },
  {
    key: 'extraLabel', resource: 'overridepolicies',
    yaml: ({ names }) => `${head('overridepolicies', 'extra-label')}spec:
${deployments}  overrideRules:
  - targetCluster:
      clusterNames:
      - ${names[0]}
    overriders:
      labelsOverrider:
      - operator: add
        value:
          site: ${names[0]}
`,
  },
];

export function entryOf(key: string | null): Entry | undefined {
  return entries.find((entry) => entry.key === key);
}
