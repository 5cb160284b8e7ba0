package work

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Outcome is what came of a task.
type Outcome int

// The outcomes.
const (
	// Same: the Work says it already.
	Same Outcome = iota
	// Written: the Work was created or changed.
	Written
	// Waiting: there is no execution space yet. Its coming makes an event.
	Waiting
	// Blocked: an earlier Work of the name is still going.
	Blocked
	// Foreign: the Work belongs to a binding, which comes first.
	Foreign
)

// attempts bounds how often a write starts over because the cache was behind.
const attempts = 4

// trusted is how long a Work that we created counts for more than a cache without
// it.
const trusted = 5 * time.Second

// Writer writes Works. It asks the cache, and the API itself only where the cache
// was wrong.
type Writer struct {
	// Hub reads from a cache, Live from the API.
	Hub  client.Client
	Live client.Reader
}

// Send makes the Work of a task say what it should.
func (w Writer) Send(ctx context.Context, t *Task) (Outcome, error) {
	key := t.Key()
	var stored workv1alpha1.Work
	err := w.Hub.Get(ctx, key, &stored, client.UnsafeDisableDeepCopy)
	if made := t.Known; apierrors.IsNotFound(err) && made != nil && time.Since(made.CreationTimestamp.Time) < trusted {
		stored, err = *made, nil
	}
	for range attempts {
		var done Outcome
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
		err = w.Live.Get(ctx, key, &stored)
	}
	return Same, describeWork(key, err)
}

func describeWork(key types.NamespacedName, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write work %s: %w", key, err)
}

func (w Writer) create(ctx context.Context, t *Task) (Outcome, error) {
	work, err := t.Made()
	if err != nil {
		return Same, err
	}
	err = w.Hub.Create(ctx, work)
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return Waiting, nil
	}
	if err != nil {
		return Written, sized(err, work)
	}
	t.Known = work
	return Written, nil
}

// sized adds to the refusal of a Work that is too large how large it is, and what to
// do: the store says neither.
func sized(err error, work *workv1alpha1.Work) error {
	if err == nil || !apierrors.IsRequestEntityTooLargeError(err) && !strings.Contains(err.Error(), "request is too large") {
		return err
	}
	size := 0
	for i := range work.Spec.Workload.Manifests {
		size += len(work.Spec.Workload.Manifests[i].Raw)
	}
	return fmt.Errorf("the object takes %d bytes as it is sent, quotes and line ends escaped, more than the 1.5 MiB or so that the hub stores in a Work: split it: %w", size, err)
}

func (w Writer) change(ctx context.Context, t *Task, stored *workv1alpha1.Work) (Outcome, error) {
	if stored.DeletionTimestamp != nil {
		return Blocked, nil
	}
	if other, mine := BindingID(stored.Labels), BindingID(t.Labels); other != "" && other != mine {
		if mine == "" {
			return Foreign, nil
		}
		if err := w.ownerless(ctx, stored, other); err != nil {
			return Same, err
		}
	}
	work, err := t.Changed(stored)
	if err != nil || work == nil {
		return Same, err
	}
	if err := w.Hub.Update(ctx, work); err != nil {
		return Written, sized(err, work)
	}
	t.Known = work
	return Written, nil
}

// ownerless refuses a Work whose binding is another one that still exists: two
// objects of one name and kind, but of different groups, meet in one Work.
func (w Writer) ownerless(ctx context.Context, stored *workv1alpha1.Work, id string) error {
	name, ok := BindingName(stored.Annotations)
	if !ok {
		return nil
	}
	owner := NewBinding(name)
	err := w.Hub.Get(ctx, name, owner)
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
