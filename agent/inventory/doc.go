// Package inventory watches one member cluster and keeps the ClusterStatus that
// describes it (contract 7.4): version, API list, node and resource summary, and
// the conditions CompleteAPIEnablements and Ready.
//
// The same collector serves the agent (Pull) and the hub's status controller
// (Push). It watches nodes and pods, of which it keeps only what the sums need,
// and the member's API list through the metadata of CRDs and APIServices; it
// probes readiness every ten seconds. It writes nothing.
//
//	nodes, pods ──► dirty ──► at most one report a second ──┐
//	CRDs, APIServices, each minute ──► discovery, version ──┼──► OnChange(status)
//	/readyz each 10 s ──► damper ──► at once ───────────────┘
//
// While Ready is not True everything but the conditions keeps its last value.
package inventory
