// Package consent owns the double opt-in of Open Cluster Management on the hub:
// how an agent comes by its certificate, how its cluster is accepted, and how
// both are taken back.
//
// # Two consents, in either order
//
//	agent: ManagedCluster ──► accepted (spec.hubAcceptsClient) ──► namespace, roles, condition
//	agent: certificate request ──► approved ──► certificate
//	                      both ──► the agent works
//	accepted ──► denied ──► roles go, open watches are cut, condition
//
// # What it hangs into the hub API
//
//	Authorizer     agents read the certificate requests of their own cluster only
//	Admission      names, addresses, taints; who may accept, who may join a set
//	Watches        an agent that lost a right loses the watch that it held by it
//	Bootstrap      what agents are introduced with, before the hub says it is ready
//
// # Who writes what
//
// Conditions: HubAcceptedManagedCluster. Finalizer: ManagedClusterFinalizer, and
// the one of the work RoleBinding. Objects: a cluster's namespace and its roles,
// the roles that all clusters share. Approval of certificate requests, and their
// removal. AnnotationCreator on ManagedClusters, the annotations of the package on
// certificate requests. Approval rules are in SQL; see Book.
//
// # Invariants
//
// Nothing is approved or accepted by itself unless a rule says so, except that an
// agent renews exactly its own certificate. An agent never takes back the hub's
// consent. A cluster that was never accepted is not touched. Denial takes rights
// first and tells of it last.
package consent
