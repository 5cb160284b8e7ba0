// Package handshake is the registration agent of a cluster that belongs to an
// Open Cluster Management hub, ours or another (contract ocm.md, 2.2 to 2.7).
//
//	         ┌───────────────────────────────────────────────┐
//	         ▼                                               │ expired, refused, another hub,
//	┌─────────────────┐ valid identity  ┌────────────────┐   │ bootstrap kubeconfig changed
//	│     choose      ├────────────────►│     serve      ├───┤
//	└────────┬────────┘                 └────────────────┘   │
//	         │ none                             ▲            │
//	         ▼                                  │ saved      │
//	┌─────────────────┐   certificate           │            │
//	│    introduce    ├─────────────────────────┘            │
//	└────────┬────────┘   timeout, denied, changed           │
//	         └───────────────────────────────────────────────┘
//
// To introduce itself the agent makes, side by side, its ManagedCluster and a
// certificate request with the bootstrap identity. The key stays in memory until
// the certificate is there; then both are kept in a Store. To serve it waits
// until the hub accepts the cluster, renews its lease, reports what it sees of the
// member in the ManagedCluster's status and renews its certificate in time. Every
// change, of the hub or the member, is acted upon when it is seen; nothing ends
// the process.
//
// The agent elects no leader: its Deployment runs one pod at a time, and two
// agents of one cluster would only write the same things.
package handshake
