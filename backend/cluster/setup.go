package cluster

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// ControllerDeps are what the controllers of this package work with.
type ControllerDeps struct {
	// Members reaches push members. NewMembers over the manager's API reader.
	Members *kube.Members
	// Purger finishes execution namespaces.
	Purger Purger
	// Stages keeps the record of registrations.
	Stages registration.StageRecorder
	// Audit records the Clusters that agents bring.
	Audit Auditor
	// Authorizer and Admission are those given to the hub API; they see the hub's
	// objects once the manager's cache is filled.
	Authorizer *Authorizer
	Admission  *Admission
	// Changed is told of clusters whose link changed; it must not block. May be nil.
	Changed func(cluster string)
	// Clock is the real one unless a test says otherwise.
	Clock clock.WithTicker
}

// SetupWithManager adds all controllers of clusters to the manager and returns
// the Liveness that agents' links report to.
func SetupWithManager(m ctrl.Manager, d ControllerDeps) (*Liveness, error) {
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	if err := m.GetFieldIndexer().IndexField(context.Background(), &clusterv1alpha1.Cluster{}, idIndex, indexID); err != nil {
		return nil, fmt.Errorf("index clusters by id: %w", err)
	}
	hub, live := m.GetClient(), m.GetAPIReader()
	revocations := NewRevocations(hub, live)
	facts := NewHubFacts(hub, live, revocations)
	var reconciler *Reconciler
	liveness := NewLiveness(hub, LivenessDeps{Live: live, Stages: d.Stages, Audit: d.Audit, Clock: d.Clock, Barred: revocations.Barred, Changed: func(cluster string) {
		reconciler.Poke(cluster)
		if d.Changed != nil {
			d.Changed(cluster)
		}
	}})
	reconciler = NewReconciler(hub, m.GetEventRecorder("cluster-controller"), ReconcilerDeps{
		Live: live, Purger: d.Purger, Presence: NewPresence(live, d.Members, liveness, d.Clock), Revocations: revocations, Clock: d.Clock,
	})
	for name, setup := range map[string]func(ctrl.Manager) error{
		"csr":      NewCSRReconciler(hub, live, facts, d.Stages).SetupWithManager,
		"cluster":  reconciler.SetupWithManager,
		"status":   NewStatusReconciler(hub, live, d.Members, d.Clock).SetupWithManager,
		"lease":    NewLeaseReconciler(hub, d.Clock).SetupWithManager,
		"liveness": liveness.SetupWithManager,
		"facts":    func(m ctrl.Manager) error { return m.Add(attaching{m, d, facts}) },
	} {
		if err := setup(m); err != nil {
			return nil, fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	return liveness, nil
}

// attaching gives Authorizer and Admission sight of the hub. The manager starts
// it after its caches are filled.
type attaching struct {
	manager ctrl.Manager
	deps    ControllerDeps
	facts   *HubFacts
}

// Start implements manager.Runnable.
func (a attaching) Start(ctx context.Context) error {
	if err := a.facts.revocations.load(ctx); err != nil {
		return err
	}
	if a.deps.Authorizer != nil {
		a.deps.Authorizer.Attach(a.facts)
	}
	if a.deps.Admission != nil {
		a.deps.Admission.Attach(a.facts, liveWriter{a.manager.GetClient(), a.manager.GetAPIReader()}, a.deps.Stages)
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
