/** The shapes of /policies and of the preview, named as the API names them. */
import type { Page } from '@/api/model';

export type PolicyKind = 'propagationpolicies' | 'clusterpropagationpolicies' | 'overridepolicies' | 'clusteroverridepolicies';

export interface SelectorText {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name?: string;
  labelSelector?: string;
}

export interface PolicyRow {
  /** In CamelCase, as in the manifest. */
  kind: string;
  resource: PolicyKind;
  namespace?: string;
  name: string;
  uid: string;
  priority?: number;
  selectors: SelectorText[];
  /** The names in the affinity. */
  clusters?: string[];
  /** The rest of the affinity in a few words. */
  affinity?: string;
  replicas: 'duplicated' | 'divided' | '';
  suspended: boolean;
  lazy: boolean;
  /** How many rules an override policy has. */
  rules?: number;
  createdAt: string;
  resourceVersion: string;
  generation: number;
  removing: boolean;
}

export type PolicyPage = Page<PolicyRow>;

export interface Manager {
  manager: string;
  operation: string;
  at: string;
}

export interface PolicyDetail {
  row: PolicyRow;
  manifest: Record<string, unknown>;
  yaml: string;
  managers: Manager[];
}

export interface PolicyWrite {
  yaml: string;
  resourceVersion?: string;
  force?: boolean;
}

export interface FieldProblem {
  field: string;
  message: string;
}

export interface TemplateRef {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}

export interface PolicyRef {
  kind: string;
  namespace?: string;
  name: string;
}

export interface ChosenCluster {
  name: string;
  replicas?: number;
  now?: number | null;
  change: 'new' | 'kept' | 'more' | 'fewer';
}

export interface LeavingCluster {
  name: string;
  replicas?: number;
}

export interface ExcludedCluster {
  name: string;
  filter: string;
  reason: string;
}

/** One place that an override changes, and the rule that does. */
export interface Change {
  policy: PolicyRef;
  /** From 0. */
  rule: number;
  overrider: string;
  /** A JSON pointer. */
  path: string;
  before?: unknown;
  after?: unknown;
}

export interface PreviewItem extends TemplateRef {
  /** The policy that holds it now. */
  current?: PolicyRef;
  takes: boolean;
  why: string;
  /** The same for translation. */
  whyCode?: string;
  whyParams?: Record<string, string>;
  replicas?: number;
  chosen?: ChosenCluster[];
  leaves?: LeavingCluster[];
  excluded?: ExcludedCluster[];
  failure?: { reason: string; message: string; available?: number };
  /** Instead of chosen and excluded, for an override policy. */
  overrides?: { cluster: string; changes: Change[]; error?: string }[];
}

export interface Preview {
  valid: boolean;
  problems: FieldProblem[];
  templates: { matched: number; hidden?: number; items: PreviewItem[] };
  clustersTotal: number;
  tookMillis: number;
}

export type EffectState = 'applied' | 'failed' | 'pending' | 'suspended';

export interface EffectItem extends TemplateRef {
  id: string;
  since?: string;
  clusters: { name: string; state: EffectState; message?: string; driftedAt?: string; health: 'Healthy' | 'Unhealthy' | 'Unknown' }[];
}

export interface PolicyEffect {
  matched: number;
  counts: Record<EffectState | 'drifted', number>;
  items: Page<EffectItem>;
}
