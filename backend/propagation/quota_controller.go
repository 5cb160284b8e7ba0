package propagation

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/propagation/work"
)

// QuotaReconciler makes a ResourceQuota in each cluster that a
// FederatedResourceQuota assigns a part to, and tells what they all use (contract
// section 8.7).
type QuotaReconciler struct {
	hub      client.Client
	writer   work.Writer
	events   *kube.Announcer
	troubles *troubles
	// enforced says that bindings are held to the quotas: what they ask for is then
	// what is used.
	enforced bool
}

// setup starts the reconciler with the manager.
func (r *QuotaReconciler) setup(m ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(m).Named("federated-resource-quota").
		For(&policyv1alpha1.FederatedResourceQuota{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&workv1alpha1.Work{}, handler.Funcs{CreateFunc: r.onWorkCreated, UpdateFunc: r.onWorkChanged, DeleteFunc: r.onWorkDeleted}).
		Watches(&clusterv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.assigning), builder.WithPredicates(clusterCreated)).
		WithOptions(options())
	if r.enforced {
		b = b.Watches(&workv1alpha2.ResourceBinding{}, handler.EnqueueRequestsFromMapFunc(r.holding), builder.WithPredicates(demandChanged))
	}
	return b.Complete(r)
}

// demandChanged drops the updates of bindings that ask for as much as before.
var demandChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*workv1alpha2.ResourceBinding)
	after, okAfter := e.ObjectNew.(*workv1alpha2.ResourceBinding)
	return ok && okAfter && before.Generation != after.Generation
}}

// holding are the quotas of a binding's namespace.
func (r *QuotaReconciler) holding(ctx context.Context, binding client.Object) []reconcile.Request {
	var quotas policyv1alpha1.FederatedResourceQuotaList
	if err := r.hub.List(ctx, &quotas, client.InNamespace(binding.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is stopping
	}
	requests := make([]reconcile.Request, 0, len(quotas.Items))
	for i := range quotas.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&quotas.Items[i])})
	}
	return requests
}

// demand is what the bindings of a namespace ask for, nil where nobody holds them
// to it.
func (r *QuotaReconciler) demand(ctx context.Context, namespace string) (corev1.ResourceList, error) {
	if !r.enforced {
		return nil, nil
	}
	var bindings workv1alpha2.ResourceBindingList
	if err := r.hub.List(ctx, &bindings, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list bindings of %s: %w", namespace, err)
	}
	demand := corev1.ResourceList{}
	for i := range bindings.Items {
		for name, quantity := range policy.Demand(&bindings.Items[i].Spec) {
			sum := demand[name]
			sum.Add(quantity)
			demand[name] = sum
		}
	}
	return demand, nil
}

// onWorkCreated finds, when the hub starts, Works whose quota went meanwhile.
func (r *QuotaReconciler) onWorkCreated(_ context.Context, e event.CreateEvent, q queue) {
	gatherQuota(e.Object, q)
}

func (r *QuotaReconciler) onWorkChanged(_ context.Context, e event.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*workv1alpha1.Work)
	after, okAfter := e.ObjectNew.(*workv1alpha1.Work)
	if ok && okAfter && statusChanged(before, after) {
		gatherQuota(after, q)
	}
}

func (r *QuotaReconciler) onWorkDeleted(_ context.Context, e event.DeleteEvent, q queue) {
	gatherQuota(e.Object, q)
}

func gatherQuota(work client.Object, q queue) {
	if namespace, name, ok := strings.Cut(quotaOf(work.GetLabels()), "/"); ok {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}, gatherFor)
	}
}

// assigning are the quotas that assign a part to a cluster which has come.
func (r *QuotaReconciler) assigning(ctx context.Context, cluster client.Object) []reconcile.Request {
	var quotas policyv1alpha1.FederatedResourceQuotaList
	if err := r.hub.List(ctx, &quotas, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is stopping
	}
	var requests []reconcile.Request
	for i := range quotas.Items {
		for _, assignment := range quotas.Items[i].Spec.StaticAssignments {
			if assignment.ClusterName == cluster.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&quotas.Items[i])})
			}
		}
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *QuotaReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var quota policyv1alpha1.FederatedResourceQuota
	err := r.hub.Get(ctx, request.NamespacedName, &quota, client.UnsafeDisableDeepCopy)
	gone := apierrors.IsNotFound(err) || err == nil && quota.DeletionTimestamp != nil
	if err != nil && !gone {
		return ctrl.Result{}, fmt.Errorf("read quota %s: %w", request, err)
	}
	known, err := works(ctx, r.hub, worksByQuota, request.String())
	if err != nil {
		return ctrl.Result{}, err
	}
	if gone {
		r.troubles.forget(request.NamespacedName)
		return ctrl.Result{}, r.drop(ctx, known, nil)
	}
	pending, err := r.assign(ctx, &quota, known)
	what := ""
	if err != nil {
		what = err.Error()
	}
	r.troubles.tell(r.events, request.NamespacedName, eventSyncWork, eventSyncWorkFailed, what, &quota)
	if err != nil {
		return ctrl.Result{}, err
	}
	result, err := r.tell(ctx, &quota, known)
	if pending && err == nil {
		result = ctrl.Result{RequeueAfter: goneRetry}
	}
	return result, err
}

// assign writes the Works of the parts and drops those of parts that are no more.
func (r *QuotaReconciler) assign(ctx context.Context, quota *policyv1alpha1.FederatedResourceQuota, known []workv1alpha1.Work) (pending bool, err error) {
	assigned := map[string]bool{}
	for i := range quota.Spec.StaticAssignments {
		assignment := &quota.Spec.StaticAssignments[i]
		assigned[assignment.ClusterName] = true
		var cluster clusterv1alpha1.Cluster
		err := r.hub.Get(ctx, types.NamespacedName{Name: assignment.ClusterName}, &cluster, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) || err == nil && cluster.DeletionTimestamp != nil {
			continue // its coming makes an event
		}
		if err != nil {
			return false, fmt.Errorf("read cluster %s: %w", assignment.ClusterName, err)
		}
		wanted, err := quotaTask(quota, assignment)
		if err != nil {
			return false, err
		}
		done, err := r.writer.Send(ctx, wanted)
		if err != nil {
			return false, err
		}
		pending = pending || done == work.Waiting || done == work.Blocked
		if done == work.Written {
			r.events.Routine(quota, nil, eventSyncWork, "Sync", "the part of cluster %s is sent", assignment.ClusterName)
		}
	}
	return pending, r.drop(ctx, known, assigned)
}

// drop deletes the Works of clusters that are assigned nothing.
func (r *QuotaReconciler) drop(ctx context.Context, known []workv1alpha1.Work, assigned map[string]bool) error {
	for i := range known {
		cluster, _ := apis.ClusterOfExecutionSpace(known[i].Namespace)
		if assigned[cluster] || known[i].DeletionTimestamp != nil {
			continue
		}
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: known[i].Namespace, Name: known[i].Name}}
		if err := r.hub.Delete(ctx, work); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete work %s/%s: %w", work.Namespace, work.Name, err)
		}
	}
	return nil
}

// tell writes what the clusters use, if that changed.
func (r *QuotaReconciler) tell(ctx context.Context, quota *policyv1alpha1.FederatedResourceQuota, known []workv1alpha1.Work) (ctrl.Result, error) {
	demand, err := r.demand(ctx, quota.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	status, err := quotaStatus(quota, known, demand)
	what := ""
	if err != nil {
		what = err.Error()
	}
	r.troubles.tell(r.events, client.ObjectKeyFromObject(quota), eventCollectStatus, eventCollectFailed, what, quota)
	if sameQuotaStatus(&quota.Status, &status) {
		return ctrl.Result{}, nil
	}
	identity := metav1.ObjectMeta{Namespace: quota.Namespace, Name: quota.Name, ResourceVersion: quota.ResourceVersion}
	before := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: identity, Status: quota.Status}
	after := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: identity, Status: status}
	if err := kube.PatchStatus(ctx, r.hub, before, after); err != nil {
		return kube.RetryStale(fmt.Errorf("write status of quota %s/%s: %w", quota.Namespace, quota.Name, err))
	}
	tell := r.events.Routine
	if len(before.Status.Overall) == 0 { // a new quota is rare, and looked for
		tell = func(about, _ runtime.Object, reason, action, note string, _ ...any) {
			kube.Tell(r.events, about, corev1.EventTypeNormal, reason, action, note)
		}
	}
	tell(quota, nil, eventAggregate, "AggregateStatus", "what the clusters report is summed up")
	tell(quota, nil, eventCollectStatus, "AggregateStatus", "what is used of the whole is known")
	return ctrl.Result{}, nil
}
