package component

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflictRetry is how soon a reconcile is repeated whose resource somebody changed meanwhile.
const conflictRetry = 200 * time.Millisecond

// Conclude joins the result of a reconcile with that of writing its status. A resource that changed meanwhile is looked at again; one that
// is gone needs no status.
func Conclude(result ctrl.Result, err, written error) (ctrl.Result, error) {
	switch {
	case err != nil || client.IgnoreNotFound(written) == nil:
		return result, err
	case apierrors.IsConflict(written):
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	return ctrl.Result{}, written
}
