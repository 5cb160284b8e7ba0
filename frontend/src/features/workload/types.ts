/** The shapes of /workloads and the live topics below it, named as the API names them. */
import type { Page } from '@/api/model';

export type PolicyResource = 'propagationpolicies' | 'clusterpropagationpolicies' | 'overridepolicies' | 'clusteroverridepolicies';

/** A policy as a row of another noun names it. */
export interface PolicyRef {
  kind: string;
  resource: PolicyResource;
  namespace?: string;
  name: string;
}

export type WorkloadState = 'ok' | 'progressing' | 'failed' | 'pending' | 'unscheduled' | 'unmanaged';
export type PlacedState = 'ok' | 'progressing' | 'failed' | 'pending' | 'suspended';
export type Health = 'Healthy' | 'Unhealthy' | 'Unknown';

/** How a workload stands in one cluster. */
export interface PlacedCluster {
  name: string;
  /** How many it was given, and how many of them it reports as ready. */
  replicas?: number;
  ready?: number;
  applied: boolean;
  health: Health;
  state: PlacedState;
  message?: string;
}

export interface WorkloadRow {
  /** group/version/kind/namespace/name, as in the path. */
  id: string;
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  policy?: PolicyRef;
  binding?: ObjectRef;
  images: string[];
  replicas?: { wanted: number; ready: number };
  clusters: PlacedCluster[];
  state: WorkloadState;
  /** Why it is not well; code and params are for a wording in the reader's language. */
  reason?: string;
  reasonCode?: string;
  reasonParams?: Record<string, string>;
  createdAt: string;
  resourceVersion: string;
}

/** Of all that fit the filter but for their state. */
export type WorkloadCounts = Record<Exclude<WorkloadState, 'unmanaged'>, number> & { unmanaged?: number };
export type WorkloadList = Page<WorkloadRow> & { counts: WorkloadCounts };

export interface ObjectRef {
  apiVersion?: string;
  kind: string;
  namespace?: string;
  name: string;
}

export interface WorkloadCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** One link of the chain that says why a workload stands as it does. */
export interface Fact {
  level: 'ok' | 'info' | 'warn' | 'error';
  text: string;
  /** What `text` says, for a wording in the reader's language. */
  code?: string;
  params?: Record<string, string | number>;
  at?: string;
  link?: ObjectRef;
}

export interface WorkloadEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  at: string;
  about: string;
}

export type NodeKind = 'policy' | 'template' | 'binding' | 'work' | 'object' | 'pods';
export type NodeState = 'ok' | 'progressing' | 'failed' | 'pending' | 'missing';

export interface TopologyNode {
  id: string;
  kind: NodeKind;
  label: string;
  cluster?: string;
  state: NodeState;
  reason?: string;
  ref?: ObjectRef;
  detail?: Record<string, string>;
}

export interface Topology {
  nodes: TopologyNode[];
  edges: { from: string; to: string }[];
  /** The first broken hop. */
  broken?: string;
}

export interface WorkloadDetail {
  row: WorkloadRow;
  yaml: string;
  scheduled?: WorkloadCondition;
  fullyApplied?: WorkloadCondition;
  facts: Fact[];
  topology: Topology;
  events: WorkloadEvent[];
  epoch?: string;
  seq?: number;
}

/** One changed place of a manifest and the rule that changed it. */
export interface OverrideChange {
  path: string;
  /** Line of the final manifest, from 1; 0 when the change took the line away. */
  line: number;
  before?: unknown;
  after?: unknown;
  policy: PolicyRef;
  /** Position in overrideRules, from 0. */
  rule: number;
  /** The list in the rule, such as imageOverrider; "replicas" for what scheduling by the propagation policy changed. */
  overrider: string;
}

export interface ClusterManifest {
  name: string;
  yaml: string;
  changes: OverrideChange[];
  /** Why the cluster cannot get it; the manifest is then as it is without overrides. */
  error?: string;
}

export interface OverrideDiff {
  /** As it would go without overrides. */
  template: string;
  clusters: ClusterManifest[];
}
