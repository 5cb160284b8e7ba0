package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// staleRetry is when an object is looked at again that somebody else wrote
// meanwhile: the cache will know by then.
const staleRetry = 20 * time.Millisecond

// RetryStale turns the errors of a reconcile's writes that came too late into
// another look. A controller that drops some events, those of its own status
// writes above all, must not count on an event to bring it back.
func RetryStale(err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, err
}

// Patch writes what differs between before and after, except their status, and
// nothing if nothing differs. The write fails with a conflict if the object has
// changed since before was read, since lists such as taints are replaced whole.
// after holds the stored object afterwards.
func Patch[T client.Object](ctx context.Context, c client.Client, before, after T) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	return c.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// PatchStatus is Patch for the status. That of before is the whole one of its version.
func PatchStatus[T client.Object](ctx context.Context, c client.Client, before, after T) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	return c.Status().Patch(ctx, after, statusPatch{client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), before.GetResourceVersion()})
}

// statusPatch is a patch of the whole status that an object has in a version. Who
// stores it there can do without the difference.
type statusPatch struct {
	client.Patch
	version string
}
