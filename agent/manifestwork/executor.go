package manifestwork

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

const (
	// allowedFor is how long a yes is remembered; a no is asked for again.
	allowedFor = 20 * time.Second
	// mostExecutors bounds how many clients of executors are kept.
	mostExecutors = 200
)

// executors act in the member as the identities that works name. The member's own
// API checks each request of theirs. Before that, one look at their rights says
// whether they may do all that the work comes to, its removal included, which the
// agent does itself.
type executors struct {
	config *rest.Config
	own    dynamic.Interface
	review kubernetes.Interface

	mu      sync.Mutex
	clients map[string]dynamic.Interface
	allowed map[permission]time.Time
}

// permission is one thing that one executor may do.
type permission struct {
	user, verb string
	place      place
}

func newExecutors(config *rest.Config, own dynamic.Interface, review kubernetes.Interface) *executors {
	return &executors{config: config, own: own, review: review, clients: map[string]dynamic.Interface{}, allowed: map[permission]time.Time{}}
}

// userOf returns the user name of an executor, "" if the agent acts itself.
func userOf(executor *ocmworkv1.ManifestWorkExecutor) (string, error) {
	if executor == nil {
		return "", nil
	}
	if executor.Subject.Type != ocmworkv1.ExecutorServiceAccount || executor.Subject.ServiceAccount == nil ||
		executor.Subject.ServiceAccount.Namespace == "" || executor.Subject.ServiceAccount.Name == "" {
		return "", fmt.Errorf("executors of type %q are not supported", executor.Subject.Type)
	}
	return "system:serviceaccount:" + executor.Subject.ServiceAccount.Namespace + ":" + executor.Subject.ServiceAccount.Name, nil
}

// client returns how to reach the member as a user; "" is the agent itself.
func (e *executors) client(user string) (dynamic.Interface, error) {
	if user == "" {
		return e.own, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if client, ok := e.clients[user]; ok {
		return client, nil
	}
	config := rest.CopyConfig(e.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the executor: %w", err)
	}
	if len(e.clients) >= mostExecutors {
		clear(e.clients)
	}
	e.clients[user] = client
	return client, nil
}

// check says what of what a work needs its executor may not do. removal says
// whether the object goes when the work does.
func (e *executors) check(ctx context.Context, user string, p place, strategy ocmworkv1.UpdateStrategyType, removal bool) error {
	if user == "" {
		return nil
	}
	verbs := []string{"get"}
	switch strategy {
	case ocmworkv1.UpdateStrategyReadOnly:
		removal = false
	case ocmworkv1.UpdateStrategyServerSideApply:
		verbs = append(verbs, "create", "patch")
	case ocmworkv1.UpdateStrategyCreateOnly:
		verbs = append(verbs, "create")
	default:
		verbs = append(verbs, "create", "update")
	}
	if removal {
		verbs = append(verbs, "delete")
	}
	denied := make([]string, len(verbs))
	group, ctx := errgroup.WithContext(ctx)
	for i, verb := range verbs {
		group.Go(func() error {
			allowed, err := e.may(ctx, permission{user, verb, p})
			if err == nil && !allowed {
				denied[i] = verb
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("ask what the executor may do: %w", err)
	}
	if denied = slices.DeleteFunc(denied, func(verb string) bool { return verb == "" }); len(denied) > 0 {
		return fmt.Errorf("not allowed to apply the resource %s %s, %s %s: the executor %s may not %s it", p.resource.Group, p.resource.Resource,
			p.namespace, p.name, user, strings.Join(denied, ", "))
	}
	return nil
}

func (e *executors) may(ctx context.Context, p permission) (bool, error) {
	e.mu.Lock()
	until, ok := e.allowed[p]
	e.mu.Unlock()
	if ok && time.Now().Before(until) {
		return true, nil
	}
	account := strings.Split(p.user, ":")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: p.user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + account[2], "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: p.verb, Group: p.place.resource.Group, Version: p.place.resource.Version,
			Resource: p.place.resource.Resource, Namespace: p.place.namespace, Name: p.place.name},
	}}
	answer, err := e.review.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.allowed) > 20*mostExecutors {
		clear(e.allowed)
	}
	if answer.Status.Allowed {
		e.allowed[p] = time.Now().Add(allowedFor)
	} else {
		delete(e.allowed, p)
	}
	return answer.Status.Allowed, nil
}
