package workload

import (
	"maps"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
)

// native are the kinds that are shown although no policy holds them.
var native = map[template.Ref]bool{
	{APIVersion: "apps/v1", Kind: "Deployment"}: true, {APIVersion: "apps/v1", Kind: "StatefulSet"}: true,
	{APIVersion: "apps/v1", Kind: "DaemonSet"}: true, {APIVersion: "apps/v1", Kind: "ReplicaSet"}: true,
	{APIVersion: "batch/v1", Kind: "Job"}: true, {APIVersion: "batch/v1", Kind: "CronJob"}: true,
}

// plain are the kinds that have a page although no policy holds them, but no row:
// a viewer may read them, and there may be a great many of them.
var plain = map[template.Ref]bool{
	{APIVersion: "v1", Kind: "ConfigMap"}: true, {APIVersion: "v1", Kind: "Service"}: true, {APIVersion: "v1", Kind: "Namespace"}: true,
}

func isPlain(ref template.Ref) bool {
	return plain[template.Ref{APIVersion: ref.APIVersion, Kind: ref.Kind}]
}

func isNative(ref template.Ref) bool {
	return native[template.Ref{APIVersion: ref.APIVersion, Kind: ref.Kind}]
}

// projection keeps a row of each workload and knows which ones are out of date.
//
//	event ──► mark ──► (a moment) ──► refresh: view, row, differs? ──► published
//
// Events only mark: a storm of them about one workload costs one row. Templates
// are not kept but looked up, and never while mu is held: their cache may call us
// while it holds a lock of its own.
type projection struct {
	templates Templates
	troubles  Troubles
	unserved  Unserved
	// wake tells, once, that something is marked.
	wake chan struct{}

	mu       sync.RWMutex
	entries  map[template.Ref]*entry
	bindings map[types.NamespacedName]template.Ref
	// works are by their binding, then by cluster. They may be known before it.
	works  map[types.NamespacedName]map[string]*workv1alpha1.Work
	marked map[template.Ref]struct{}
}

type entry struct {
	binding workv1alpha2.Binding // nil: none
	row     *Row                 // nil: not made yet; else never changed
}

func newProjection(templates Templates, troubles Troubles, unserved Unserved) *projection {
	return &projection{
		templates: templates, troubles: troubles, unserved: unserved, wake: make(chan struct{}, 1),
		entries: map[template.Ref]*entry{}, bindings: map[types.NamespacedName]template.Ref{},
		works: map[types.NamespacedName]map[string]*workv1alpha1.Work{}, marked: map[template.Ref]struct{}{},
	}
}

// mark notes, with mu held, that a row is out of date.
func (p *projection) mark(ref template.Ref) {
	p.marked[ref] = struct{}{}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// templateChanged is told by the template cache.
func (p *projection) templateChanged(ref template.Ref, _, current *unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[ref] == nil {
		if current == nil || !isNative(ref) || metav1.GetControllerOf(current) != nil {
			return
		}
		p.entries[ref] = &entry{}
	}
	p.mark(ref)
}

// troubleChanged is told by whoever propagates templates. An object in trouble has
// a row, whatever its kind: without a binding nothing else would tell of it.
func (p *projection) troubleChanged(ref template.Ref) {
	if binding, is := template.SendingOf(ref); is {
		p.bindingTold(binding)
		return
	}
	_, there := p.templates.Get(ref)
	_, stuck := p.troubles.Of(ref)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[ref] == nil {
		if !there || !stuck {
			return
		}
		p.entries[ref] = &entry{}
	}
	p.mark(ref)
}

// bindingTold is told by whoever makes Works, and sends along what objects need, of a
// binding that has news although no object changed.
func (p *projection) bindingTold(binding types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ref, known := p.bindings[binding]; known {
		p.mark(ref)
	}
}

// bindingChanged is told by the cache of bindings; gone says that it was deleted.
func (p *projection) bindingChanged(binding workv1alpha2.Binding, gone bool) {
	resource := binding.BindingSpec().Resource
	ref := template.Ref{APIVersion: resource.APIVersion, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
	key := types.NamespacedName{Namespace: binding.GetNamespace(), Name: binding.GetName()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, known := p.bindings[key]; known && before != ref && p.entries[before] != nil {
		p.entries[before].binding = nil // it means another object now
		p.mark(before)
	}
	if gone {
		delete(p.bindings, key)
		if p.entries[ref] != nil {
			p.entries[ref].binding = nil
			p.mark(ref)
		}
		return
	}
	p.bindings[key] = ref
	if p.entries[ref] == nil {
		p.entries[ref] = &entry{}
	}
	p.entries[ref].binding = binding
	p.mark(ref)
}

// workChanged is told by the cache of Works.
func (p *projection) workChanged(work *workv1alpha1.Work, gone bool) {
	key, ok := bindingOf(work)
	cluster, inSpace := clusterOf(work)
	if !ok || !inSpace {
		return // of a namespace, or of the impersonation: no workload
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if gone {
		delete(p.works[key], cluster)
		if len(p.works[key]) == 0 {
			delete(p.works, key)
		}
	} else {
		if p.works[key] == nil {
			p.works[key] = map[string]*workv1alpha1.Work{}
		}
		p.works[key][cluster] = work
	}
	if ref, known := p.bindings[key]; known {
		p.mark(ref)
	}
}

// bindingOf is the binding that a Work was made for.
func bindingOf(work *workv1alpha1.Work) (types.NamespacedName, bool) {
	if name := work.Annotations[workv1alpha2.ResourceBindingNameAnnotation]; name != "" {
		return types.NamespacedName{Namespace: work.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotation], Name: name}, true
	}
	name := work.Annotations[workv1alpha2.ClusterResourceBindingNameAnnotation]
	return types.NamespacedName{Name: name}, name != ""
}

// change is a row that differs from what it was; nil: it is gone.
type change struct {
	ref template.Ref
	row *Row
}

// refresh makes the marked rows anew. Rows that are as before are not among the
// changes; touched are all that were looked at. One goroutine may call it.
func (p *projection) refresh() (changes []change, touched []template.Ref) {
	p.mu.Lock()
	marked := p.marked
	p.marked = map[template.Ref]struct{}{}
	p.mu.Unlock()
	for ref := range marked {
		touched = append(touched, ref)
		seen, known := p.look(ref)
		if !known {
			continue
		}
		if !seen.lasts() {
			if p.drop(ref, seen) {
				changes = append(changes, change{ref: ref})
			}
			continue
		}
		row := seen.row()
		if p.keep(ref, &row) {
			changes = append(changes, change{ref, &row})
		}
	}
	return changes, touched
}

// lasts says whether the view is still one of a workload.
func (v view) lasts() bool {
	return v.binding != nil || v.stuck() || v.template != nil && isNative(v.ref) && metav1.GetControllerOf(v.template) == nil
}

// look returns all there is about a workload.
func (p *projection) look(ref template.Ref) (view, bool) {
	p.mu.RLock()
	found := p.entries[ref]
	if found == nil {
		p.mu.RUnlock()
		return view{}, false
	}
	seen := view{ref: ref, binding: found.binding}
	var key types.NamespacedName
	if found.binding != nil {
		key = types.NamespacedName{Namespace: found.binding.GetNamespace(), Name: found.binding.GetName()}
		seen.works, seen.unserved = maps.Clone(p.works[key]), p.unserved.Of(key)
	}
	p.mu.RUnlock()
	seen.needs, _ = p.troubles.Of(template.Sending(key))
	seen.template, _ = p.templates.Get(ref)
	seen.trouble, _ = p.troubles.Of(ref)
	return seen, true
}

// keep stores a row and says whether it differs from the one before.
func (p *projection) keep(ref template.Ref, row *Row) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.entries[ref]
	if current == nil || current.row != nil && reflect.DeepEqual(current.row, row) {
		return false
	}
	current.row = row
	return true
}

// drop forgets a workload, unless it came back meanwhile. It says whether there
// was a row.
func (p *projection) drop(ref template.Ref, seen view) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.entries[ref]
	if _, again := p.marked[ref]; again || current == nil || current.binding != seen.binding {
		return false // the mark brings us back here
	}
	delete(p.entries, ref)
	return current.row != nil
}

// rows are all rows, in no order. They must not be changed.
func (p *projection) rows() []*Row {
	p.mu.RLock()
	defer p.mu.RUnlock()
	rows := make([]*Row, 0, len(p.entries))
	for _, known := range p.entries {
		if known.row != nil {
			rows = append(rows, known.row)
		}
	}
	return rows
}

// views are the workloads whose rows fit, in no order.
func (p *projection) views(fits func(*Row) bool) []view {
	p.mu.RLock()
	var refs []template.Ref
	for ref, known := range p.entries {
		if known.row != nil && fits(known.row) {
			refs = append(refs, ref)
		}
	}
	p.mu.RUnlock()
	views := make([]view, 0, len(refs))
	for _, ref := range refs {
		if seen, known := p.look(ref); known {
			views = append(views, seen)
		}
	}
	return views
}

// Binding implements preview.Known.
func (p *projection) Binding(ref template.Ref) workv1alpha2.Binding {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if found := p.entries[ref]; found != nil {
		return found.binding
	}
	return nil
}

// HeldBy implements preview.Known.
func (p *projection) HeldBy(holder fact.PolicyRef) []*unstructured.Unstructured {
	return p.objects(func(row *Row) bool { return row.Policy != nil && *row.Policy == holder })
}

// Propagated implements preview.Known.
func (p *projection) Propagated() []*unstructured.Unstructured {
	return p.objects(func(row *Row) bool { return row.Binding != nil })
}

func (p *projection) objects(fits func(*Row) bool) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, seen := range p.views(fits) {
		if seen.template != nil {
			objects = append(objects, seen.template)
		}
	}
	return objects
}
