package interpret

import (
	"context"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/agent/interpret/native"
	"muster.dev/muster/agent/interpret/sandbox"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Options say what an Interpreter works with.
type Options struct {
	// Sandbox says how Lua children are started. Without it there is no Lua:
	// customizations are not looked at, nor bundled kinds.
	Sandbox *Sandbox
	// Fed makes every question wait until both lists have been set once, so that
	// nothing is answered by a native rule only because a list was late.
	Fed bool
	Log *slog.Logger
}

// Operation is one question.
type Operation = configv1alpha1.InterpreterOperation

// Interpreter answers questions about objects by their kind. Its methods may be
// called side by side and never change their arguments.
type Interpreter struct {
	log   *slog.Logger
	pool  *sandbox.Pool // nil: no Lua
	fed   *feeding
	mu    sync.RWMutex
	rules rules
	lists lists
	next  int // key of the next listener
	heard map[int]func(affects func(schema.GroupVersionKind) bool)
}

// New returns an interpreter. It starts nothing before a script is due; Close
// ends what it has started.
func New(o Options) *Interpreter {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	i := &Interpreter{log: o.Log, fed: newFeeding(o.Fed), heard: map[int]func(func(schema.GroupVersionKind) bool){}}
	if o.Sandbox != nil {
		i.pool = sandbox.NewPool(*o.Sandbox)
		i.rules.bundled = i.bundled()
	}
	return i
}

// Native returns an interpreter of native kinds only.
func Native() *Interpreter { return New(Options{}) }

// Close ends the Lua children. Questions that need them fail from then on.
func (i *Interpreter) Close() {
	if i.pool != nil {
		i.pool.Close()
	}
}

// ask puts a question to the rule in charge. known is false if the native rules
// are.
func (i *Interpreter) ask(ctx context.Context, q *Question) (a *Answer, known bool, err error) {
	if err := i.fed.wait(ctx); err != nil {
		return nil, true, err
	}
	i.mu.RLock()
	r := i.rules.find(q.Operation, q.Object.GroupVersionKind())
	i.mu.RUnlock()
	if r == nil {
		return nil, false, nil
	}
	a, err = r.ask(ctx, q)
	return a, true, err
}

// nativeError words an error of the native rules.
func nativeError(q *Question, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Source: "the rules of Muster", Operation: q.Operation, Object: describe(q.Object), Reason: err.Error(),
		Fix: "correct the object, its kind has other fields"}
}

// Replicas returns how many replicas an object has and what one of them needs.
// workload is false if its kind has no replicas.
func (i *Interpreter) Replicas(ctx context.Context, o *unstructured.Unstructured) (n int32, need *workv1alpha2.ReplicaRequirements, workload bool, err error) {
	q := &Question{Operation: configv1alpha1.InterpreterOperationInterpretReplica, Object: o}
	a, known, err := i.ask(ctx, q)
	switch {
	case err != nil:
		return 0, nil, true, err
	case known:
		return a.Replicas, within(o, a.Need), true, nil
	}
	n, need, workload, err = native.Replicas(o)
	return n, need, workload, nativeError(q, err)
}

// within completes what a replica needs, as scripts and webhooks tell it, with the
// namespace the replica will run in: they see a pod template, which names none.
func within(o *unstructured.Unstructured, need *workv1alpha2.ReplicaRequirements) *workv1alpha2.ReplicaRequirements {
	if need == nil || need.Namespace != "" {
		return need
	}
	completed := *need
	completed.Namespace = o.GetNamespace()
	return &completed
}

// Components returns the parts of an object of a kind with several pod
// templates. known is false if its kind has none.
func (i *Interpreter) Components(ctx context.Context, o *unstructured.Unstructured) (parts []workv1alpha2.Component, known bool, err error) {
	a, known, err := i.ask(ctx, &Question{Operation: configv1alpha1.InterpreterOperationInterpretComponent, Object: o})
	if err != nil || !known {
		return nil, known, err
	}
	return a.Components, true, nil
}

// Revise returns the object with another number of replicas; a Job's are its
// parallelism. An object of a kind without replicas is returned as it is.
func (i *Interpreter) Revise(ctx context.Context, o *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	q := &Question{Operation: configv1alpha1.InterpreterOperationReviseReplica, Object: o, Replicas: replicas}
	a, known, err := i.ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case known:
		return a.Object, nil
	}
	revised, _, err := native.Revise(o, replicas)
	return revised, nativeError(q, err)
}

// Retain returns the object to update a member with: desired, and of observed
// what belongs to the member. Whatever the rule of the kind says, both are the
// same object, with the member's metadata.
func (i *Interpreter) Retain(ctx context.Context, desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	a, known, err := i.ask(ctx, &Question{Operation: configv1alpha1.InterpreterOperationRetain, Object: desired, Observed: observed})
	if err != nil {
		return nil, err
	}
	var retained *unstructured.Unstructured
	if known {
		retained = a.Object
	} else {
		retained = native.Retain(desired, observed)
	}
	native.RetainMetadata(retained, observed)
	return retained, nil
}

// Reflect returns the part of a member object's status that the hub is told, nil
// if there is none.
func (i *Interpreter) Reflect(ctx context.Context, observed *unstructured.Unstructured) (*runtime.RawExtension, error) {
	a, known, err := i.ask(ctx, &Question{Operation: configv1alpha1.InterpreterOperationInterpretStatus, Object: observed})
	switch {
	case err != nil:
		return nil, err
	case !known:
		return native.Reflect(observed), nil
	case a.Status != nil && len(a.Status.Raw) > native.MaxReflected:
		return nil, nil
	}
	return a.Status, nil
}

// Health judges a member object. With an error it is Unknown.
func (i *Interpreter) Health(ctx context.Context, observed *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	a, known, err := i.ask(ctx, &Question{Operation: configv1alpha1.InterpreterOperationInterpretHealth, Object: observed})
	switch {
	case err != nil:
		return workv1alpha1.ResourceUnknown, err
	case !known:
		return native.Health(observed), nil
	case a.Healthy:
		return workv1alpha1.ResourceHealthy, nil
	}
	return workv1alpha1.ResourceUnhealthy, nil
}

// Aggregate adds the members' status up. changed is a copy of the template with
// its new status, to be written through the status subresource, and nil if there
// is nothing to write. aggregates is false if nobody knows how to add up the
// kind's status.
func (i *Interpreter) Aggregate(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (changed *unstructured.Unstructured, aggregates bool, err error) {
	q := &Question{Operation: configv1alpha1.InterpreterOperationAggregateStatus, Object: template, Items: items}
	a, known, err := i.ask(ctx, q)
	if err != nil {
		return nil, true, err
	}
	if !known {
		changed, aggregates, err = native.Aggregate(template, items)
		return changed, aggregates, nativeError(q, err)
	}
	before, after := template.Object["status"], a.Object.Object["status"]
	if equality.Semantic.DeepEqual(before, after) || empty(before) && empty(after) {
		return nil, true, nil
	}
	changed = template.DeepCopy()
	if changed.Object["status"] = after; after == nil {
		delete(changed.Object, "status")
	}
	return changed, true, nil
}

func empty(status any) bool {
	fields, ok := status.(map[string]any)
	return status == nil || ok && len(fields) == 0
}

// Dependencies returns the objects that an object needs beside it, without
// duplicates.
func (i *Interpreter) Dependencies(ctx context.Context, o *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	q := &Question{Operation: configv1alpha1.InterpreterOperationInterpretDependency, Object: o}
	a, known, err := i.ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case known:
		return a.Dependencies, nil
	}
	list, _, err := native.Dependencies(o)
	return list, nativeError(q, err)
}
