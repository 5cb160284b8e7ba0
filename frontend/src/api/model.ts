/** The API's nouns under short names. The shapes come from the generated schema only; a renamed schema is mended here. */
import type { components } from '@/api/schema.gen';

type Schemas = components['schemas'];

export type Problem = Schemas['httpapi.Problem'];
export type Info = Schemas['app.Info'];
export type User = Schemas['access.User'];
export type Role = User['role'];
export type SessionInfo = Schemas['access.SessionInfo'];
export type Session = Schemas['access.Session'];
export type UserCreated = Schemas['access.UserCreated'];
export type Token = Schemas['token.Token'];
export type TokenCreated = Schemas['token.Created'];
export type Commands = Schemas['cluster.Commands'];
export type Cluster = Schemas['cluster.Cluster'];
export type ClusterDetail = Schemas['cluster.Detail'];
export type ClusterPage = Schemas['cluster.ClusterPage'];
export type ClusterState = Cluster['state'];
export type Counts = Schemas['cluster.Counts'];
export type Taint = Schemas['cluster.Taint'];
export type Amount = Schemas['cluster.Amount'];
export type Condition = Schemas['cluster.Condition'];
export type Work = Schemas['cluster.Work'];
export type RemovalPlan = Schemas['cluster.RemovalPlan'];
export type Preflight = Schemas['cluster.Preflight'];
export type PreflightCheck = Schemas['cluster.Check'];
export type Registration = Schemas['cluster.Registration'];
export type RegistrationCreated = Schemas['cluster.RegistrationCreated'];
export type Stage = Schemas['cluster.Stage'];
export type Decoded = Schemas['cluster.Decoded'];
export type AuditEntry = Schemas['audit.Entry'];

/** One page of a list; the cursor of the next is `next`, and `epoch` and `seq` say up to which live event it holds. */
export interface Page<T> {
  items: T[];
  next?: string;
  total: number;
  epoch: string;
  seq: number;
}
