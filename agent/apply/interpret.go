package apply

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// troubles are questions about a Work's objects that nobody could answer.
type troubles struct{ reflect, health []error }

func (t *troubles) join() error { return errors.Join(append(t.reflect, t.health...)...) }

// interpret makes the entry of one object of the member. Where its status cannot
// be taken over for the moment, the one told before stays.
func (a *Applier) interpret(ctx context.Context, work *workv1alpha1.Work, observed *unstructured.Unstructured, id workv1alpha1.ResourceIdentifier, t *troubles) workv1alpha1.ManifestStatus {
	entry := workv1alpha1.ManifestStatus{Identifier: id}
	var err error
	if entry.Status, err = a.interpreter.Reflect(ctx, observed); err != nil {
		t.reflect = append(t.reflect, err)
		for i := range work.Status.ManifestStatuses {
			if known := &work.Status.ManifestStatuses[i]; known.Identifier == id {
				entry.Status = known.Status
			}
		}
	}
	if entry.Health, err = a.interpreter.Health(ctx, observed); err != nil {
		t.health = append(t.health, err)
	}
	return entry
}

// setDegraded says what could not be interpreted. A Work that never had such
// trouble does without the condition.
func (a *Applier) setDegraded(status *workv1alpha1.WorkStatus, work *workv1alpha1.Work, t troubles) {
	c := metav1.Condition{Type: workv1alpha1.WorkDegraded, Status: metav1.ConditionTrue}
	switch {
	case len(t.reflect) > 0:
		c.Reason, c.Message = workv1alpha1.ReasonReflectStatusFailed, brief(t.join())
	case len(t.health) > 0:
		c.Reason, c.Message = workv1alpha1.ReasonInterpretHealthFailed, brief(t.join())
	case meta.FindStatusCondition(status.Conditions, workv1alpha1.WorkDegraded) == nil:
		return
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, workv1alpha1.ReasonInterpreted, "Status and health are told."
	}
	a.set(status, work, c)
}

// reinterpret tells of all Works with objects of kinds that are interpreted in
// another way from now on; what was decided in the old way is forgotten.
func (a *Applier) reinterpret(affects func(schema.GroupVersionKind) bool) {
	affected := map[types.NamespacedName]struct{}{}
	a.mu.Lock()
	for resource, w := range a.watches {
		hit := false
		for kind := range w.kinds {
			hit = hit || affects(kind)
		}
		if !hit {
			continue
		}
		for work := range w.users {
			affected[work] = struct{}{}
		}
		for key := range a.memos {
			if key.resource == resource {
				delete(a.memos, key)
			}
		}
	}
	a.mu.Unlock()
	for work := range affected {
		a.notify(work.Namespace, work.Name)
	}
}
