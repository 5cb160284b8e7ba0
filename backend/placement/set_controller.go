package placement

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/kube"
)

// SetReconciler keeps the two sets that always exist, and tells of every set
// whether it has clusters.
type SetReconciler struct{ hub client.Client }

// SetupWithManager starts the reconciler with the manager.
func (r *SetReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("managedclusterset").
		For(&ocmv1beta2.ManagedClusterSet{}).
		Watches(&ocmv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.allSets), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			for name := range permanent {
				queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
			}
			return nil
		})).
		Complete(r)
}

// permanent are the selectors of the sets that always exist.
var permanent = map[string]ocmv1beta2.ManagedClusterSelector{
	ocmv1.DefaultClusterSet: {SelectorType: ocmv1beta2.ExclusiveClusterSetLabel},
	ocmv1.GlobalClusterSet:  {SelectorType: ocmv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}},
}

// setOwner is the field manager of the sets that always exist.
const setOwner = "muster"

// allSets leads from a cluster to all sets: it may leave one and come to another.
func (r *SetReconciler) allSets(ctx context.Context, _ client.Object) []reconcile.Request {
	var sets ocmv1beta2.ManagedClusterSetList
	if err := r.hub.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
		return nil // a cache that was filled does not fail
	}
	requests := make([]reconcile.Request, len(sets.Items))
	for i := range sets.Items {
		requests[i].Name = sets.Items[i].Name
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *SetReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	stored := new(ocmv1beta2.ManagedClusterSet)
	err := r.hub.Get(ctx, request.NamespacedName, stored)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.create(ctx, request.Name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster set %s: %w", request.Name, err)
	}
	if stored.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // one that always exists comes back when it is gone
	}
	set := stored.DeepCopy()
	if wanted, ok := permanent[set.Name]; ok && set.Annotations[ocmv1beta2.AutoUpdateAnnotation] != "false" {
		set.Spec.ClusterSelector = wanted
	}
	if !equality.Semantic.DeepEqual(set.Spec, stored.Spec) {
		err = kube.Patch(ctx, r.hub, stored, set)
		return ctrl.Result{}, r.said(err, "put back selector of", set.Name) // what was put back comes back as an event
	}
	members, err := r.count(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	meta.SetStatusCondition(&set.Status.Conditions, emptyCondition(members))
	return ctrl.Result{}, r.said(kube.PatchStatus(ctx, r.hub, stored, set), "update status of", set.Name)
}

// create makes a set that always exists. It does so by apply: an API server lets
// the first POST of a kind that is younger than two seconds wait for two more.
func (r *SetReconciler) create(ctx context.Context, name string) error {
	selector, ok := permanent[name]
	if !ok {
		return nil
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&ocmv1beta2.ManagedClusterSetSpec{ClusterSelector: selector})
	if err != nil {
		return fmt.Errorf("encode cluster set %s: %w", name, err)
	}
	set := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	set.SetGroupVersionKind(ocmv1beta2.GroupVersion.WithKind("ManagedClusterSet"))
	set.SetName(name)
	err = r.hub.Apply(ctx, client.ApplyConfigurationFromUnstructured(set), client.FieldOwner(setOwner))
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("create cluster set %s: %w", name, err)
	}
	return nil
}

// count is how many clusters a set has. One whose selector cannot be understood
// has none.
func (r *SetReconciler) count(ctx context.Context, set *ocmv1beta2.ManagedClusterSet) (int, error) {
	members, err := set.Members()
	if err != nil {
		return 0, nil
	}
	var clusters ocmv1.ManagedClusterList
	if err := r.hub.List(ctx, &clusters, client.MatchingLabelsSelector{Selector: members}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list clusters of set %s: %w", set.Name, err)
	}
	return len(clusters.Items), nil
}

// said leaves out what comes back as an event: a change that got in between, and
// an object that is gone.
func (r *SetReconciler) said(err error, verb, name string) error {
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s cluster set %s: %w", verb, name, err)
}
