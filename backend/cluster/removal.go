package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
)

const (
	// recheckRemoval is how often a removal that waits looks again, beside the
	// events that lead it on.
	recheckRemoval = time.Second
	// recheckManifestWorks is the same for works of the other dialect, whose events
	// do not come here: not every hub has them.
	recheckManifestWorks = 200 * time.Millisecond
	// tactfulAfter is how long a removal may wait before it says so: one that
	// goes well is over by then.
	tactfulAfter = time.Second
	// repeatAfter is the least time between two different words about one wait.
	repeatAfter = 5 * time.Second
	// removalParallel bounds the writes of one removal.
	removalParallel = 16
)

// waiting says what a removal waits for; nil means for nothing.
type waiting struct{ reason, message string }

// remove takes a Cluster off the hub. Each step leads to the next by the events
// of what it deletes; all of them may be repeated. The order is that of contract
// section 4.5, with the Works deleted by name, since Kubernetes' own deletion of
// a namespace begins after five seconds and looks again after eight.
//
//	no binding names it ──► namespace terminating, Works deleted
//	    ──► agent, or hub (push), takes objects out of the member, Works go
//	        └── nobody there to do so: Works released, objects stay
//	    ──► ManifestWorks gone in the same way, which the mirror's clean-up deletes
//	    ──► namespace gone ──► Secrets, Leases, roles gone ──► finalizer off
//
// Only then the name is free (contract section 4.2 step 8).
func (r *Reconciler) remove(ctx context.Context, s *scope) (ctrl.Result, error) {
	name := s.stored.Name
	if !slices.Contains(s.stored.Finalizers, clusterv1alpha1.ClusterControllerFinalizer) {
		return ctrl.Result{}, nil // others have to let go
	}
	if !s.memory.unbound {
		if err := r.unbind(ctx, name); err != nil {
			return ctrl.Result{}, err
		}
		s.memory.unbound = true
	}
	wait, err := r.emptySpace(ctx, name, s.stored)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("empty namespace of cluster %s: %w", name, err)
	}
	if wait != nil {
		return ctrl.Result{RequeueAfter: recheckRemoval}, r.explain(ctx, s, *wait)
	}
	if wait, err = r.manifestWorks(ctx, s.stored); err != nil {
		return ctrl.Result{}, err
	}
	if wait != nil {
		return ctrl.Result{RequeueAfter: recheckManifestWorks}, r.explain(ctx, s, *wait)
	}
	for _, step := range []func(context.Context, *clusterv1alpha1.Cluster) error{
		r.removeSecrets,
		func(ctx context.Context, _ *clusterv1alpha1.Cluster) error { return r.removeTraces(ctx, name) },
		func(ctx context.Context, _ *clusterv1alpha1.Cluster) error { return r.unbind(ctx, name) }, // it may have been placed again
	} {
		if err := step(ctx, s.stored); err != nil {
			return ctrl.Result{}, err
		}
	}
	if s.stored.Spec.SyncMode == clusterv1alpha1.Pull {
		if err := r.revoked.Revoke(ctx, name, r.clock.Now()); err != nil {
			return ctrl.Result{}, err
		}
	}
	s.cluster.Finalizers = slices.DeleteFunc(s.cluster.Finalizers, func(f string) bool { return f == clusterv1alpha1.ClusterControllerFinalizer })
	if err := kube.Patch(ctx, r.hub, s.stored, s.cluster); client.IgnoreNotFound(err) != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("release cluster %s: %w", name, err)
	}
	r.forget(name)
	r.presence.Forget(name)
	r.events.Eventf(s.stored, nil, corev1.EventTypeNormal, EventRemoveExecutionSpace, "Remove", "the execution namespace is gone")
	log.FromContext(ctx).Info("cluster removed", "cluster", name)
	return ctrl.Result{}, nil
}

// emptySpace brings the execution namespace of a cluster to its end as far as it
// can. cluster is nil if there is none any more: then nobody is waited for.
func (r *Reconciler) emptySpace(ctx context.Context, name string, cluster *clusterv1alpha1.Cluster) (*waiting, error) {
	namespace := apis.ExecutionSpace(name)
	var space corev1.Namespace
	if err := r.live.Get(ctx, client.ObjectKey{Name: namespace}, &space); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if space.DeletionTimestamp == nil {
		if err := r.hub.Delete(ctx, &space, client.Preconditions{UID: &space.UID}); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	var works workv1alpha1.WorkList
	if err := r.hub.List(ctx, &works, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	held, err := r.deleteWorks(ctx, works.Items)
	if err != nil {
		return nil, err
	}
	if len(held) > 0 {
		why := "the cluster is gone"
		if cluster != nil {
			var present bool
			if present, why = r.presence.Present(ctx, cluster); present {
				return workWait(held, why), nil
			}
		}
		log.FromContext(ctx).Info("works released, their objects stay in the member", "cluster", name, "works", len(held), "reason", why)
		if err := r.releaseWorks(ctx, held); err != nil {
			return nil, err
		}
	}
	left, err := r.purger.Purge(ctx, namespace)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	return &waiting{ReasonWaitingForNamespace, "namespace " + namespace + " still holds " + strings.Join(left, ", ") + " with finalizers of others"}, nil
}

// deleteWorks deletes Works and returns those that a finalizer of ours holds.
func (r *Reconciler) deleteWorks(ctx context.Context, works []workv1alpha1.Work) ([]*workv1alpha1.Work, error) {
	var held []*workv1alpha1.Work
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(removalParallel)
	for i := range works {
		work := &works[i]
		if slices.Contains(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
			held = append(held, work)
		}
		if work.DeletionTimestamp == nil {
			group.Go(func() error { return client.IgnoreNotFound(r.hub.Delete(ctx, work)) })
		}
	}
	return held, group.Wait()
}

func workWait(held []*workv1alpha1.Work, who string) *waiting {
	names := make([]string, len(held))
	for i, work := range held {
		names[i] = work.Name
	}
	slices.Sort(names)
	return &waiting{ReasonWaitingForWorks, fmt.Sprintf("%s has to take the objects of %s out of the member: %s", who, joining.Counted(len(held), "work"), joining.Listed(names))}
}

// releaseWorks lets Works go whose objects nobody can take out of the member.
func (r *Reconciler) releaseWorks(ctx context.Context, works []*workv1alpha1.Work) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(removalParallel)
	for _, work := range works {
		group.Go(func() error {
			return client.IgnoreNotFound(joining.DropFinalizer(ctx, identity.NewLiveWriter(r.hub, r.live), work.DeepCopy(), workv1alpha1.ExecutionControllerFinalizer))
		})
	}
	return group.Wait()
}

// explain says on the Cluster what its removal waits for.
func (r *Reconciler) explain(ctx context.Context, s *scope, wait waiting) error {
	now := r.clock.Now()
	if s.memory.waitsSince.IsZero() {
		s.memory.waitsSince = now
	}
	before := meta.FindStatusCondition(s.stored.Status.Conditions, ConditionRemoving)
	switch {
	case now.Sub(s.memory.waitsSince) < tactfulAfter:
		return nil
	case before != nil && before.Reason == wait.reason && (before.Message == wait.message || now.Sub(s.memory.saidAt) < repeatAfter):
		return nil
	}
	meta.SetStatusCondition(&s.cluster.Status.Conditions, metav1.Condition{
		Type: ConditionRemoving, Status: metav1.ConditionTrue, Reason: wait.reason, Message: wait.message,
		ObservedGeneration: s.stored.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	if err := kube.PatchStatus(ctx, r.hub, s.stored, s.cluster); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("explain removal of cluster %s: %w", s.stored.Name, err)
	}
	s.memory.saidAt = now
	r.events.Eventf(s.stored, nil, corev1.EventTypeWarning, EventRemoveExecutionSpaceFailed, "Remove", "%s", wait.message)
	return nil
}

// removeSecrets deletes the credentials of a Cluster, and none that its spec
// merely names.
func (r *Reconciler) removeSecrets(ctx context.Context, c *clusterv1alpha1.Cluster) error {
	for _, ref := range []*clusterv1alpha1.LocalSecretReference{c.Spec.SecretRef, c.Spec.ImpersonatorSecretRef} {
		if ref == nil {
			continue
		}
		var secret corev1.Secret
		err := r.live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret)
		if err == nil && ownsSecret(c, &secret) {
			err = r.hub.Delete(ctx, &secret, client.Preconditions{UID: &secret.UID})
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete credential of cluster %s: %w", c.Name, err)
		}
	}
	return nil
}

// ownsSecret tells that a Secret is a credential of the Cluster: it belongs to
// it, or it bears the name and mark under which a join makes it and belongs to
// nobody else.
func ownsSecret(c *clusterv1alpha1.Cluster, secret *corev1.Secret) bool {
	for _, owner := range secret.OwnerReferences {
		if owner.Kind == clusterv1alpha1.ResourceKindCluster {
			return owner.UID == c.UID
		}
	}
	named := secret.Name == identity.CredentialSecret(c.Name) || secret.Name == identity.ImpersonatorSecret(c.Name)
	return named && secret.Labels[apis.SystemLabel] == apis.LabelTrue
}

// removeTraces deletes an agent's Leases, wherever it held them, and its roles.
// The Lease of the leader belongs to nobody and would keep the next agent of the
// name waiting (contract section 7.1).
func (r *Reconciler) removeTraces(ctx context.Context, name string) error {
	leases := []types.NamespacedName{{Namespace: apis.ClusterNamespace, Name: name}, {Namespace: apis.SystemNamespace, Name: identity.LeaderLease(name)}}
	var elsewhere coordinationv1.LeaseList
	if err := r.live.List(ctx, &elsewhere, client.MatchingFields{metav1.ObjectNameField: identity.LeaderLease(name)}); err != nil {
		return fmt.Errorf("list leases of cluster %s: %w", name, err)
	}
	for i := range elsewhere.Items {
		if namespace := elsewhere.Items[i].Namespace; namespace != apis.ClusterNamespace {
			leases = append(leases, types.NamespacedName{Namespace: namespace, Name: identity.LeaderLease(name)})
		}
	}
	for _, key := range leases {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := r.hub.Delete(ctx, lease); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete lease %s: %w", key, err)
		}
	}
	return identity.RemoveAccess(ctx, r.hub, name)
}

// sweep clears what is left of a cluster that is not registered: after a removal
// by force, and after a registration that was given up.
func (r *Reconciler) sweep(ctx context.Context, name string) (ctrl.Result, error) {
	if err := r.live.Get(ctx, client.ObjectKey{Name: name}, new(clusterv1alpha1.Cluster)); !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err // it came back; its event is on its way
	}
	var space corev1.Namespace
	err := r.live.Get(ctx, client.ObjectKey{Name: apis.ExecutionSpace(name)}, &space)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	exists := err == nil
	known := r.known(name)
	switch {
	case !exists && !known:
		return ctrl.Result{}, nil
	case exists && space.Labels[apis.SystemLabel] != apis.LabelTrue:
		return ctrl.Result{}, nil // not of our making
	case exists && space.DeletionTimestamp == nil && (!known || space.Annotations[identity.AnnotationPreparedFor] != ""):
		if age := r.clock.Now().Sub(space.CreationTimestamp.Time); age < sweepAfter {
			return ctrl.Result{RequeueAfter: sweepAfter - age}, nil
		}
	}
	wait, err := r.emptySpace(ctx, name, nil)
	if err != nil || wait != nil {
		return ctrl.Result{RequeueAfter: recheckRemoval}, err
	}
	if err := r.removeTraces(ctx, name); err != nil {
		return ctrl.Result{}, err
	}
	if known {
		if err := r.revoked.Revoke(ctx, name, r.clock.Now()); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.forget(name)
	log.FromContext(ctx).Info("remains of an unregistered cluster removed", "cluster", name)
	return ctrl.Result{}, nil
}
