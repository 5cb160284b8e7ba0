package apply

import (
	"context"
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// kindWatch is the watch on our objects of one kind. It runs as long as a Work
// uses the kind.
type kindWatch struct {
	kinds    map[schema.GroupVersionKind]struct{} // as the Works call it
	informer cache.SharedIndexInformer            // nil until Watch is called
	stop     context.CancelFunc
	users    map[types.NamespacedName]struct{} // Works
}

// Watch tells of changes to our objects in the member: notify is called with the
// namespace and name of the Work an object belongs to, from several goroutines,
// and must not block. It returns when ctx ends. It must be called at most once;
// until it is, Apply reads the member afresh each time.
func (a *Applier) Watch(ctx context.Context, notify func(workNamespace, workName string)) error {
	a.mu.Lock()
	if a.watching != nil {
		a.mu.Unlock()
		return errors.New("watch the member: already watching")
	}
	a.watching, a.notify = ctx, notify
	stop := a.interpreter.OnChange(a.reinterpret)
	defer stop()
	for resource, w := range a.watches {
		a.run(resource, w)
	}
	a.mu.Unlock()
	<-ctx.Done()
	a.mu.Lock()
	a.over = true // no informer is started from here on
	a.mu.Unlock()
	a.running.Wait() // without the lock, which those that end may be waiting for
	return nil
}

// use notes that a Work has objects of a kind, which is watched from then on.
func (a *Applier) use(resource schema.GroupVersionResource, kind schema.GroupVersionKind, work types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, ok := a.watches[resource]
	if !ok {
		w = &kindWatch{kinds: map[schema.GroupVersionKind]struct{}{}, users: map[types.NamespacedName]struct{}{}}
		a.watches[resource] = w
		a.run(resource, w)
	}
	w.kinds[kind], w.users[work] = struct{}{}, struct{}{}
}

// run starts a watch if watching has begun. The lock is held.
func (a *Applier) run(resource schema.GroupVersionResource, w *kindWatch) {
	if a.watching == nil || a.over {
		return
	}
	ctx, stop := context.WithCancel(a.watching)
	w.informer, w.stop = a.newInformer(resource), stop
	a.running.Go(func() { w.informer.RunWithContext(ctx) })
	a.running.Go(func() { a.catchUp(ctx, w) })
}

// catchUp tells of every Work of a kind once its watch stands: an object that
// went between its apply and the watch's first list leaves no event.
func (a *Applier) catchUp(ctx context.Context, w *kindWatch) {
	if !cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
		return
	}
	a.mu.Lock()
	works := slices.Collect(maps.Keys(w.users))
	a.mu.Unlock()
	for _, work := range works {
		a.notify(work.Namespace, work.Name)
	}
}

// Forget ends what is remembered of a Work: watches that no other Work needs are
// stopped. The member's objects are left as they are.
func (a *Applier) Forget(work *workv1alpha1.Work) {
	key := types.NamespacedName{Namespace: work.Namespace, Name: work.Name}
	a.mu.Lock()
	defer a.mu.Unlock()
	for resource, w := range a.watches {
		delete(w.users, key)
		if len(w.users) == 0 {
			if w.stop != nil {
				w.stop()
			}
			delete(a.watches, resource)
		}
	}
	for object, m := range a.memos {
		if m.work == key {
			delete(a.memos, object)
		}
	}
}

func (a *Applier) newInformer(resource schema.GroupVersionResource) cache.SharedIndexInformer {
	informer := dynamicinformer.NewFilteredDynamicInformer(a.watcher, resource, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = apis.ManagedLabel + "=" + apis.LabelTrue }).Informer()
	_ = informer.SetTransform(func(object any) (any, error) { // fails only on a started informer
		if o, ok := object.(*unstructured.Unstructured); ok {
			unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
		}
		return object, nil
	})
	tell := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		o, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		marks := o.GetAnnotations()
		if name := marks[workv1alpha1.WorkNameAnnotation]; name != "" {
			a.notify(marks[workv1alpha1.WorkNamespaceAnnotation], name)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only on a stopped informer
		AddFunc:    tell,
		DeleteFunc: tell,
		UpdateFunc: func(before, after any) {
			b, okB := before.(*unstructured.Unstructured)
			o, okO := after.(*unstructured.Unstructured)
			if !okB || !okO || b.GetResourceVersion() != o.GetResourceVersion() {
				tell(after)
			}
		},
	})
	return informer
}

// cached returns our object as the watch last saw it. known is false if there is
// no watch that could know.
func (a *Applier) cached(resource schema.GroupVersionResource, namespace, name string) (o *unstructured.Unstructured, known bool) {
	a.mu.Lock()
	var informer cache.SharedIndexInformer
	if w, ok := a.watches[resource]; ok {
		informer = w.informer
	}
	a.mu.Unlock()
	if informer == nil || !informer.HasSynced() {
		return nil, false
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	object, ok, err := informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, err == nil
	}
	o, ok = object.(*unstructured.Unstructured)
	return o, ok
}
