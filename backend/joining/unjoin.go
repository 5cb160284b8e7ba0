package joining

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/reach"
)

// UnjoinRequest removes a cluster that was joined in push mode.
type UnjoinRequest struct {
	Name string
	// Namespace of the accounts in the member; empty for karmada-cluster.
	Namespace string
	// Hub acts on the hub API as whoever asked.
	Hub client.WithWatch
	// Member reaches the member with the operator's credential; nil leaves the
	// member as it is.
	Member *rest.Config
	// Force takes away, once Wait is over, what still holds the cluster.
	Force bool
	// Wait bounds the time the hub gets; it must be positive.
	Wait time.Duration
	// DryRun says what would be done and does nothing.
	DryRun bool
	// Progress is told each step; it may be nil.
	Progress Progress
}

// Unjoin removes the cluster from the hub, waits until it is gone and then cleans
// the member (contract section 4.4). It waits on events, so it ends when the hub
// has finished and not at the next look. If the time is over it fails and names
// what blocks; with Force it goes on instead.
func Unjoin(ctx context.Context, request UnjoinRequest) error {
	if request.Wait <= 0 {
		return fault.Invalid("--wait must be longer than nothing").WithField("wait", "must be positive")
	}
	var cluster clusterv1alpha1.Cluster
	err := request.Hub.Get(ctx, client.ObjectKey{Name: request.Name}, &cluster)
	switch {
	case apierrors.IsNotFound(err):
		return fault.NotFound("the hub has no cluster %s", request.Name).WithFix("see `kubectl get clusters` on the hub")
	case err != nil:
		return hubFault("read cluster "+request.Name, err)
	case cluster.Spec.SyncMode == clusterv1alpha1.Pull:
		return fault.Invalid("cluster %s calls the hub (pull): unjoin is for clusters that the hub calls", request.Name).
			WithFix("run muster-agent unregister " + request.Name + " where kubectl reaches the member")
	}
	clean := Cleanup{Member: request.Member, Cluster: request.Name, Namespace: request.Namespace, ID: cluster.Spec.ID, Progress: request.Progress}
	if request.DryRun {
		return dryUnjoin(ctx, request, &cluster)
	}
	if err := checkMember(ctx, clean); err != nil {
		return err
	}
	if err := removeFromHub(ctx, request, &cluster); err != nil {
		return err
	}
	if request.Member == nil {
		request.Progress.say("clean", StepSkipped, "the member was left as it is: no kubeconfig for it was given")
		return nil
	}
	return clean.Run(ctx)
}

// checkMember refuses a kubeconfig of the wrong cluster before anything is
// removed. A member that does not answer is no reason to stop here.
func checkMember(ctx context.Context, clean Cleanup) error {
	if clean.Member == nil || clean.ID == "" {
		return nil
	}
	client, err := reach.NewClient(clean.Member)
	if err != nil {
		return err
	}
	id, err := reach.ID(ctx, client)
	if err == nil && id != clean.ID {
		return fault.Conflict("the kubeconfig leads to cluster %s, but %s was registered from %s: nothing was removed", id, clean.Cluster, clean.ID).
			WithFix("choose the right context with --cluster-context")
	}
	return nil
}

func dryUnjoin(ctx context.Context, request UnjoinRequest, cluster *clusterv1alpha1.Cluster) error {
	var works workv1alpha1.WorkList
	if err := request.Hub.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(cluster.Name))); err != nil {
		return hubFault("list works", err)
	}
	request.Progress.say("delete", StepSkipped, fmt.Sprintf("would delete cluster %s, its credentials and %s with what they put into the member", cluster.Name, Counted(len(works.Items), "work")))
	if request.Member != nil {
		request.Progress.say("clean", StepSkipped, "would remove account "+MemberAccount(cluster.Name)+", role "+MemberRole(cluster.Name)+" and, if nothing else uses it, the namespace of the accounts from the member")
	}
	return nil
}

func removeFromHub(ctx context.Context, request UnjoinRequest, cluster *clusterv1alpha1.Cluster) error {
	limit, cancel := context.WithTimeout(ctx, request.Wait)
	defer cancel()
	err := request.Progress.run("delete", "delete cluster "+cluster.Name, func() error {
		err := request.Hub.Delete(limit, cluster.DeepCopy(), client.Preconditions{UID: &cluster.UID})
		return hubFaultOrNil("delete cluster "+cluster.Name, ignoreNotFound(err))
	})
	if err != nil {
		return err
	}
	request.Progress.say("wait", StepRunning, "wait until the hub has let go of "+cluster.Name)
	gone, err := awaitGone(limit, request.Hub, cluster)
	switch {
	case gone:
		request.Progress.say("wait", StepDone, "the hub has let go of "+cluster.Name)
		return nil
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && limit.Err() == nil:
		return err
	}
	blockers := FindBlockers(ctx, request.Hub, cluster)
	if !request.Force {
		return fault.Unavailable("cluster %s is still there after %s; it waits for: %s", cluster.Name, request.Wait, explainBlockers(blockers)).
			WithFix("give it longer with --wait, or leave the member's objects in place with --force")
	}
	request.Progress.say("wait", StepFailed, "time is over; waiting for: "+explainBlockers(blockers))
	return ForceRemoval(ctx, request.Hub, cluster, request.Progress)
}

func hubFaultOrNil(doing string, err error) error {
	if err == nil {
		return nil
	}
	return hubFault(doing, err)
}

// awaitGone watches the Cluster until it is gone or ctx ends. A cluster of the
// same name that came after it does not count.
func awaitGone(ctx context.Context, hub client.WithWatch, cluster *clusterv1alpha1.Cluster) (bool, error) {
	for {
		var list clusterv1alpha1.ClusterList
		only := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", cluster.Name)}
		if err := hub.List(ctx, &list, only); err != nil {
			return false, hubFault("read cluster "+cluster.Name, err)
		}
		if !slices.ContainsFunc(list.Items, func(c clusterv1alpha1.Cluster) bool { return c.UID == cluster.UID }) {
			return true, nil
		}
		watcher, err := hub.Watch(ctx, &list, only, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
		if err != nil {
			return false, hubFault("watch cluster "+cluster.Name, err)
		}
		gone := sawDeletion(ctx, watcher, cluster)
		watcher.Stop()
		if gone {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// sawDeletion reads the watch until it ends.
func sawDeletion(ctx context.Context, watcher watch.Interface, cluster *clusterv1alpha1.Cluster) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false
			}
			current, ok := event.Object.(*clusterv1alpha1.Cluster)
			if ok && event.Type == watch.Deleted && current.UID == cluster.UID {
				return true
			}
		}
	}
}

// ForceRemoval takes away the finalizers that hold a cluster and its Works, so
// that the hub forgets both; what is in the member stays there (contract section
// 4.4 step 2). It goes on over single failures and tells them.
func ForceRemoval(ctx context.Context, hub client.Client, cluster *clusterv1alpha1.Cluster, progress Progress) error {
	return progress.run("force", "take away what holds "+cluster.Name+"; its objects stay in the member", func() error {
		var works workv1alpha1.WorkList
		if err := hub.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(cluster.Name))); err != nil {
			progress.say("force", StepFailed, hubFault("list works", err).Error())
		}
		for i := range works.Items {
			if err := DropFinalizer(ctx, hub, &works.Items[i], workv1alpha1.ExecutionControllerFinalizer); err != nil {
				progress.say("force", StepFailed, err.Error())
			}
		}
		namespace := &corev1.Namespace{}
		namespace.Name = apis.ExecutionSpace(cluster.Name)
		if err := DropFinalizer(ctx, hub, namespace, string(corev1.FinalizerKubernetes)); err != nil {
			progress.say("force", StepFailed, err.Error())
		}
		return DropFinalizer(ctx, hub, cluster.DeepCopy(), clusterv1alpha1.ClusterControllerFinalizer)
	})
}

// DropFinalizer removes one finalizer of an object, if it has it.
func DropFinalizer(ctx context.Context, hub client.Client, object client.Object, finalizer string) error {
	uid := object.GetUID()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := hub.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return ignoreNotFound(err)
		}
		kept := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool { return name == finalizer })
		if len(kept) == len(object.GetFinalizers()) || uid != "" && object.GetUID() != uid {
			return nil
		}
		object.SetFinalizers(kept)
		return ignoreNotFound(hub.Update(ctx, object))
	})
	return hubFaultOrNil("release "+object.GetName(), err)
}
