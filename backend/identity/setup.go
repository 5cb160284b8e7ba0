package identity

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Deps are what identities are judged and given out with.
type Deps struct {
	// Stages keeps the record of registrations.
	Stages registration.StageRecorder
	// Authorizer and Admission are those given to the hub API; they see the hub's
	// objects once the manager's cache is filled.
	Authorizer *Authorizer
	Admission  *Admission
}

// SetupWithManager adds the controller of certificate requests to the manager, and
// lets Authorizer and Admission see the hub's objects. It returns the
// Revocations that removed clusters are to be noted in.
func SetupWithManager(m ctrl.Manager, d Deps) (*Revocations, error) {
	if err := m.GetFieldIndexer().IndexField(context.Background(), &clusterv1alpha1.Cluster{}, idIndex, indexID); err != nil {
		return nil, fmt.Errorf("index clusters by id: %w", err)
	}
	hub, live := m.GetClient(), m.GetAPIReader()
	revocations := NewRevocations(hub, live)
	facts := NewHubFacts(hub, live, revocations)
	if err := NewCSRReconciler(hub, live, facts, d.Stages).SetupWithManager(m); err != nil {
		return nil, fmt.Errorf("set up controller csr: %w", err)
	}
	if err := m.Add(attaching{m, d, facts}); err != nil {
		return nil, fmt.Errorf("set up facts of identities: %w", err)
	}
	return revocations, nil
}

// seen are the kinds that judging a request reads from the cache.
var seen = []client.Object{&clusterv1alpha1.Cluster{}, &certificatesv1.CertificateSigningRequest{}}

// attaching gives Authorizer and Admission sight of the hub, as soon as what they
// read is in the manager's cache. Other kinds may take a while longer.
type attaching struct {
	manager ctrl.Manager
	deps    Deps
	facts   *HubFacts
}

// GetCache has the manager start this with its caches, not when all are filled.
func (a attaching) GetCache() cache.Cache { return a.manager.GetCache() }

// Start implements manager.Runnable.
func (a attaching) Start(ctx context.Context) error {
	for _, kind := range seen {
		if err := kube.Filled(ctx, a.manager.GetCache(), kind); err != nil {
			if ctx.Err() != nil {
				return nil // stopped before it began
			}
			return fmt.Errorf("see the hub's objects: %w", err)
		}
	}
	if err := a.facts.revocations.load(ctx); err != nil {
		return err
	}
	if a.deps.Authorizer != nil {
		a.deps.Authorizer.Attach(a.facts)
	}
	if a.deps.Admission != nil {
		a.deps.Admission.Attach(a.facts, NewLiveWriter(a.manager.GetClient(), a.manager.GetAPIReader()), a.deps.Stages)
	}
	a.warm()
	<-ctx.Done()
	return nil
}

// warm looks up the kinds that the first registration writes, which would
// otherwise wait for discovery. What fails is looked up again when it is needed.
func (a attaching) warm() {
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{}, &authorizationv1.SubjectAccessReview{}, &workv1alpha2.ResourceBinding{}, &coordinationv1.Lease{}, &corev1.Secret{},
	} {
		if kind, err := apiutil.GVKForObject(object, a.manager.GetScheme()); err == nil {
			_, _ = a.manager.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		}
	}
}
