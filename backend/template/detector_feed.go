package template

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/backend/policy"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// templateChanged takes note of what the cache tells.
func (d *detector) templateChanged(ref Ref, old, current *unstructured.Unstructured) {
	d.index(ref, old, current)
	content, user, claim := changes(old, current)
	if !content && !claim {
		return
	}
	happened := change{mark: markContent}
	switch {
	case current == nil, !content:
		happened = change{}
	case old == nil && d.cache.Initial(ref.APIVersion, ref.Kind):
		happened = change{mark: markInitial}
	default:
		happened.version = current.GetResourceVersion()
		if user {
			happened.mark |= markUser
		}
	}
	d.enqueue(happened, ref)
}

// index keeps which templates a policy has claimed. When a policy that is being
// deleted has none left, it can go.
func (d *detector) index(ref Ref, old, current *unstructured.Unstructured) {
	before, after := claimIDs(old), claimIDs(current)
	if before == after {
		return
	}
	var freed []string
	d.mu.Lock()
	for _, id := range before {
		if id == "" || id == after[0] || id == after[1] {
			continue
		}
		delete(d.claimed[id], ref)
		if len(d.claimed[id]) == 0 {
			delete(d.claimed, id)
			freed = append(freed, id)
		}
	}
	for _, id := range after {
		if id == "" {
			continue
		}
		if d.claimed[id] == nil {
			d.claimed[id] = map[Ref]struct{}{}
		}
		d.claimed[id][ref] = struct{}{}
	}
	d.mu.Unlock()
	for _, id := range freed {
		if p := d.policies.withID(id); p != nil && p.GetDeletionTimestamp() != nil {
			d.policyChanges.add(ctrl.Request{NamespacedName: keyOf(p)})
		}
	}
}

// claimIDs are the permanent ids of the policies in a template's labels.
func claimIDs(o *unstructured.Unstructured) [2]string {
	if o == nil {
		return [2]string{}
	}
	labels := o.GetLabels()
	return [2]string{labels[policyv1alpha1.PropagationPolicyPermanentIDLabel], labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]}
}

// claimedBy are the templates of a policy.
func (d *detector) claimedBy(id string) []Ref {
	d.mu.Lock()
	defer d.mu.Unlock()
	refs := make([]Ref, 0, len(d.claimed[id]))
	for ref := range d.claimed[id] {
		refs = append(refs, ref)
	}
	return refs
}

// relearned has the templates looked at again that are interpreted differently now:
// their bindings say how many replicas they ask for. It returns them.
func (d *detector) relearned(affects func(schema.GroupVersionKind) bool) []Ref {
	known := map[schema.GroupVersionKind]bool{}
	var refs []Ref
	d.mu.Lock()
	for _, claimed := range d.claimed {
		for ref := range claimed {
			kind := ref.GroupVersionKind()
			affected, asked := known[kind]
			if !asked {
				affected = affects(kind)
				known[kind] = affected
			}
			if affected {
				refs = append(refs, ref)
			}
		}
	}
	d.mu.Unlock()
	d.enqueue(change{}, refs...)
	return refs
}

// enqueue has templates handled, for a reason.
func (d *detector) enqueue(happened change, refs ...Ref) {
	d.mu.Lock()
	for _, ref := range refs {
		d.changes[ref] = d.changes[ref].and(happened)
	}
	d.mu.Unlock()
	d.templates.add(refs...)
}

// take returns what has happened to a template and forgets it.
func (d *detector) take(ref Ref) change {
	d.mu.Lock()
	defer d.mu.Unlock()
	happened := d.changes[ref]
	delete(d.changes, ref)
	return happened
}

// giveBack remembers what was taken and could not be handled.
func (d *detector) giveBack(ref Ref, happened change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes[ref] = happened.and(d.changes[ref])
}

func (d *detector) block(override types.NamespacedName, ref Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.blocked[override] == nil {
		d.blocked[override] = map[Ref]struct{}{}
	}
	d.blocked[override][ref] = struct{}{}
}

func (d *detector) unblock(override types.NamespacedName, ref Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.blocked[override], ref)
	if len(d.blocked[override]) == 0 {
		delete(d.blocked, override)
	}
}

// unblockAll forgets a template that is gone.
func (d *detector) unblockAll(ref Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for override, refs := range d.blocked {
		if delete(refs, ref); len(refs) == 0 {
			delete(d.blocked, override)
		}
	}
}

// overrideMade has the templates handled that waited for an override policy.
func (d *detector) overrideMade(override types.NamespacedName) {
	d.mu.Lock()
	refs := make([]Ref, 0, len(d.blocked[override]))
	for ref := range d.blocked[override] {
		refs = append(refs, ref)
	}
	delete(d.blocked, override)
	d.mu.Unlock()
	d.enqueue(change{}, refs...)
}

// policyChanged takes note of a policy; nil stands for one that was deleted.
func (d *detector) policyChanged(key types.NamespacedName, current PolicyObject) {
	if current == nil {
		if old := d.policies.drop(key); old != nil {
			d.enqueue(change{mark: markPolicy}, d.claimedBy(ClaimOf(old).ID)...)
		}
		return
	}
	old := d.policies.put(current)
	if old != nil && ClaimOf(old) != ClaimOf(current) {
		d.enqueue(change{mark: markPolicy}, d.claimedBy(ClaimOf(old).ID)...)
	}
	if old == nil || old.GetGeneration() != current.GetGeneration() || old.GetUID() != current.GetUID() || ClaimOf(old) != ClaimOf(current) ||
		(old.GetDeletionTimestamp() == nil) != (current.GetDeletionTimestamp() == nil) {
		d.policyChanges.add(ctrl.Request{NamespacedName: key})
	}
}

// bindingSeen takes note of a binding that the manager's cache shows.
func (d *detector) bindingSeen(b workv1alpha2.Binding) { d.written.seen(keyOfBinding(b), b) }

// bindingGone has the template of a binding that was deleted handled: it gets
// another one, if it is still there.
func (d *detector) bindingGone(b workv1alpha2.Binding) {
	d.written.gone(keyOfBinding(b), b)
	of := b.BindingSpec().Resource
	d.enqueue(change{}, Ref{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name})
}

// meant are the templates that a policy means and does not have: those without a
// policy, and those it can take from another.
func (d *detector) meant(p PolicyObject) []Ref {
	selectors := SpecOf(p).ResourceSelectors
	var refs []Ref
	for i := range selectors {
		selector := &selectors[i]
		namespace := selector.Namespace
		if p.GetNamespace() != "" {
			namespace = p.GetNamespace()
		}
		for _, o := range d.among(selector, namespace) {
			if policy.Match(selector, o) != policy.MatchNone && d.canHave(p, o) {
				refs = append(refs, RefOf(o))
			}
		}
	}
	return refs
}

func (d *detector) among(selector *policyv1alpha1.ResourceSelector, namespace string) []*unstructured.Unstructured {
	if selector.Name != "" && namespace != "" {
		if o, ok := d.cache.Get(Ref{APIVersion: selector.APIVersion, Kind: selector.Kind, Namespace: namespace, Name: selector.Name}); ok {
			return []*unstructured.Unstructured{o}
		}
		return nil
	}
	return d.cache.List(selector.APIVersion, selector.Kind, namespace)
}

func (d *detector) canHave(p PolicyObject, o *unstructured.Unstructured) bool {
	claim, claimed := ClaimIn(o)
	if !claimed {
		return true
	}
	holder := d.policies.holder(claim)
	return holder == nil || holder.GetDeletionTimestamp() != nil || d.gates.PropagationPolicyPreemption && Preempts(p, holder, o)
}
