/** The API's shapes of policies, previews and policies in effect, under the names that this feature uses. */
import type { components } from '@/api/schema.gen';

type Schemas = components['schemas'];

export type PolicyRow = Schemas['policy.Row'];
export type PolicyKind = PolicyRow['resource'];
export type PolicyPage = Schemas['httpapi.Page-policy_Row'];
export type PolicyDetail = Schemas['policy.Detail'];
export type PolicyWrite = Schemas['policy.Write'];
export type SelectorText = Schemas['policy.Selector'];
/** A selector that means no object, and why. */
export type Miss = Schemas['policy.Miss'];
export type FieldProblem = Schemas['draft.Problem'];
export type TemplateRef = Schemas['fact.ObjectRef'];
export type Preview = Schemas['preview.Preview'];
export type PreviewItem = Schemas['preview.Item'];
export type ChosenCluster = Schemas['preview.Cluster'];
export type ExcludedCluster = Schemas['preview.Exclusion'];
/** One place that an override changes, and the rule that does. */
export type Change = Schemas['manifest.Change'];
export type PolicyEffect = Schemas['workload.EffectPage'];
export type EffectItem = Schemas['workload.EffectItem'];
export type EffectState = Schemas['workload.Effected'];
