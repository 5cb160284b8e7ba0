package interpret

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// Sandbox says how Lua children are started.
type Sandbox struct{}

// OwnSandbox runs scripts in children made of the running binary, whose main
// function must begin with RunSandboxIfAsked.
func OwnSandbox() *Sandbox { return &Sandbox{} }

// RunSandboxIfAsked turns the process into a Lua child if it was started as one,
// and does not return then. It is the first call of main.
func RunSandboxIfAsked() {}

// Operation is one question.
type Operation = configv1alpha1.InterpreterOperation

// Interpreter answers questions about objects by their kind. Its methods may be
// called side by side and never change their arguments.
type Interpreter struct{}

// New returns an interpreter. It starts nothing before a script is due; Close
// ends what it has started.
func New(o Options) *Interpreter { return &Interpreter{} }

// Native returns an interpreter of native kinds only.
func Native() *Interpreter { return New(Options{}) }

// Close ends the Lua children. Questions that need them fail from then on.
func (i *Interpreter) Close() {}

// SetCustomizations replaces the customizations.
func (i *Interpreter) SetCustomizations(list []configv1alpha1.ResourceInterpreterCustomization) {}

// SetWebhooks replaces the webhook configurations.
func (i *Interpreter) SetWebhooks(list []configv1alpha1.ResourceInterpreterWebhookConfiguration) {}

// OnChange calls changed whenever kinds may be interpreted in another way than
// before; affects says which. It must not block. The returned function ends it.
func (i *Interpreter) OnChange(changed func(affects func(schema.GroupVersionKind) bool)) (stop func()) {
	return func() {}
}

// Replicas returns how many replicas an object has and what one of them needs.
// workload is false if its kind has no replicas.
func (i *Interpreter) Replicas(ctx context.Context, o *unstructured.Unstructured) (n int32, need *workv1alpha2.ReplicaRequirements, workload bool, err error) {
	return 0, nil, false, nil
}

// Components returns the parts of an object of a kind with several pod
// templates. known is false if its kind has none.
func (i *Interpreter) Components(ctx context.Context, o *unstructured.Unstructured) (parts []workv1alpha2.Component, known bool, err error) {
	return nil, false, nil
}

// Revise returns the object with another number of replicas; a Job's are its
// parallelism. An object of a kind without replicas is returned as it is.
func (i *Interpreter) Revise(ctx context.Context, o *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	return o.DeepCopy(), nil
}

// Retain returns the object to update a member with: desired, and of observed
// what belongs to the member.
func (i *Interpreter) Retain(ctx context.Context, desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return desired.DeepCopy(), nil
}

// Reflect returns the part of a member object's status that the hub is told, nil
// if there is none.
func (i *Interpreter) Reflect(ctx context.Context, observed *unstructured.Unstructured) (*runtime.RawExtension, error) {
	return nil, nil
}

// Health judges a member object. With an error it is Unknown.
func (i *Interpreter) Health(ctx context.Context, observed *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	return workv1alpha1.ResourceUnknown, nil
}

// Aggregate adds the members' status up. changed is a copy of the template with
// its new status, to be written through the status subresource, and nil if there
// is nothing to write. aggregates is false if nobody knows how to add up the
// kind's status.
func (i *Interpreter) Aggregate(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (changed *unstructured.Unstructured, aggregates bool, err error) {
	return nil, false, nil
}

// Dependencies returns the objects that an object needs beside it, without
// duplicates.
func (i *Interpreter) Dependencies(ctx context.Context, o *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	return nil, nil
}
