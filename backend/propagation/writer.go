package propagation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// outcome is what came of a task.
type outcome int

const (
	same    outcome = iota // the Work says it already
	written                // the Work was created or changed
	waiting                // there is no execution space yet: its event leads on
	blocked                // an earlier Work of the name is still going
	foreign                // the Work belongs to a binding, which comes first
)

// attempts bounds how often a write starts over because the cache was behind.
const attempts = 4

// writer writes Works. It asks the cache, and the API itself only where the cache
// was wrong.
type writer struct {
	hub  client.Client
	live client.Reader
}

// send makes the Work of a task say what it should.
func (w writer) send(ctx context.Context, t *task) (outcome, error) {
	key := types.NamespacedName{Namespace: t.namespace(), Name: t.form.work}
	var stored workv1alpha1.Work
	err := w.hub.Get(ctx, key, &stored, client.UnsafeDisableDeepCopy)
	for range attempts {
		var done outcome
		switch {
		case err == nil:
			done, err = w.change(ctx, t, &stored)
		case apierrors.IsNotFound(err):
			done, err = w.create(ctx, t)
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return done, describeWork(key, err)
		}
		stored = workv1alpha1.Work{}
		err = w.live.Get(ctx, key, &stored)
	}
	return same, describeWork(key, err)
}

func describeWork(key types.NamespacedName, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write work %s: %w", key, err)
}

func (w writer) create(ctx context.Context, t *task) (outcome, error) {
	work, err := t.made()
	if err != nil {
		return same, err
	}
	err = w.hub.Create(ctx, work)
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return waiting, nil
	}
	return written, err
}

func (w writer) change(ctx context.Context, t *task, stored *workv1alpha1.Work) (outcome, error) {
	if stored.DeletionTimestamp != nil {
		return blocked, nil
	}
	if other, mine := bindingOf(stored.Labels), bindingOf(t.labels); other != "" && other != mine {
		if mine == "" {
			return foreign, nil
		}
		if err := w.ownerless(ctx, stored, other); err != nil {
			return same, err
		}
	}
	work, err := t.changed(stored)
	if err != nil || work == nil {
		return same, err
	}
	return written, w.hub.Update(ctx, work)
}

// ownerless refuses a Work whose binding is another one that still exists: two
// objects of one name and kind, but of different groups, meet in one Work.
func (w writer) ownerless(ctx context.Context, stored *workv1alpha1.Work, id string) error {
	name, ok := referenceOf(stored.Annotations)
	if !ok {
		return nil
	}
	owner := newBinding(name)
	err := w.hub.Get(ctx, name, owner)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read binding %s: %w", name, err)
	}
	if _, current := owner.PermanentID(); current != id || owner.GetDeletionTimestamp() != nil {
		return nil
	}
	return fmt.Errorf("the work belongs to binding %s; two objects of one kind and name cannot go to one cluster", name)
}

// bindingOf is the permanent id of the binding that a Work belongs to, "" if to none.
func bindingOf(labels map[string]string) string {
	if id := labels[workv1alpha2.ResourceBindingPermanentIDLabel]; id != "" {
		return id
	}
	return labels[workv1alpha2.ClusterResourceBindingPermanentIDLabel]
}

// referenceOf is the name of the binding that a Work belongs to; its namespace is
// empty for a ClusterResourceBinding.
func referenceOf(annotations map[string]string) (types.NamespacedName, bool) {
	if name := annotations[workv1alpha2.ResourceBindingNameAnnotation]; name != "" {
		return types.NamespacedName{Namespace: annotations[workv1alpha2.ResourceBindingNamespaceAnnotation], Name: name}, true
	}
	name := annotations[workv1alpha2.ClusterResourceBindingNameAnnotation]
	return types.NamespacedName{Name: name}, name != ""
}

// boundObject is a binding of either kind, for clients.
type boundObject interface {
	client.Object
	workv1alpha2.Binding
}

// newBinding returns an empty binding of the kind that a name is of: those
// without a namespace are ClusterResourceBindings.
func newBinding(name types.NamespacedName) boundObject {
	if name.Namespace == "" {
		return &workv1alpha2.ClusterResourceBinding{}
	}
	return &workv1alpha2.ResourceBinding{}
}

// unstructuredOf converts a typed object, whose kind must be set.
func unstructuredOf(object any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: fields}, nil
}
