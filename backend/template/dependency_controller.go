package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Reasons of Events about dependencies (contract section 3.8).
const (
	eventDependencies        = "GetDependenciesSucceed"
	eventDependenciesFailed  = "GetDependenciesFailed"
	eventDistributed         = "SyncScheduleResultToDependenciesSucceed"
	eventDistributeFailed    = "SyncScheduleResultToDependenciesFailed"
	eventDependencyConflict  = "DependencyPolicyConflict"
	dependencyWorkers        = 4
	messageDependencyClashes = "the bindings that need this object disagree, and overwriting and staying win: "
)

// distributor sends along with a workload what it refers to (contract section
// 8.3). A parent is a binding that asks for that; an attached binding is that of
// an object that parents need, in their clusters, and has no placement itself. It
// becomes the binding of a policy when one claims the object.
type distributor struct {
	*detector
	requests feed[ctrl.Request]
	parents  parents
}

// Reconcile implements reconcile.Reconciler.
func (d *distributor) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b, err := d.binding(ctx, bindingKey{request.Namespace, request.Name})
	if err != nil || b == nil {
		return ctrl.Result{}, err
	}
	parent, ok := b.(*workv1alpha2.ResourceBinding)
	if !ok {
		return ctrl.Result{}, nil
	}
	err = d.distribute(ctx, parent)
	about := Sending(request.NamespacedName)
	switch {
	case err == nil && parent.DeletionTimestamp != nil:
		d.troubles.Forget(about)
	case err == nil:
		d.troubles.over(parent, about, eventDistributed, "what the object needs is sent along now")
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	case overtaken(err):
		return ctrl.Result{}, nil
	default:
		reason, on := reasonOf(err, eventDistributeFailed), client.Object(parent)
		if o := d.templateOf(parent); reason == eventDependenciesFailed && o != nil {
			on = o // who wrote it looks there
		}
		d.troubles.tell(on, about, reason, err.Error())
		return ctrl.Result{}, fmt.Errorf("distribute dependencies of binding %s: %w", request, err)
	}
	return ctrl.Result{}, nil
}

// relearned has the parents looked at again whose templates are interpreted
// differently now: they may need other objects.
func (d *distributor) relearned(templates []Ref) {
	requests := make([]ctrl.Request, 0, len(templates))
	for _, ref := range templates {
		if ref.Namespace != "" {
			key := bindingOf(ref)
			requests = append(requests, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: key.namespace, Name: key.name}})
		}
	}
	d.requests.add(requests...)
}

// Sending is what Troubles keep a trouble under that keeps what an object needs from
// being sent along with it. It is of the object's binding.
func Sending(binding types.NamespacedName) Ref {
	return Ref{APIVersion: workv1alpha2.GroupVersion.String(), Kind: workv1alpha2.ResourceKindResourceBinding, Namespace: binding.Namespace, Name: binding.Name}
}

// SendingOf is the binding that Sending made the Ref of.
func SendingOf(ref Ref) (binding types.NamespacedName, is bool) {
	binding = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	return binding, ref == Sending(binding)
}

// clashing is the same of a trouble of a binding that its parents disagree about.
func clashing(b *workv1alpha2.ResourceBinding) Ref {
	return Ref{Kind: workv1alpha2.ResourceKindResourceBinding, Namespace: b.Namespace, Name: b.Name}
}

// templateOf is the object that a binding was made for, nil if it is gone.
func (d *distributor) templateOf(b *workv1alpha2.ResourceBinding) *unstructured.Unstructured {
	of := b.Spec.Resource
	o, ok := d.cache.Get(Ref{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name})
	if !ok || o.GetUID() != of.UID {
		return nil
	}
	return o
}

func (d *distributor) distribute(ctx context.Context, parent *workv1alpha2.ResourceBinding) error {
	key := client.ObjectKeyFromObject(parent)
	if parent.DeletionTimestamp != nil || !parent.Spec.PropagateDeps {
		d.parents.forget(key)
		return d.withdraw(ctx, parent)
	}
	if len(parent.Spec.Clusters) == 0 && parent.Annotations[workv1alpha2.DependenciesAnnotation] == "" {
		return nil // it was never scheduled
	}
	o := d.templateOf(parent)
	if o == nil {
		return nil // the detector ends the binding
	}
	needed, err := d.interpreter.Dependencies(ctx, o)
	if err != nil {
		return &failed{eventDependenciesFailed, err}
	}
	d.parents.set(key, needed)
	if len(needed) == 0 {
		return d.withdraw(ctx, parent)
	}
	before := parent.ResourceVersion
	if parent, err = d.record(ctx, parent, needed); err != nil {
		return err
	}
	wanted := map[types.NamespacedName]bool{}
	for i := range needed {
		for _, dependent := range d.resolve(&needed[i]) {
			wanted[types.NamespacedName{Namespace: dependent.GetNamespace(), Name: BindingName(dependent.GetName(), dependent.GetKind())}] = true
			if err := d.ensure(ctx, parent, dependent); err != nil {
				return fmt.Errorf("send %s along: %w", RefOf(dependent), err)
			}
		}
	}
	if parent.ResourceVersion != before {
		d.troubles.events.Routine(o, nil, eventDependencies, "Distribute", "the object needs %d others", len(needed))
		d.troubles.events.Routine(parent, nil, eventDistributed, "Distribute", "what the object needs is sent along")
	}
	return d.detachFrom(ctx, parent, func(b *workv1alpha2.ResourceBinding) bool { return !wanted[client.ObjectKeyFromObject(b)] })
}

// resolve finds the objects that a reference means. Objects without a namespace
// are not sent along.
func (d *distributor) resolve(reference *configv1alpha1.DependentObjectReference) []*unstructured.Unstructured {
	if reference.Namespace == "" {
		return nil
	}
	var found []*unstructured.Unstructured
	if reference.Name != "" {
		if o, ok := d.cache.Get(Ref{APIVersion: reference.APIVersion, Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name}); ok {
			found = append(found, o)
		}
	} else {
		for _, o := range d.cache.List(reference.APIVersion, reference.Kind, reference.Namespace) {
			if needs(reference, o) {
				found = append(found, o)
			}
		}
	}
	return slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
}

// record writes on the parent what it brings along, and the finalizer that keeps
// it until the attached bindings know of its end.
func (d *distributor) record(ctx context.Context, parent *workv1alpha2.ResourceBinding, needed []configv1alpha1.DependentObjectReference) (*workv1alpha2.ResourceBinding, error) {
	text, err := dependencies(needed)
	if err != nil {
		return nil, err
	}
	wanted := parent.DeepCopy()
	if wanted.Annotations == nil {
		wanted.Annotations = map[string]string{}
	}
	wanted.Annotations[workv1alpha2.DependenciesAnnotation] = text
	if !slices.Contains(wanted.Finalizers, workv1alpha2.DependenciesDistributorFinalizer) {
		wanted.Finalizers = append(wanted.Finalizers, workv1alpha2.DependenciesDistributorFinalizer)
	}
	return wanted, d.write(ctx, parent, wanted, locked(parent))
}

// withdraw ends what a parent brings along.
func (d *distributor) withdraw(ctx context.Context, parent *workv1alpha2.ResourceBinding) error {
	held := slices.Contains(parent.Finalizers, workv1alpha2.DependenciesDistributorFinalizer)
	if !held && parent.Annotations[workv1alpha2.DependenciesAnnotation] == "" {
		return nil
	}
	if err := d.detachFrom(ctx, parent, func(*workv1alpha2.ResourceBinding) bool { return true }); err != nil {
		return err
	}
	wanted := parent.DeepCopy()
	delete(wanted.Annotations, workv1alpha2.DependenciesAnnotation)
	wanted.Finalizers = slices.DeleteFunc(wanted.Finalizers, func(f string) bool { return f == workv1alpha2.DependenciesDistributorFinalizer })
	return client.IgnoreNotFound(d.write(ctx, parent, wanted, locked(parent)))
}

// ensure makes the binding of an object say that the parent needs it.
func (d *distributor) ensure(ctx context.Context, parent *workv1alpha2.ResourceBinding, o *unstructured.Unstructured) error {
	ref := RefOf(o)
	stored, err := d.binding(ctx, bindingOf(ref))
	if err != nil {
		return err
	}
	if stored == nil {
		made, ok := emptyBinding(o).(*workv1alpha2.ResourceBinding)
		if !ok {
			return nil
		}
		attach(made, parent)
		inherit(made, []*workv1alpha2.ResourceBinding{parent})
		if stored, err = d.store(ctx, made); stored == nil || err != nil {
			return err
		}
	}
	b, ok := stored.(*workv1alpha2.ResourceBinding)
	if !ok {
		return nil
	}
	if b.DeletionTimestamp != nil || !belongsTo(b, o) {
		return d.removeBinding(ctx, b) // its end brings the parent back
	}
	wanted := b.DeepCopy()
	attach(wanted, parent)
	if _, claimed := ClaimIn(b); !claimed {
		if version := d.parents.version(ref); version != "" {
			wanted.Spec.Resource.ResourceVersion = version
		}
	}
	return d.settle(ctx, b, wanted)
}

// settle writes an attached binding with what it inherits.
func (d *distributor) settle(ctx context.Context, b, wanted *workv1alpha2.ResourceBinding) error {
	var all []*workv1alpha2.ResourceBinding
	for _, s := range wanted.Spec.RequiredBy {
		found, err := d.binding(ctx, bindingKey{s.Namespace, s.Name})
		if err != nil {
			return err
		}
		if parent, ok := found.(*workv1alpha2.ResourceBinding); ok {
			all = append(all, parent)
		}
	}
	clashes := inherit(wanted, all)
	if err := d.write(ctx, b, wanted, locked(b)); err != nil {
		return err
	}
	if len(clashes) == 0 {
		d.troubles.Forget(clashing(b))
		return nil
	}
	d.troubles.tell(wanted, clashing(b), eventDependencyConflict, messageDependencyClashes+strings.Join(clashes, "; "))
	return nil
}

// detachFrom takes the parent off the bindings attached to it that are not meant
// any more.
func (d *distributor) detachFrom(ctx context.Context, parent *workv1alpha2.ResourceBinding, from func(*workv1alpha2.ResourceBinding) bool) error {
	key := client.ObjectKeyFromObject(parent)
	_, id := parent.PermanentID()
	var attached workv1alpha2.ResourceBindingList
	if err := d.hub.List(ctx, &attached, client.MatchingLabels{dependedByKey(key): id}); err != nil {
		return fmt.Errorf("list attached bindings: %w", err)
	}
	for i := range attached.Items {
		newest, ok := d.written.newer(keyOfBinding(&attached.Items[i]), &attached.Items[i]).(*workv1alpha2.ResourceBinding)
		if !ok || !from(newest) {
			continue
		}
		wanted := newest.DeepCopy()
		detach(wanted, key)
		if err := d.settle(ctx, newest, wanted); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("detach binding %s: %w", newest.Name, err)
		}
	}
	return nil
}
