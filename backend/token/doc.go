// Package token owns join tokens: Kubernetes bootstrap-token Secrets in the
// hub's kube-system namespace (contract karmada.md sections 5.1 to 5.4), the one
// kind of secret that stays readable because unmodified clients need it.
//
// Invariants: the Secret is the only home of a token, nothing of it is kept in
// SQL; the secret half leaves the hub once, in the answer to its creation, and
// appears in no log, error or audit row; what the hub knows beyond Kubernetes'
// format (bound cluster, uses, author, registration) are annotations that other
// clients ignore.
package token
