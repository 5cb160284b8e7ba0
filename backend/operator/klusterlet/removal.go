package klusterlet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/component"
)

const (
	// removalPoll is how soon removal looks again at what it waits for.
	removalPoll = time.Second
	// removalGrace is how long an unreachable managed cluster is waited for.
	removalGrace = 5 * time.Minute
	// eventGivenUp is the reason of the Event about what stays when that is over: the Klusterlet itself goes then.
	eventGivenUp = "CleanupGivenUp"
)

// blocked says what removal waits for.
type blocked struct {
	reason, message string
	retry           time.Duration
}

func (b *blocked) Error() string { return b.message }

// remove takes a Klusterlet's agents away, in order, and lets the resource go.
func (r *Reconciler) remove(ctx context.Context, object *ocmoperatorv1.Klusterlet) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(object, ocmoperatorv1.KlusterletFinalizer) && !controllerutil.ContainsFinalizer(object, ocmoperatorv1.KlusterletHostedFinalizer) {
		return ctrl.Result{}, nil
	}
	p, err := newPlan(object, r.settings)
	if err != nil { // nothing was ever made of it
		return ctrl.Result{}, r.release(ctx, object, plan{name: object.Name})
	}
	for _, step := range []func(context.Context, *ocmoperatorv1.Klusterlet, plan) error{r.removeAgents, r.removeManaged, r.removeManagement} {
		if err := step(ctx, object, p); err != nil {
			return r.explain(ctx, object, err)
		}
	}
	return ctrl.Result{}, r.release(ctx, object, p)
}

// explain says in a condition what removal waits for.
func (r *Reconciler) explain(ctx context.Context, object *ocmoperatorv1.Klusterlet, cause error) (ctrl.Result, error) {
	before := object.DeepCopy()
	var wait *blocked
	if errors.As(cause, &wait) {
		set(object, ConditionCleanupBlocked, true, wait.reason, wait.message)
		return component.Conclude(ctrl.Result{RequeueAfter: wait.retry}, nil, kube.PatchStatus(ctx, r.client, before, object))
	}
	set(object, ConditionCleanupBlocked, true, reasonRemovalFailed, word(cause))
	if err := kube.PatchStatus(ctx, r.client, before, object); err != nil {
		log.FromContext(ctx).V(1).Info("status not written", "error", err)
	}
	return ctrl.Result{}, cause
}

func (r *Reconciler) release(ctx context.Context, object *ocmoperatorv1.Klusterlet, p plan) error {
	before := object.DeepCopy()
	controllerutil.RemoveFinalizer(object, ocmoperatorv1.KlusterletHostedFinalizer)
	controllerutil.RemoveFinalizer(object, ocmoperatorv1.KlusterletFinalizer)
	if err := kube.Patch(ctx, r.client, before, object); client.IgnoreNotFound(err) != nil {
		return err
	}
	r.forget(object.Name, p)
	return nil
}

// removeAgents ends the agents and waits for the last pod.
func (r *Reconciler) removeAgents(ctx context.Context, _ *ocmoperatorv1.Klusterlet, p plan) error {
	remaining, err := component.EndPods(ctx, r.client, p.labels())
	if err != nil {
		return err
	}
	if len(remaining) > 0 {
		return &blocked{reason: reasonPodsRemain, message: "Waiting for the agents' pods to end: " + strings.Join(remaining, ", "), retry: removalPoll}
	}
	return nil
}

// removeManaged cleans the managed cluster, unless it was never reached or has been unreachable for too long.
func (r *Reconciler) removeManaged(ctx context.Context, object *ocmoperatorv1.Klusterlet, p plan) error {
	if !p.mode.IsHosted() {
		return r.cleanManaged(ctx, object, p, r.client)
	}
	if !controllerutil.ContainsFinalizer(object, ocmoperatorv1.KlusterletHostedFinalizer) {
		return nil // the managed cluster was never reached
	}
	managed, _, err := r.reachManaged(ctx, p)
	if err == nil {
		if err := r.noteReached(ctx, object); err != nil {
			return err
		}
		err = r.cleanManaged(ctx, object, p, managed.Client)
	}
	var missing errNoManagedSecret
	if !component.IsUnreachable(err) && !errors.As(err, &missing) && !errors.Is(err, component.ErrNoKubeconfig) {
		return err
	}
	since, failed := r.unreachableSince(ctx, object)
	if failed != nil {
		return failed
	}
	until := since.Add(removalGrace)
	if left := until.Sub(r.now()); left > 0 {
		return &blocked{
			reason: reasonManagedUnreachable, retry: min(left, managedRetry),
			message: fmt.Sprintf("The managed cluster cannot be reached (%s); its clean-up is given up at %s. Then stay there: %s",
				word(err), until.UTC().Format(time.RFC3339), p.managedSide()),
		}
	}
	r.events.Eventf(object, nil, corev1.EventTypeWarning, eventGivenUp, "Remove", "The managed cluster could not be reached (%s). There stay: %s", word(err), p.managedSide())
	log.FromContext(ctx).Info("clean-up of the managed cluster given up", "cluster", object.Spec.ClusterName, "error", word(err))
	return nil
}

// managedSide words what is made on a managed cluster for this Klusterlet.
func (p plan) managedSide() string {
	return fmt.Sprintf("namespace %s, roles and bindings open-cluster-management:%s-…, the records of applied works, and unless others use them namespace %s and the kinds %s",
		p.managedNamespace, p.name, ocmoperatorv1.AgentAddonNamespace, strings.Join(agentKinds, ", "))
}

// noteReached forgets that the managed cluster was missed: if it is once more, the time is its own.
func (r *Reconciler) noteReached(ctx context.Context, object *ocmoperatorv1.Klusterlet) error {
	before := object.DeepCopy()
	delete(object.Annotations, ocmoperatorv1.EvictionTimestampAnnotation)
	return kube.Patch(ctx, r.client, before, object)
}

// unreachableSince reads from, or notes on, the Klusterlet when its managed cluster was first missed during removal.
func (r *Reconciler) unreachableSince(ctx context.Context, object *ocmoperatorv1.Klusterlet) (time.Time, error) {
	if since, err := time.Parse(time.RFC3339, object.Annotations[ocmoperatorv1.EvictionTimestampAnnotation]); err == nil {
		return since, nil
	}
	before, now := object.DeepCopy(), r.now()
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[ocmoperatorv1.EvictionTimestampAnnotation] = now.UTC().Format(time.RFC3339)
	return now, kube.Patch(ctx, r.client, before, object)
}

// cleanManaged removes what was made on the managed cluster. What other Klusterlets there share with this one stays.
func (r *Reconciler) cleanManaged(ctx context.Context, object *ocmoperatorv1.Klusterlet, p plan, managed client.Client) error {
	if err := r.releaseWorks(ctx, object, managed); err != nil {
		return err
	}
	objects, err := component.Render(r.settings.Manifests, managedManifest, p.values())
	if err != nil {
		return err
	}
	last, err := isLast(ctx, managed, p.name)
	if err != nil {
		return err
	}
	var namespaces []client.Object
	slices.Reverse(objects) // the aggregated role before what it is made of, or the cluster would make it anew
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind != "Namespace" {
			if err := component.Remove(ctx, managed, o); err != nil {
				return err
			}
			continue
		}
		if o.GetName() != ocmoperatorv1.AgentAddonNamespace || last {
			namespaces = append(namespaces, o)
		}
	}
	if err := component.Remove(ctx, managed, namespaces...); err != nil {
		return err
	}
	if !last {
		return nil
	}
	return removeUnusedKinds(ctx, managed)
}

// isLast says that no other Klusterlet uses the managed cluster.
func isLast(ctx context.Context, managed client.Client, name string) (bool, error) {
	list := &corev1.NamespaceList{}
	if err := managed.List(ctx, list, client.HasLabels{ocmoperatorv1.KlusterletNamespaceLabel}); err != nil {
		return false, fmt.Errorf("list agent namespaces: %w", err)
	}
	for i := range list.Items {
		if n := &list.Items[i]; n.Labels[ocmoperatorv1.KlusterletNamespaceLabel] != name && n.DeletionTimestamp == nil {
			return false, nil
		}
	}
	return true, nil
}

// removeManagement removes what was made where the agents ran.
func (r *Reconciler) removeManagement(ctx context.Context, _ *ocmoperatorv1.Klusterlet, p plan) error {
	secret := func(name string) client.Object {
		s := &corev1.Secret{}
		s.Name, s.Namespace = name, p.agentNamespace
		return s
	}
	if err := component.Remove(ctx, r.client, secret(ocmoperatorv1.HubKubeconfigSecret)); err != nil {
		return err
	}
	for _, c := range p.credentials() {
		if err := component.Remove(ctx, r.client, secret(c.Secret.Name)); err != nil {
			return err
		}
	}
	objects, err := component.Render(r.settings.Manifests, managementManifest, p.values())
	if err != nil {
		return err
	}
	for i := len(objects) - 1; i >= 0; i-- { // the namespace stands first
		if err := component.Remove(ctx, r.client, objects[i]); err != nil {
			return err
		}
	}
	return nil
}
