package template

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// parents remembers which bindings need which objects, so that an object that
// comes or changes finds them.
type parents struct {
	mu     sync.Mutex
	needed map[types.NamespacedName][]configv1alpha1.DependentObjectReference
	byKind map[kindIn]map[types.NamespacedName]struct{}
	// generations are those of the parents that were seen last: updates of their
	// status concern nobody here.
	generations map[types.NamespacedName]int64
	// versions are those of needed objects when their content last changed.
	versions map[Ref]string
}

func newParents() parents {
	return parents{
		needed: map[types.NamespacedName][]configv1alpha1.DependentObjectReference{}, byKind: map[kindIn]map[types.NamespacedName]struct{}{},
		generations: map[types.NamespacedName]int64{}, versions: map[Ref]string{},
	}
}

func (p *parents) set(parent types.NamespacedName, needed []configv1alpha1.DependentObjectReference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(parent)
	if len(needed) == 0 {
		return
	}
	p.needed[parent] = needed
	for i := range needed {
		kind := kindIn{needed[i].Namespace, needed[i].APIVersion, needed[i].Kind}
		if p.byKind[kind] == nil {
			p.byKind[kind] = map[types.NamespacedName]struct{}{}
		}
		p.byKind[kind][parent] = struct{}{}
	}
}

func (p *parents) forget(parent types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(parent)
}

func (p *parents) drop(parent types.NamespacedName) {
	for _, reference := range p.needed[parent] {
		kind := kindIn{reference.Namespace, reference.APIVersion, reference.Kind}
		delete(p.byKind[kind], parent)
		if len(p.byKind[kind]) == 0 {
			delete(p.byKind, kind)
		}
	}
	delete(p.needed, parent)
}

// of are the parents that need an object.
func (p *parents) of(o *unstructured.Unstructured) []types.NamespacedName {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []types.NamespacedName
	for parent := range p.byKind[kindIn{o.GetNamespace(), o.GetAPIVersion(), o.GetKind()}] {
		for i := range p.needed[parent] {
			if needs(&p.needed[parent][i], o) {
				found = append(found, parent)
				break
			}
		}
	}
	return found
}

// note keeps the version of a needed object; "" stands for one that is gone.
func (p *parents) note(ref Ref, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if version == "" {
		delete(p.versions, ref)
		return
	}
	p.versions[ref] = version
}

func (p *parents) version(ref Ref) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.versions[ref]
}

// changed says whether a binding may bring along something else than when it was
// seen last.
func (p *parents) changed(b *workv1alpha2.ResourceBinding, gone bool) bool {
	key := client.ObjectKeyFromObject(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if gone {
		delete(p.generations, key)
		p.drop(key)
		return false
	}
	if !b.Spec.PropagateDeps && b.Annotations[workv1alpha2.DependenciesAnnotation] == "" {
		return false
	}
	last, seen := p.generations[key]
	p.generations[key] = b.Generation
	return !seen || last != b.Generation || b.DeletionTimestamp != nil
}

// templateChanged brings back the parents that need a template, or needed it
// before it changed.
func (d *distributor) templateChanged(ref Ref, old, current *unstructured.Unstructured) {
	if content, _, claim := changes(old, current); !content && !claim {
		return
	}
	var requests []ctrl.Request
	for _, o := range []*unstructured.Unstructured{old, current} {
		if o == nil {
			continue
		}
		for _, parent := range d.parents.of(o) {
			requests = append(requests, ctrl.Request{NamespacedName: parent})
		}
	}
	switch {
	case current == nil:
		d.parents.note(ref, "") // also where nobody needs it any more
	case len(requests) > 0:
		d.parents.note(ref, current.GetResourceVersion())
	}
	d.requests.add(requests...)
}

// bindingChanged brings a parent back that has changed, and the parents of an
// attached binding that is gone.
func (d *distributor) bindingChanged(b *workv1alpha2.ResourceBinding, gone bool) {
	if d.parents.changed(b, gone) {
		d.requests.add(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	}
	if !gone {
		return
	}
	d.troubles.Forget(Sending(client.ObjectKeyFromObject(b)))
	d.troubles.Forget(clashing(b))
	for _, s := range b.Spec.RequiredBy {
		d.requests.add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}})
	}
}
