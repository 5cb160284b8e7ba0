package access

import "context"

// Deed is something done to users and sessions, to be recorded.
type Deed struct {
	// Verb and Kind say what is done, e.g. create User.
	Verb, Kind string
	// Name names whom or what it is done to.
	Name string
	// Detail says more in few words, never a secret.
	Detail map[string]string
	// Needs is the least role that may do it; empty: anybody.
	Needs Role
}

// Auditor records deeds; the audit implements it. It runs do between intent
// and outcome, and not at all if the intent cannot be kept or the actor of ctx
// lacks the role.
type Auditor interface {
	Access(ctx context.Context, deed Deed, do func(ctx context.Context) error) error
}
