// Package policy owns the rules for the objects that say what goes where: propagation and override policies, the bindings and the Works
// made from them. Its admission (package admission) runs inside the API server and has the effect of Karmada's webhooks (contract section 1.3):
//
//   - A policy, binding or Work has a permanent id, a label by which everything made from it is found. It is set on creation and, for
//     policies, never changes.
//
//   - What a policy leaves open is filled in before it is stored; a policy that makes no sense is refused (contract sections 2.2, 2.3).
//
//   - The manifests of a Work carry nothing of the cluster they were read from, and name what we own on the member's object.
//
//   - An object labelled resourcetemplate.karmada.io/deletion-protected=Always is not deleted.
//
//   - Scripts, taints, quotas and rebalancers that make no sense are refused; with the gate FederatedQuotaEnforcement so is a schedule
//     result that exceeds a quota.
//
// The pure rules are in policy.go, placement.go, override.go and kinds.go; which object and which cluster a policy means is in match.go.
// Rules that a schema can express are in the schema of the kind.
//
// REST writes policies by server-side apply under the rights of the user (apply.go). A field that another manager owns is taken over only
// by force; that includes leaving it out, which an apply alone would ignore (owners.go). Every write is recorded with what it changed,
// in few and short words and without what may be a secret (diff.go).
package policy
