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

/** One page of a list; the cursor of the next is `next`, and `epoch` and `seq` say up to which live event it holds. */
export interface Page<T> {
  items: T[];
  next?: string;
  total: number;
  epoch: string;
  seq: number;
}
