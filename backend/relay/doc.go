// Package relay carries Works of policies to members of Open Cluster Management
// as ManifestWorks (contract ocm.md section 5), if the policy opts in:
//
//	policy tolerates registration.TaintOtherDialect ─► the scheduler places on the member's mirrored Cluster
//	    ─► Work in karmada-es-<c> ─► ManifestWork of the same name in <c> ─► the member's agent
//	    ◄─ Applied, status, health  ◄─ conditions and feedback
//
// # What is carried over
//
// The manifest as overrides left it, applied by server-side apply with force; its
// namespace, made if it is missing and left there when the work goes; whether the
// object stays when the Work goes; suspended dispatching; whether it was applied
// and is available; of kinds that count replicas, and of Jobs, the counts.
//
// # What is not
//
// Conflict resolution Abort (the agent takes a field over), drift as a condition,
// status of other kinds beyond available or not, interpreters of users, the
// manifests of a Work above 500 KiB, and namespaces or roles that go to every
// Karmada member by themselves.
//
// # Who writes what
//
// The Reconciler alone writes the ManifestWorks that bear LabelRelayed and the
// status of Works of mirrored Clusters. A ManifestWork of that name that somebody
// else made is left alone, and the Work says so.
package relay
