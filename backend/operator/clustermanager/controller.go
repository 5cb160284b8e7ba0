package clustermanager

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
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

const (
	// resync is how often everything is applied again, so that drift on clusters that we do not watch is undone.
	resync = 10 * time.Minute
	// A hub elsewhere that could not be reached is tried again soon, one that answers now and then.
	hubRetry   = 5 * time.Second
	hubRecheck = 2 * time.Minute
	// Webhook configurations wait for this while Deployments roll; changes of those are heard of, too.
	rollingPoll = 5 * time.Second
)

// Settings are the same for all ClusterManagers of one operator.
type Settings struct {
	// HubImage and AgentImage are ours; the latter is what the hub puts into the commands that it shows.
	HubImage, AgentImage string
	// Replicas of each Deployment; 0: three on a cluster with several control-plane nodes, else one.
	Replicas int32
	// Namespace is the operator's own; the registry credentials are copied from there.
	Namespace string
	// KeepKinds leaves the custom resource definitions, and thereby everybody's objects, on the hub at removal.
	KeepKinds bool
	// HostAliases are those of the operator's own pods, handed on to the hub's.
	HostAliases []corev1.HostAlias
	// Manifests holds the templates, Kinds the custom resource definitions of the hub, Webhooks the webhook configurations without where
	// the hub is.
	Manifests, Kinds, Webhooks fs.FS
	// Rights is the manifest of what a hub may do on an existing API.
	Rights []byte
}

// Reconciler puts hubs where ClusterManagers want them.
type Reconciler struct {
	client   client.Client // not cached: what we read, we are about to write
	config   *rest.Config
	settings Settings
	clusters *component.Clusters
	secrets  *component.SecretWatch
	now      func() time.Time
	lifetime context.Context // of the manager: watches of Secrets outlive a reconcile
}

// scope is one reconcile of one ClusterManager.
type scope struct {
	object *ocmoperatorv1.ClusterManager
	plan   plan
	// hub is the cluster that serves the hub's API; set by reach.
	hub *component.Remote
	// bundle verifies the webhooks, certificates digests what they serve with; set by applyCertificates.
	bundle []byte
	// rolling says that a Deployment is not up to date; set by judge.
	rolling bool
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

// fail says in condition Applied what could not be written, and hands the error on to be tried again.
func (s *scope) fail(reason string, err error) error {
	set(s.object, ocmoperatorv1.ConditionApplied, false, reason, err.Error())
	return err
}

// SetupWithManager adds the controller to m; ctx is the manager's lifetime.
func SetupWithManager(ctx context.Context, m ctrl.Manager, settings Settings) error {
	direct, err := client.New(m.GetConfig(), client.Options{Scheme: m.GetScheme(), Mapper: m.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	r := &Reconciler{
		client: direct, config: m.GetConfig(), settings: settings, now: time.Now, lifetime: ctx,
		clusters: component.NewClusters(m.GetScheme()), secrets: component.NewSecretWatch(m.GetConfig()),
	}
	owner := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: object.GetLabels()[ocmoperatorv1.CreatedByClusterManagerLabel]}}}
	})
	ours := builder.WithPredicates(predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[ocmoperatorv1.CreatedByClusterManagerLabel] != ""
	}))
	err = ctrl.NewControllerManagedBy(m).Named("clustermanager").
		For(&ocmoperatorv1.ClusterManager{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, owner, ours, builder.OnlyMetadata).
		WatchesRawSource(source.Channel(r.secrets.Events(), &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("build clustermanager controller: %w", err)
	}
	return nil
}

// Reconcile brings one ClusterManager's hub to where it wants it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	object := &ocmoperatorv1.ClusterManager{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if object.DeletionTimestamp != nil {
		return r.remove(ctx, object)
	}
	if !controllerutil.ContainsFinalizer(object, ocmoperatorv1.ClusterManagerFinalizer) {
		before := object.DeepCopy()
		controllerutil.AddFinalizer(object, ocmoperatorv1.ClusterManagerFinalizer)
		if err := kube.Patch(ctx, r.client, before, object); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := object.DeepCopy()
	s := &scope{object: object}
	s.again(resync)
	defer func() {
		if len(s.applied) > 0 && !s.halt && err == nil {
			object.Status.RelatedResources, object.Status.Generations = component.Related(s.applied)
		}
		result, err = component.Conclude(result, err, kube.PatchStatus(ctx, r.client, before, object))
	}()
	if s.plan, err = newPlan(object, r.settings); err != nil {
		set(object, ocmoperatorv1.ConditionApplied, false, reasonInvalid, err.Error())
		return ctrl.Result{}, nil
	}
	setGates(object, s.plan.unknownGates)
	setUnsupported(object, s.plan.unsupported)
	for _, step := range []func(context.Context, *scope) error{
		r.watchSecrets, r.reach, r.applyNamespaces, r.applyCertificates, r.migrate, r.applyKinds, r.migrate, r.applyPullSecret, r.applyAccounts,
		r.applyCredentials, r.applyDeployments, r.judge, r.applyWebhooks,
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

// watchSecrets hears of the Secrets that users make, and of what others do to ours.
func (r *Reconciler) watchSecrets(_ context.Context, s *scope) error {
	names := []string{signerSecret, s.plan.registration.secret(), s.plan.work.secret()}
	if s.plan.hosted {
		names = append(names, ocmoperatorv1.ExternalHubKubeconfigSecret)
	}
	keys := make([]client.ObjectKey, 0, len(names))
	for _, name := range names {
		keys = append(keys, client.ObjectKey{Namespace: s.plan.namespace, Name: name})
	}
	return r.secrets.Watch(r.lifetime, s.object, keys)
}
