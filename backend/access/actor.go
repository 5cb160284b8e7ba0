package access

import (
	"context"

	"muster.dev/muster/backend/fault"
)

// Role is what a user may do; each role includes the ones below it.
type Role string

// Roles, strongest first.
const (
	RoleAdmin    Role = "admin"
	RoleOperator Role = "operator"
	RoleViewer   Role = "viewer"
)

// rank orders roles; an unknown role has none.
func (r Role) rank() int {
	switch r {
	case RoleAdmin:
		return 3
	case RoleOperator:
		return 2
	case RoleViewer:
		return 1
	}
	return 0
}

// Valid tells whether r is a role at all.
func (r Role) Valid() bool { return r.rank() > 0 }

// Includes tells whether r may do all that min may.
func (r Role) Includes(least Role) bool {
	return r.Valid() && least.Valid() && r.rank() >= least.rank()
}

// How an actor reached the hub.
const (
	ViaREST   = "rest"
	ViaHubAPI = "hub-api"
	ViaCLI    = "cli"
)

// Actor is who asked for something.
type Actor struct {
	// Name is the user's name, without prefix.
	Name string
	// Role is the user's role when the request began.
	Role Role
	// Source is the address the request came from.
	Source string
	// Via is ViaREST, ViaHubAPI or ViaCLI.
	Via string
	// RequestID ties audit rows and log lines of one request together.
	RequestID string
}

// Require returns a fault.Forbidden unless the actor's role includes least.
func (a Actor) Require(least Role) error {
	if a.Role.Includes(least) {
		return nil
	}
	return fault.Forbidden("this needs the role %s, and %s has the role %s", least, a.Name, a.Role).
		WithFix("an administrator can grant the role under Users")
}

// User is the actor's name on the hub API.
func (a Actor) User() string { return "muster:user:" + a.Name }

// Groups are the actor's groups on the hub API; roles are granted to them.
func (a Actor) Groups() []string {
	switch a.Role {
	case RoleAdmin:
		return []string{"muster:admins"}
	case RoleOperator:
		return []string{"muster:operators"}
	case RoleViewer:
		return []string{"muster:viewers"}
	}
	return nil
}

type contextKey int

const (
	keyActor contextKey = iota
	keySession
)

// WithActor returns a ctx in which actor acts.
func WithActor(ctx context.Context, actor Actor) context.Context {
	return context.WithValue(ctx, keyActor, actor)
}

// ActorFrom returns who acts in ctx.
func ActorFrom(ctx context.Context) (Actor, bool) {
	actor, ok := ctx.Value(keyActor).(Actor)
	return actor, ok
}

// Require returns a fault unless somebody acts in ctx whose role includes least.
func Require(ctx context.Context, least Role) error {
	actor, ok := ActorFrom(ctx)
	if !ok {
		return fault.Unauthenticated("nobody is signed in").WithFix("sign in")
	}
	return actor.Require(least)
}
