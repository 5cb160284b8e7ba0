package manifestwork

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// attempts bounds how often one pass starts over with an object that somebody else
// writes at the same time.
const attempts = 4

// errQuarrel says that somebody keeps changing an object back.
var errQuarrel = errors.New("somebody else keeps changing the object; it is put right less often")

// target is one manifest on its way into the member.
type target struct {
	*member
	place    place
	api      dynamic.ResourceInterface // as the work's executor
	own      dynamic.ResourceInterface // as the agent
	wanted   *unstructured.Unstructured
	strategy ocmworkv1.UpdateStrategy
	owner    metav1.OwnerReference
	owns     bool // the object goes with its work
}

// member is how workers reach the member. All of it is shared.
type member struct {
	client    dynamic.Interface
	mapper    *mapper
	kinds     *kinds
	executors *executors
}

// target finds where a manifest belongs. The place's resource is empty if the
// member does not know the kind.
func (m *member) target(work string, wanted *unstructured.Unstructured) (*target, error) {
	mapping, err := m.mapper.mapping(wanted.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	t := &target{member: m, wanted: wanted}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if wanted.GetNamespace() == "" {
			wanted.SetNamespace(metav1.NamespaceDefault)
		}
	} else {
		wanted.SetNamespace("")
	}
	t.place = place{mapping.Resource, wanted.GetNamespace(), wanted.GetName()}
	t.own = m.at(m.client, t.place)
	m.kinds.use(t.place, work)
	return t, nil
}

func (m *member) at(client dynamic.Interface, p place) dynamic.ResourceInterface {
	if p.namespace == "" {
		return client.Resource(p.resource)
	}
	return client.Resource(p.resource).Namespace(p.namespace)
}

// read returns the object, nil if it is not there. Unless fresh, what was seen last
// does.
func (t *target) read(ctx context.Context, fresh bool) (*unstructured.Unstructured, error) {
	if !fresh {
		if o, known := t.kinds.look(t.place); known {
			return o, nil
		}
	}
	o, err := t.own.Get(ctx, t.place.name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) && t.api != nil { // an executor may see what the agent may not
		o, err = t.api.Get(ctx, t.place.name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		t.kinds.saw(t.place, nil)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t.kinds.saw(t.place, o)
	return o, nil
}

// apply makes the object what the work wants. It returns the object as it is then.
func (t *target) apply(ctx context.Context) (*unstructured.Unstructured, error) {
	if t.strategy.Type == ocmworkv1.UpdateStrategyReadOnly {
		o, err := t.read(ctx, false)
		if err == nil && o == nil {
			err = apierrors.NewNotFound(t.place.resource.GroupResource(), t.place.name)
		}
		return o, err
	}
	observed, known := t.kinds.look(t.place)
	var err error
	if c := t.strategy.ServerSideApply; !known && c != nil && len(c.IgnoreFields) > 0 { // what is ignored depends on what is there
		if observed, err = t.read(ctx, true); err != nil {
			return nil, err
		}
		known = true
	}
	for try := range attempts {
		// An object of which nothing is known is made: most are new.
		if observed == nil && (!known || try == 0 || try > 1) {
			made, err := t.create(ctx)
			if err == nil {
				return made, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return nil, err
			}
		}
		if observed == nil || try > 0 {
			if observed, err = t.read(ctx, true); err != nil {
				return nil, err
			}
			if observed == nil {
				known = true
				continue
			}
		}
		written, err := t.change(ctx, observed)
		if !apierrors.IsConflict(err) || t.strategy.Type == ocmworkv1.UpdateStrategyServerSideApply {
			return written, err
		}
	}
	return observed, fmt.Errorf("the object is changed by somebody else all the time: %w", err)
}

// owners are the references that the object shall have.
func (t *target) owners(observed *unstructured.Unstructured) []metav1.OwnerReference {
	if by, _ := owned(observed, t.owner); by == t.owns {
		return observed.GetOwnerReferences()
	}
	return withOwner(observed.GetOwnerReferences(), t.owner, t.owns)
}

func (t *target) create(ctx context.Context) (*unstructured.Unstructured, error) {
	o := t.wanted.DeepCopy()
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	if t.owns {
		o.SetOwnerReferences(withOwner(o.GetOwnerReferences(), t.owner, true))
	}
	if t.strategy.Type == ocmworkv1.UpdateStrategyServerSideApply {
		if t.changeMatters() {
			t.note(o)
		}
		return t.write(ctx, o)
	}
	made, err := t.api.Create(ctx, o, metav1.CreateOptions{FieldManager: ocmworkv1.DefaultFieldManager})
	if err != nil {
		return nil, err
	}
	t.done(made)
	return made, nil
}

// done remembers that the object is as wanted.
func (t *target) done(o *unstructured.Unstructured) {
	t.kinds.saw(t.place, o)
	t.kinds.remember(t.place, memo{wanted: t.wantedHash(), content: contentOf(o, t.wanted)})
}

func (t *target) wantedHash() hash { return sum([]any{t.wanted.Object, t.strategy, t.owns}) }

// settled says whether nothing is left to do about an object.
func (t *target) settled(observed *unstructured.Unstructured) bool {
	return t.kinds.memory(t.place) == memo{wanted: t.wantedHash(), content: contentOf(observed, t.wanted)} &&
		sameOwners(observed.GetOwnerReferences(), t.owners(observed))
}

func (t *target) change(ctx context.Context, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if observed.GetDeletionTimestamp() != nil {
		return observed, errors.New("the object is being deleted; it is made again once it is gone")
	}
	if t.settled(observed) {
		return observed, nil
	}
	if last := t.kinds.memory(t.place); last.wanted == t.wantedHash() && !t.kinds.mayRepair(t.place) {
		return observed, errQuarrel
	}
	switch t.strategy.Type {
	case ocmworkv1.UpdateStrategyCreateOnly:
		return t.hold(ctx, observed)
	case ocmworkv1.UpdateStrategyServerSideApply:
		return t.applyServerSide(ctx, observed)
	}
	return t.replace(ctx, observed)
}

// hold leaves an object as it is. That the record owns it is kept right, if the
// record ever did: an object that was there before is not the work's to remove.
func (t *target) hold(ctx context.Context, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	by, _ := owned(observed, t.owner)
	if !by || t.owns {
		t.kinds.remember(t.place, memo{wanted: t.wantedHash(), content: contentOf(observed, t.wanted)})
		return observed, nil
	}
	return t.disown(ctx, observed)
}

// disown takes the record off an object's owners.
func (t *target) disown(ctx context.Context, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o, err := disown(ctx, t.own, observed, t.owner)
	if err == nil && o != nil {
		t.done(o)
	}
	return o, err
}

func disown(ctx context.Context, api dynamic.ResourceInterface, o *unstructured.Unstructured, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "ownerReferences": withOwner(o.GetOwnerReferences(), owner, false),
	}})
	if err != nil {
		return nil, fmt.Errorf("write a patch: %w", err)
	}
	return api.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: ocmworkv1.DefaultFieldManager})
}

// replace updates an object to what is wanted, and keeps what is the member's.
func (t *target) replace(ctx context.Context, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	owners := t.owners(observed)
	next := merge(t.wanted, observed, owners)
	written, err := t.api.Update(ctx, next, metav1.UpdateOptions{FieldManager: ocmworkv1.DefaultFieldManager})
	if apierrors.IsInvalid(err) && says(observed, t.wanted) && marked(t.wanted, observed, owners) {
		// It cannot be replaced, and says already what it shall.
		t.done(observed)
		return observed, nil
	}
	if err != nil {
		return observed, err
	}
	t.done(written)
	return written, nil
}

// changeMatters says whether fields are ignored once they are changed in the member.
func (t *target) changeMatters() bool {
	if t.strategy.ServerSideApply == nil {
		return false
	}
	for _, f := range t.strategy.ServerSideApply.IgnoreFields {
		if f.Condition == ocmworkv1.IgnoreOnSpokeChange {
			return true
		}
	}
	return false
}

// note writes into an object what the work wants, for later comparisons.
func (t *target) note(o *unstructured.Unstructured) { setAnnotation(o, hashAnnotation, t.hashText()) }

func (t *target) hashText() string {
	h := sum(t.wanted.Object)
	return hex.EncodeToString(h[:])
}

func setAnnotation(o *unstructured.Unstructured, key, value string) {
	o.SetAnnotations(union(o.GetAnnotations(), map[string]string{key: value}))
}

func (t *target) applyServerSide(ctx context.Context, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := t.wanted.DeepCopy()
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	if t.strategy.ServerSideApply != nil && len(t.strategy.ServerSideApply.IgnoreFields) > 0 {
		changed := observed.GetAnnotations()[hashAnnotation] != t.hashText()
		if err := ignore(o, observed, t.strategy.ServerSideApply.IgnoreFields, changed); err != nil {
			return observed, err
		}
		if t.changeMatters() {
			t.note(o)
		}
	}
	by, _ := owned(observed, t.owner)
	if t.owns {
		o.SetOwnerReferences(withOwner(o.GetOwnerReferences(), t.owner, true))
	} else if by { // applying takes it off only if it was applied
		released, err := disown(ctx, t.own, observed, t.owner)
		if err != nil {
			return observed, err
		}
		t.kinds.saw(t.place, released)
	}
	written, err := t.write(ctx, o)
	if err != nil {
		return observed, err
	}
	return written, nil
}

func (t *target) write(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	options := metav1.PatchOptions{FieldManager: ocmworkv1.DefaultFieldManager, Force: ptr.To(false)}
	if c := t.strategy.ServerSideApply; c != nil {
		options.Force = ptr.To(c.Force)
		if c.FieldManager != "" {
			options.FieldManager = c.FieldManager
		}
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	written, err := t.api.Patch(ctx, t.place.name, types.ApplyPatchType, data, options)
	if err != nil {
		return nil, err
	}
	t.done(written)
	return written, nil
}
