package clustermanager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/component"
)

// remove takes a hub away, in order, and lets the resource go.
func (r *Reconciler) remove(ctx context.Context, object *ocmoperatorv1.ClusterManager) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(object, ocmoperatorv1.ClusterManagerFinalizer) {
		return ctrl.Result{}, nil
	}
	p, err := newPlan(object, r.settings)
	if err != nil { // nothing was ever made of it
		return ctrl.Result{}, r.release(ctx, object)
	}
	s := &scope{object: object, plan: p}
	for _, step := range []func(context.Context, *scope) error{
		r.reachForRemoval, r.removeClusters, r.removeKinds, r.removeWebhooks, r.removeAccounts, r.removeNamespaces,
	} {
		if err := step(ctx, s); err != nil {
			return r.explain(ctx, object, err)
		}
	}
	return ctrl.Result{}, r.release(ctx, object)
}

// explain says in a condition what removal waits for.
func (r *Reconciler) explain(ctx context.Context, object *ocmoperatorv1.ClusterManager, cause error) (ctrl.Result, error) {
	before := object.DeepCopy()
	var wait *blocked
	if errors.As(cause, &wait) {
		set(object, ConditionCleanupBlocked, true, wait.reason, wait.message)
		return component.Conclude(ctrl.Result{RequeueAfter: wait.retry}, nil, kube.PatchStatus(ctx, r.client, before, object))
	}
	set(object, ConditionCleanupBlocked, true, reasonRemovalFailed, cause.Error())
	if err := kube.PatchStatus(ctx, r.client, before, object); err != nil {
		log.FromContext(ctx).V(1).Info("status not written", "error", err)
	}
	return ctrl.Result{}, cause
}

func (r *Reconciler) release(ctx context.Context, object *ocmoperatorv1.ClusterManager) error {
	before := object.DeepCopy()
	controllerutil.RemoveFinalizer(object, ocmoperatorv1.ClusterManagerFinalizer)
	if err := kube.Patch(ctx, r.client, before, object); client.IgnoreNotFound(err) != nil {
		return err
	}
	r.secrets.Forget(object.Name)
	r.clusters.Forget(client.ObjectKey{Namespace: object.Name, Name: ocmoperatorv1.ExternalHubKubeconfigSecret})
	return nil
}

// reachForRemoval finds the hub. One that was never reached has nothing of ours.
func (r *Reconciler) reachForRemoval(ctx context.Context, s *scope) error {
	if !s.plan.hosted {
		s.hub = &component.Remote{Client: r.client, Config: r.config}
		return nil
	}
	hub, reason, err := r.reachHub(ctx, s.plan)
	if err == nil {
		s.hub = hub
		return nil
	}
	if meta.FindStatusCondition(s.object.Status.Conditions, ocmoperatorv1.ConditionApplied) == nil {
		return nil
	}
	return &blocked{reason: reason, retry: hubRetry, message: "The hub has to be cleaned up, and cannot be: " + err.Error()}
}

// removeWebhooks takes the webhook configurations from the hub's API server, before those who answer it go.
func (r *Reconciler) removeWebhooks(ctx context.Context, s *scope) error {
	if s.hub == nil {
		return nil
	}
	configurations, err := s.plan.configurations(r.settings.Webhooks, nil)
	if err != nil {
		return err
	}
	return component.Remove(ctx, s.hub.Client, configurations...)
}

func (r *Reconciler) removeAccounts(ctx context.Context, s *scope) error {
	remaining, err := component.EndPods(ctx, r.client, s.plan.labels())
	if err != nil {
		return err
	}
	if len(remaining) > 0 { // the hub gives up its Lease while it has the right to
		return &blocked{reason: reasonPodsRemain, retry: removalPoll, message: "Waiting for the hub's pods to end: " + strings.Join(remaining, ", ")}
	}
	if s.hub == nil {
		return nil
	}
	objects, err := r.accounts(s.plan)
	if err != nil {
		return err
	}
	if err := component.Remove(ctx, s.hub.Client, objects...); err != nil {
		return err
	}
	return removeHubsOwn(ctx, s.hub.Client)
}

// removeNamespaces deletes the components' namespace, on the hub first.
func (r *Reconciler) removeNamespaces(ctx context.Context, s *scope) error {
	sides := []client.Client{r.client}
	if s.hub != nil {
		sides = s.sides(r)
	}
	for _, c := range sides {
		if err := component.Remove(ctx, c, s.plan.namespaceObject()); err != nil {
			return fmt.Errorf("remove namespace: %w", err)
		}
	}
	return r.removeOperatorNamespace(ctx, s)
}
