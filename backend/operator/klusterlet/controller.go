package klusterlet

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/component"
)

// resync is how often everything is applied again, so that drift on clusters that we do not watch is undone.
const resync = 10 * time.Minute

// Settings are the same for all Klusterlets of one operator.
type Settings struct {
	// AgentImage runs where a Klusterlet names none.
	AgentImage string
	// Namespace is the operator's own; the registry credentials are copied from there.
	Namespace string
	// HostAliases are those of the operator's own pods, handed on to the agents'.
	HostAliases []corev1.HostAlias
	// Manifests and Kinds hold the templates and the custom resource definitions.
	Manifests, Kinds fs.FS
}

// Reconciler puts agents where Klusterlets want them.
type Reconciler struct {
	client   client.Client // not cached: what we read, we are about to write
	config   *rest.Config
	settings Settings
	clusters *component.Clusters
	secrets  *component.SecretWatch
	events   events.EventRecorder
	now      func() time.Time
	lifetime context.Context // of the manager: watches of Secrets outlive a reconcile

	mu   sync.Mutex
	hubs map[string]asked
}

// scope is one reconcile of one Klusterlet.
type scope struct {
	object *ocmoperatorv1.Klusterlet
	// stored is the object as the API server has it; addFinalizer keeps it so.
	stored *ocmoperatorv1.Klusterlet
	plan   plan
	// managed is the managed cluster; set by prepare.
	managed *component.Remote
	// hub is set by connect.
	hub connection
	// applied collects what was written; the steps add to it.
	applied []component.Reference
	// after is the shortest time that a step wants to be asked again.
	after time.Duration
	// halt ends the reconcile after a step that has said why in a condition.
	halt bool
}

// again asks for another reconcile, after at most d.
func (s *scope) again(d time.Duration) {
	if s.after == 0 || d < s.after {
		s.after = d
	}
}

// SetupWithManager adds the controller to m; ctx is the manager's lifetime.
func SetupWithManager(ctx context.Context, m ctrl.Manager, settings Settings) error {
	direct, err := client.New(m.GetConfig(), client.Options{Scheme: m.GetScheme(), Mapper: m.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	r := &Reconciler{
		client: direct, config: m.GetConfig(), settings: settings, now: time.Now, lifetime: ctx,
		clusters: component.NewClusters(m.GetScheme()), secrets: component.NewSecretWatch(m.GetConfig()), hubs: map[string]asked{},
		events: m.GetEventRecorder("klusterlet-controller"),
	}
	owner := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: object.GetLabels()[ocmoperatorv1.CreatedByKlusterletLabel]}}}
	})
	ours := builder.WithPredicates(predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[ocmoperatorv1.CreatedByKlusterletLabel] != ""
	}))
	err = ctrl.NewControllerManagedBy(m).Named("klusterlet").
		For(&ocmoperatorv1.Klusterlet{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&appsv1.Deployment{}, owner, ours, builder.OnlyMetadata).
		WatchesRawSource(source.Channel(r.secrets.Events(), &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("build klusterlet controller: %w", err)
	}
	return nil
}

// Reconcile brings one Klusterlet's agents to where it wants them.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	object := &ocmoperatorv1.Klusterlet{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if object.DeletionTimestamp != nil {
		return r.remove(ctx, object)
	}
	s := &scope{object: object, stored: object.DeepCopy()}
	if err := r.addFinalizer(ctx, s, ocmoperatorv1.KlusterletFinalizer); err != nil {
		return ctrl.Result{}, err
	}
	s.again(resync)
	defer func() {
		r.conclude(s)
		result, err = component.Conclude(result, err, kube.PatchStatus(ctx, r.client, s.stored, object))
	}()
	if s.plan, err = newPlan(object, r.settings); err != nil {
		set(object, ocmoperatorv1.ConditionApplied, false, reasonApplyFailed, err.Error())
		return ctrl.Result{}, nil
	}
	setGates(object, s.plan.unknownGates)
	setUnsupported(object, s.plan.unsupported)
	for _, step := range []func(context.Context, *scope) error{
		r.watchSecrets, r.prepare, r.applyKinds, r.applyManaged, r.applyManagement, r.applyCredentials, r.connect, r.applyAgents, r.judge, r.leaveOldNamespaces,
	} {
		if err := step(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
		if s.halt {
			break
		}
	}
	return ctrl.Result{RequeueAfter: s.after}, nil
}

// conclude writes what was applied into the status.
func (r *Reconciler) conclude(s *scope) {
	status := &s.object.Status
	if s.halt || len(s.applied) == 0 {
		return
	}
	status.RelatedResources, status.Generations = component.Related(s.applied)
}

// addFinalizer writes a finalizer at once: what it stands for is about to be made.
func (r *Reconciler) addFinalizer(ctx context.Context, s *scope, finalizer string) error {
	written := s.stored.DeepCopy()
	if !controllerutil.AddFinalizer(written, finalizer) {
		return nil
	}
	if err := kube.Patch(ctx, r.client, s.stored, written); err != nil {
		return err
	}
	s.stored = written
	s.object.ObjectMeta = *written.ObjectMeta.DeepCopy()
	return nil
}

// watchSecrets hears of the Secrets that users and agents make.
func (r *Reconciler) watchSecrets(_ context.Context, s *scope) error {
	names := append(slices.Clone(s.plan.bootstraps), ocmoperatorv1.HubKubeconfigSecret)
	if s.plan.mode.IsHosted() {
		names = append(names, ocmoperatorv1.ExternalManagedKubeconfigSecret)
	}
	keys := make([]client.ObjectKey, 0, len(names))
	for _, name := range names {
		keys = append(keys, client.ObjectKey{Namespace: s.plan.agentNamespace, Name: name})
	}
	return r.secrets.Watch(r.lifetime, s.object, keys)
}
