/** The API's nouns under short names. The shapes come from the generated schema only; a renamed schema is mended here. */
import type { components } from '@/api/schema.gen';

type Schemas = components['schemas'];

export type Problem = Schemas['httpapi.Problem'];
export type Info = Schemas['cluster.Info'];
export type User = Schemas['access.User'];
export type Role = User['role'];
export type SessionInfo = Schemas['access.SessionInfo'];
export type Session = Schemas['access.Session'];
export type NewUser = Schemas['access.NewUser'];
export type UserChange = Schemas['access.UserChange'];
export type UserCreated = Schemas['access.UserCreated'];
export type Token = Schemas['token.Token'];
export type NewToken = Schemas['token.NewToken'];
export type TokenCreated = Schemas['token.Created'];
export type Commands = Schemas['token.Commands'];
export type Cluster = Schemas['cluster.Cluster'];
export type ClusterDetail = Schemas['cluster.Detail'];
export type ClusterPage = Schemas['cluster.ClusterPage'];
export type ClusterState = Cluster['state'];
export type Counts = Schemas['cluster.Counts'];
export type Taint = Schemas['cluster.Taint'];
export type ClusterChange = Schemas['cluster.Change'];
export type Amount = Schemas['cluster.Usage'];
export type Condition = Schemas['cluster.Condition'];
export type Work = Schemas['cluster.Work'];
export type RemovalPlan = Schemas['cluster.RemovalPlan'];
export type Preflight = Schemas['cluster.Preflight'];
export type PreflightCheck = Schemas['cluster.Check'];
export type Registration = Schemas['cluster.Registration'];
export type RegistrationDetail = Schemas['cluster.RegistrationDetail'];
export type RegistrationCreated = Schemas['cluster.Started'];
export type Stage = Schemas['cluster.Stage'];
export type NewRegistration = Schemas['cluster.NewRegistration'];
export type Decoded = Schemas['cluster.Advice'];
export type AuditEntry = Schemas['audit.Entry'];
export type WaitingRow = Schemas['waiting.Row'];
export type CertificateRequest = Schemas['waiting.Request'];
export type BulkDecision = Schemas['waiting.BulkDecision'];
export type BulkOutcome = Schemas['waiting.BulkOutcome'];
export type ApprovalRule = Schemas['waiting.Rule'];
export type NewRule = Schemas['waiting.NewRule'];
export type NewOnboarding = Schemas['waiting.NewOnboarding'];
export type Onboarded = Schemas['waiting.Onboarded'];
export type ManagedCluster = Schemas['managedcluster.Row'];
export type ManagedDetail = Schemas['managedcluster.Detail'];
export type ManagedPage = Schemas['managedcluster.RowPage'];
export type ManagedTaint = Schemas['managedcluster.Taint'];
export type ManagedChange = Schemas['managedcluster.Change'];
export type ManagedRemovalPlan = Schemas['managedcluster.RemovalPlan'];
export type ManifestWork = Schemas['manifestwork.Row'];
export type ManifestWorkPage = Schemas['manifestwork.RowPage'];
export type ManifestWorkDetail = Schemas['manifestwork.Detail'];
export type ClusterSet = Schemas['placement.SetRow'];
export type NewClusterSet = Schemas['placement.NewSet'];
export type Placement = Schemas['placement.Row'];
export type PlacementDetail = Schemas['placement.PlacementDetail'];
export type Operators = Schemas['operator.Operators'];
export type OperatorRow = Schemas['operator.Row'];

/** One page of a list; the cursor of the next is `next`, and `epoch` and `seq` say up to which live event it holds. */
export interface Page<T> {
  items: T[];
  next?: string;
  total: number;
  epoch: string;
  seq: number;
}
