package audit

import "muster.dev/muster/backend/access"

// Action is what somebody wants to do.
type Action struct {
	// Verb is what is done: create, update, patch, delete, or a product's verb
	// like login or revoke.
	Verb string
	// Kind is the noun it is done to, like Cluster or User.
	Kind string
	// Namespace is empty for what has none.
	Namespace string
	// Name may be empty if it is known only afterwards; see SetName.
	Name string
	// Detail says more, in few and short words. It is masked before it is stored.
	Detail map[string]string
	// Needs is the least role that may do it; empty: Do does not look. Without
	// the role the attempt is recorded as denied and not made.
	Needs access.Role
}
