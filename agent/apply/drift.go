package apply

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// driftQuiet is how long nothing new is told of drift: something in the member may
// change an object as often as we set it back, and each telling is a write on the
// hub.
const driftQuiet = time.Minute

// setDrifted tells of objects that were as the Work wants them, were changed in the
// member and have been set back. The time is in the message too, so that each
// telling differs from the last.
func (a *Applier) setDrifted(status *workv1alpha1.WorkStatus, work *workv1alpha1.Work, repaired []string) {
	known := meta.FindStatusCondition(status.Conditions, workv1alpha1.WorkDrifted)
	if known != nil && known.ObservedGeneration != work.Generation {
		meta.RemoveStatusCondition(&status.Conditions, workv1alpha1.WorkDrifted)
		known = nil
	}
	now := a.clock.Now()
	if len(repaired) == 0 || known != nil && now.Sub(known.LastTransitionTime.Time) < driftQuiet {
		return
	}
	meta.RemoveStatusCondition(&status.Conditions, workv1alpha1.WorkDrifted) // else its time stayed
	a.set(status, work, metav1.Condition{Type: workv1alpha1.WorkDrifted, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonDriftRepaired,
		Message: strings.Join(repaired, ", ") + " was changed in the cluster and set back at " + now.UTC().Format(time.RFC3339) + "."})
}
