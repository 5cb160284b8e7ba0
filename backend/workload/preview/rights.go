package preview

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/kube"
)

const (
	// rightsLife is how long an answer of the hub's authorizer holds.
	rightsLife = 30 * time.Second
	// rightsKept bounds the answers that are kept.
	rightsKept = 4096
)

// rights knows which kinds actors may list, as the hub's own roles say.
type rights struct {
	clients func(access.Actor) (client.Client, error)
	now     func() time.Time

	mu    sync.Mutex
	known map[right]answer
}

// right is a question: may somebody with this name and role list this resource
// in every namespace?
type right struct {
	user     string
	role     access.Role
	resource schema.GroupResource
}

type answer struct {
	yes   bool
	until time.Time
}

func newRights(clients func(access.Actor) (client.Client, error), now func() time.Time) *rights {
	return &rights{clients: clients, now: now, known: map[right]answer{}}
}

// mayList says whether an actor may list a resource.
func (r *rights) mayList(ctx context.Context, actor access.Actor, resource schema.GroupResource) (bool, error) {
	asked := right{actor.Name, actor.Role, resource}
	r.mu.Lock()
	found, ok := r.known[asked]
	r.mu.Unlock()
	if ok && r.now().Before(found.until) {
		return found.yes, nil
	}
	hub, err := r.clients(actor)
	if err != nil {
		return false, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: resource.Group, Resource: resource.Resource},
	}}
	if err := hub.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether %s may list %s: %w", actor.Name, resource, kube.Fault(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= rightsKept {
		clear(r.known)
	}
	r.known[asked] = answer{review.Status.Allowed, r.now().Add(rightsLife)}
	return review.Status.Allowed, nil
}
