// Package waiting owns the hub's waiting room: who asks for the two consents of
// Open Cluster Management, how a person gives or refuses them in the dashboard,
// and the rules that give them without one. Package consent carries out what is
// decided here, or by kubectl and clusteradm, which is the same.
//
//	agent ──► ManagedCluster, certificate request ──► Row ──► Approve · Accept · Deny ──► the same objects
//	                                                   └────► Book: a rule fits ──► package consent
//
// # Homes of facts
//
// A row is composed of the objects each time and stored nowhere; it stays for a
// day after the last decision. Who accepted or refused a cluster is in annotations
// of package consent. Approval rules are in SQL. Tokens that introduce a cluster
// are in the answer that made them and nowhere else.
//
// # Invariants
//
// Everything is done by the rights of whoever is signed in, each consent by itself,
// and each is in the audit with the requester and the fingerprint of the key. What
// is not an agent's request is not approved here. There is no rule unless an
// administrator makes one, and no rule overrules a person's refusal.
package waiting
