package propagation

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/apis/work/manifest"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/propagation/work"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/template"
)

// NamespaceReconciler brings the hub's namespaces to every cluster, whatever the
// policies say, so that what is in them finds its place (contract section 8.4). A
// request means a pair: the namespace of its name, in the cluster of its
// namespace.
type NamespaceReconciler struct {
	hub   client.Client
	works work.Writer
	scope *template.Scope
}

// setup starts the reconciler with the manager.
func (r *NamespaceReconciler) setup(m ctrl.Manager) error {
	// Each cluster brings namespaces of its own, which go nowhere: they are not looked
	// through for each cluster.
	err := m.GetFieldIndexer().IndexField(context.Background(), &corev1.Namespace{}, propagatedNamespaces, func(namespace client.Object) []string {
		if !r.propagated(namespace) {
			return nil
		}
		return []string{"true"}
	})
	if err != nil {
		return fmt.Errorf("index namespaces: %w", err)
	}
	overrides := handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.enqueueMeant(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.enqueueMeant(ctx, q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.enqueueMeant(ctx, q, e.Object) },
	}
	return ctrl.NewControllerManagedBy(m).Named("namespace-sync").
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.pairsOf), builder.WithPredicates(namespaceChanged)).
		Watches(&clusterv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.pairsInCluster), builder.WithPredicates(clusterCreated)).
		Watches(&policyv1alpha1.ClusterOverridePolicy{}, overrides, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(options()).
		Complete(reconcile.Func(r.Reconcile))
}

// namespaceChanged drops the updates that a Work does not tell.
var namespaceChanged = predicate.Funcs{
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	},
}

// clusterCreated keeps the coming of clusters. Their changes do not count:
// clients delete Works when a cluster leaves, and must not get them back
// (contract section 6.7).
var clusterCreated = predicate.Funcs{
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// pairsOf are the pairs of a namespace; of an execution space, those that can go
// on now that there is a place for them.
func (r *NamespaceReconciler) pairsOf(ctx context.Context, namespace client.Object) []reconcile.Request {
	if cluster, ok := apis.ClusterOfExecutionSpace(namespace.GetName()); ok {
		return r.pairsIn(ctx, cluster)
	}
	if !r.propagated(namespace) {
		return nil
	}
	var clusters clusterv1alpha1.ClusterList
	if err := r.hub.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is stopping
	}
	requests := make([]reconcile.Request, 0, len(clusters.Items))
	for i := range clusters.Items {
		requests = append(requests, pair(clusters.Items[i].Name, namespace.GetName()))
	}
	return requests
}

func pair(cluster, namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: cluster, Name: namespace}}
}

func (r *NamespaceReconciler) pairsInCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.pairsIn(ctx, cluster.GetName())
}

func (r *NamespaceReconciler) pairsIn(ctx context.Context, cluster string) []reconcile.Request {
	var namespaces corev1.NamespaceList
	if err := r.hub.List(ctx, &namespaces, client.MatchingFields{propagatedNamespaces: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is stopping
	}
	requests := make([]reconcile.Request, 0, len(namespaces.Items))
	for i := range namespaces.Items {
		requests = append(requests, pair(cluster, namespaces.Items[i].Name))
	}
	return requests
}

// ocmClusterLabel marks what Open Cluster Management makes for one of its
// clusters, the cluster's namespace on the hub above all.
const ocmClusterLabel = "open-cluster-management.io/cluster-name"

// propagated says whether a namespace goes to the members. The one named default
// is in every cluster.
func (r *NamespaceReconciler) propagated(namespace metav1.Object) bool {
	switch labels := namespace.GetLabels(); {
	case namespace.GetDeletionTimestamp() != nil, namespace.GetName() == metav1.NamespaceDefault,
		labels[apis.SkipAutoPropagationLabel] == apis.LabelTrue, labels[ocmClusterLabel] != "":
		return false
	}
	return !r.scope.SkipsNamespace(namespace.GetName())
}

// Reconcile implements reconcile.Reconciler.
func (r *NamespaceReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var cluster clusterv1alpha1.Cluster
	err := r.hub.Get(ctx, types.NamespacedName{Name: request.Namespace}, &cluster, client.UnsafeDisableDeepCopy)
	if err != nil || cluster.DeletionTimestamp != nil || registration.Mirrored(&cluster) {
		return ctrl.Result{}, client.IgnoreNotFound(err) // an OCM member gets what a policy opts in to, and no more
	}
	var namespace corev1.Namespace
	err = r.hub.Get(ctx, types.NamespacedName{Name: request.Name}, &namespace, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && !r.propagated(&namespace) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read namespace %s: %w", request.Name, err)
	}
	policies, err := overridesFor(ctx, r.hub, "")
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted, err := namespaceTask(&namespace, &cluster, policies)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("send namespace %s to cluster %s: %w", namespace.Name, cluster.Name, err)
	}
	done, err := r.works.Send(ctx, wanted)
	if done == work.Blocked {
		return ctrl.Result{RequeueAfter: goneRetry}, err
	}
	return ctrl.Result{}, err
}

// namespaceTask is a namespace on its way to a cluster. It goes with the hub's.
func namespaceTask(namespace *corev1.Namespace, cluster *clusterv1alpha1.Cluster, policies override.Policies) (*work.Task, error) {
	typed := namespace.DeepCopy()
	typed.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	object, err := work.Unstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("encode the namespace: %w", err)
	}
	overridden, err := override.Apply(object, cluster, override.Select(policies, object))
	if err != nil {
		return nil, err
	}
	manifest.Prune(overridden.Object)
	form, err := work.NewForm(overridden.Object, work.SystemMarks(string(namespace.UID)))
	if err != nil {
		return nil, err
	}
	t := &work.Task{Cluster: cluster.Name, Form: form, Owners: work.OwnedBy("v1", "Namespace", namespace)}
	return t, t.NoteOverrides(overridden.Cluster, nil)
}

// enqueueMeant looks again at the namespaces that one of the policies means.
func (r *NamespaceReconciler) enqueueMeant(ctx context.Context, q queue, policies ...client.Object) {
	var specs []*policyv1alpha1.OverrideSpec
	for _, p := range policies {
		if p, ok := p.(*policyv1alpha1.ClusterOverridePolicy); ok {
			specs = append(specs, &p.Spec)
		}
	}
	var namespaces corev1.NamespaceList
	if err := r.hub.List(ctx, &namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return // the cache is stopping
	}
	for i := range namespaces.Items {
		n := &namespaces.Items[i]
		o, err := work.Unstructured(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
		if err != nil || !meansAny(specs, o) {
			continue
		}
		for _, request := range r.pairsOf(ctx, n) {
			q.Add(request)
		}
	}
}
