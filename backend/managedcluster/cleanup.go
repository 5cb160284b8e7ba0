package managedcluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

const (
	// mostNamed bounds how many names a condition tells.
	mostNamed = 5
	// highestPriority is the last to be cleaned up.
	highestPriority = 100
)

// priorityOf is when an object is cleaned up: what has less goes first.
func priorityOf(object metav1.Object) int {
	priority, err := strconv.Atoi(object.GetAnnotations()[ocmv1.CleanupPriorityAnnotation])
	if err != nil || priority < 0 || priority > highestPriority {
		return 0
	}
	return priority
}

// nextGone are the objects whose turn it is: those of the least priority that is
// left.
func nextGone(objects []client.Object) []client.Object {
	var turn []client.Object
	for _, object := range objects {
		switch {
		case len(turn) == 0 || priorityOf(object) < priorityOf(turn[0]):
			turn = []client.Object{object}
		case priorityOf(object) == priorityOf(turn[0]):
			turn = append(turn, object)
		}
	}
	return turn
}

// remainingCondition names what holds up a cluster that is being deleted.
func remainingCondition(cluster *ocmv1.ManagedCluster, kind string, remaining []client.Object) metav1.Condition {
	finalizers := map[string]bool{}
	names := make([]string, len(remaining))
	for i, object := range remaining {
		names[i] = object.GetName()
		for _, finalizer := range object.GetFinalizers() {
			finalizers[finalizer] = true
		}
	}
	slices.Sort(names)
	more := ""
	if len(names) > mostNamed {
		more = fmt.Sprintf(" and %d more", len(names)-mostNamed)
		names = names[:mostNamed]
	}
	message := fmt.Sprintf("%d of kind %s still to go: %s%s.", len(remaining), kind, strings.Join(names, ", "), more)
	if available := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionAvailable); len(finalizers) > 0 && (available == nil || available.Status != metav1.ConditionTrue) {
		held := make([]string, 0, len(finalizers))
		for finalizer := range finalizers {
			held = append(held, finalizer)
		}
		slices.Sort(held)
		message += " The cluster's agent, which would take them out of the cluster first, is not available. To give up what they put there, remove from them: " + strings.Join(held, ", ") + "."
	}
	return metav1.Condition{Type: ocmv1.ConditionDeleting, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonResourceRemaining, Message: message}
}

func cleanCondition() metav1.Condition {
	return metav1.Condition{
		Type: ocmv1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonNoResource, Message: "Nothing of the cluster is left that would have to go first.",
	}
}

func cleanupErrorCondition(err error) metav1.Condition {
	return metav1.Condition{Type: ocmv1.ConditionDeleting, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonDeletingError, Message: "The hub could not " + err.Error() + "."}
}
