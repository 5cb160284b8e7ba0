package interpret

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// rules are the rules of others than Muster, in order of precedence.
type rules struct {
	customizations scripts
	webhooks       []*webhook
	bundled        scripts
}

// scripts are rules for exact kinds.
type scripts map[schema.GroupVersionKind]map[Operation]rule

// find returns the rule in charge, nil if the native ones are.
func (r *rules) find(operation Operation, kind schema.GroupVersionKind) rule {
	if found := r.customizations[kind][operation]; found != nil {
		return found
	}
	for _, hook := range r.webhooks {
		if hook.answers(operation, kind) {
			return hook
		}
	}
	if found := r.bundled[kind][operation]; found != nil {
		return found
	}
	return nil
}

// lists are what was set last.
type lists struct {
	customizations []configv1alpha1.ResourceInterpreterCustomization
	webhooks       []configv1alpha1.ResourceInterpreterWebhookConfiguration
}

// Lists returns the customizations and webhooks that were set, which must not be
// changed. If the interpreter is Fed, it waits for them.
func (i *Interpreter) Lists(ctx context.Context) ([]configv1alpha1.ResourceInterpreterCustomization, []configv1alpha1.ResourceInterpreterWebhookConfiguration, error) {
	if err := i.fed.wait(ctx); err != nil {
		return nil, nil, err
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.lists.customizations, i.lists.webhooks, nil
}

// OnChange calls changed whenever kinds may be interpreted in another way than
// before; affects says which. It must not block. The returned function ends it.
func (i *Interpreter) OnChange(changed func(affects func(schema.GroupVersionKind) bool)) (stop func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := i.next
	i.next++
	i.heard[key] = changed
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.heard, key)
	}
}

// tell tells all listeners. The lock is not held.
func (i *Interpreter) tell(affects func(schema.GroupVersionKind) bool) {
	i.mu.RLock()
	listeners := make([]func(func(schema.GroupVersionKind) bool), 0, len(i.heard))
	for _, changed := range i.heard {
		listeners = append(listeners, changed)
	}
	i.mu.RUnlock()
	for _, changed := range listeners {
		changed(affects)
	}
}

// feeding waits for the first of each list.
type feeding struct {
	mu      sync.Mutex
	missing map[string]bool
	done    chan struct{}
}

const (
	listCustomizations = "customizations"
	listWebhooks       = "webhooks"
)

func newFeeding(due bool) *feeding {
	f := &feeding{done: make(chan struct{})}
	if !due {
		close(f.done)
		return f
	}
	f.missing = map[string]bool{listCustomizations: true, listWebhooks: true}
	return f
}

func (f *feeding) got(list string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.missing[list] {
		return
	}
	delete(f.missing, list)
	if len(f.missing) == 0 {
		close(f.done)
	}
}

func (f *feeding) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return nil
	default:
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
