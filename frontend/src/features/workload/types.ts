/** The API's shapes of workloads and the live topics below it, under the names that this feature uses. */
import type { components } from '@/api/schema.gen';

type Schemas = components['schemas'];

/** A policy as a row of another noun names it. */
export type PolicyRef = Schemas['fact.PolicyRef'];
export type PolicyResource = PolicyRef['resource'];
export type ObjectRef = Schemas['fact.ObjectRef'];
/** One link of the chain that says why a workload stands as it does. */
export type Fact = Schemas['fact.Fact'];
export type WorkloadRow = Schemas['workload.Row'];
export type WorkloadState = Schemas['workload.State'];
export type WorkloadList = Schemas['workload.WorkloadPage'];
/** Of all that fit the filter but for their state. */
export type WorkloadCounts = Schemas['workload.Counts'];
export type WorkloadDetail = Schemas['workload.Detail'];
export type WorkloadCondition = Schemas['workload.Condition'];
export type WorkloadEvent = Schemas['workload.Event'];
/** How a workload stands in one cluster. */
export type PlacedCluster = Schemas['workload.PlacedCluster'];
export type PlacedState = Schemas['workload.Placed'];
export type Health = PlacedCluster['health'];
export type Topology = Schemas['workload.Topology'];
export type TopologyNode = Schemas['workload.Node'];
export type NodeKind = Schemas['workload.NodeKind'];
export type NodeState = Schemas['workload.NodeState'];
/** An object after it was written. */
export type WorkloadWritten = Schemas['author.Written'];
/** An object as it is to be, and the text that it began with. */
export type WorkloadChange = Schemas['author.Changed'];
/** What a look into a member showed of a workload's pods. */
export type PodsAnswer = Schemas['pods.Answer'];
export type Pod = Schemas['pods.Pod'];
export type OverrideDiff = Schemas['workload.OverrideDiff'];
/** One changed place of a manifest and the rule that changed it. */
export type OverrideChange = Schemas['manifest.Change'];
