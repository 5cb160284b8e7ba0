package template

import (
	"strconv"
	"sync"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// bindingKey names a binding; the namespace of a ClusterResourceBinding is empty.
type bindingKey struct{ namespace, name string }

func bindingOf(ref Ref) bindingKey { return bindingKey{ref.Namespace, BindingName(ref.Name, ref.Kind)} }

// written remembers the bindings that were written until the manager's cache
// shows them: the claim on a template comes back as an event before the binding
// that was written next does, and would have it written again.
type written struct {
	mu       sync.Mutex
	bindings map[bindingKey]workv1alpha2.Binding
}

// keep remembers a binding as the API has returned it.
func (w *written) keep(key bindingKey, b workv1alpha2.Binding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bindings == nil {
		w.bindings = map[bindingKey]workv1alpha2.Binding{}
	}
	w.bindings[key] = b
}

// newer returns what was written if the cache does not show it yet.
func (w *written) newer(key bindingKey, cached workv1alpha2.Binding) workv1alpha2.Binding {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.bindings[key]
	if b == nil || cached != nil && !older(cached, b) {
		delete(w.bindings, key)
		return cached
	}
	return b
}

// seen forgets what the cache shows now.
func (w *written) seen(key bindingKey, b workv1alpha2.Binding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kept := w.bindings[key]; kept != nil && !older(b, kept) {
		delete(w.bindings, key)
	}
}

// gone forgets a binding that was deleted, unless a later one was written.
func (w *written) gone(key bindingKey, b workv1alpha2.Binding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kept := w.bindings[key]; kept != nil && (kept.GetUID() == b.GetUID() || !older(b, kept)) {
		delete(w.bindings, key)
	}
}

// older compares versions of bindings.
func older(a, b workv1alpha2.Binding) bool {
	return olderVersion(a.GetResourceVersion(), b.GetResourceVersion())
}

// olderVersion compares resource versions. They count the writes to one store.
func olderVersion(a, b string) bool {
	first, errFirst := strconv.ParseUint(a, 10, 64)
	second, errSecond := strconv.ParseUint(b, 10, 64)
	return errFirst == nil && errSecond == nil && first < second
}
