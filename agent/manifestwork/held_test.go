package manifestwork_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/agent/feed"
)

// slowHub are the works of a hub that takes its time to note that it holds a work.
type slowHub struct {
	dynamic.ResourceInterface
	asked chan struct{} // one for each time that it was asked to
	hold  chan struct{} // closed when it does
}

func (s *slowHub) Follow(ctx context.Context, listener feed.Listener, failed func(error)) {
	feed.Run(ctx, s.ResourceInterface, listener, feed.Options{Slowest: time.Second, Failed: failed})
}

func (s *slowHub) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return s.ResourceInterface.Get(ctx, name, metav1.GetOptions{})
}

func (s *slowHub) Patch(ctx context.Context, name string, patch []byte, status bool) (*unstructured.Unstructured, error) {
	if status {
		return s.ResourceInterface.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	s.asked <- struct{}{}
	select {
	case <-s.hold:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.ResourceInterface.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// slow has the fixture's hub take its time.
func (f *fixture) slow() *slowHub {
	s := &slowHub{ResourceInterface: f.client.Resource(worksResource).Namespace(f.cluster), asked: make(chan struct{}, 100), hold: make(chan struct{})}
	f.options.Works = s
	return s
}

const oneMap = `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: $NS}}]}`

// What a work wants is applied while the hub notes that it holds the work. One that
// goes before takes its objects with it, with no time of grace.
func TestWorkGoesBeforeTheHubHoldsIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.EvictionGrace = time.Hour
	hub := f.slow()
	f.run()
	f.create("w", oneMap)
	f.eventually("the object is there", func() bool { return f.object(configMaps, "a") != nil })
	<-hub.asked
	if held := f.work("w").Finalizers; len(held) > 0 {
		t.Errorf("the hub holds the work by %v", held)
	}
	f.delete("w")
	close(hub.hold)
	f.eventually("object and record are gone", func() bool { return f.object(configMaps, "a") == nil && f.record("w") == nil })

	f.create("w", oneMap)
	f.condition("w", "Available", metav1.ConditionTrue)
	if len(f.work("w").Finalizers) == 0 {
		t.Error("the hub does not hold a work that is told as available")
	}
	f.delete("w")
	f.eventually("all is gone", func() bool {
		return f.work("w") == nil && f.object(configMaps, "a") == nil && f.record("w") == nil
	})
}

// A work changes before the hub holds it; what the first version applied is known.
func TestWorkChangesBeforeTheHubHoldsIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hub := f.slow()
	f.run()
	f.create("w", oneMap)
	f.eventually("the object is there", func() bool { return f.object(configMaps, "a") != nil })
	<-hub.asked
	f.update("w", `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: $NS}}]}`)
	close(hub.hold)
	f.condition("w", "Available", metav1.ConditionTrue)
	f.eventually("the new object instead of the old", func() bool { return f.object(configMaps, "a") == nil && f.object(configMaps, "b") != nil })
}

// An agent that ends before the hub holds a work leaves a record that lists nothing;
// if the work is gone by the time that an agent runs again, it and what it owns go.
func TestAgentEndsBeforeTheHubHoldsAWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.EvictionGrace = time.Hour
	hub := f.slow()
	stop := f.run()
	f.create("w", oneMap)
	f.eventually("the object is there", func() bool { return f.object(configMaps, "a") != nil })
	<-hub.asked
	stop()
	f.delete("w")
	f.options.Works = nil
	f.run()
	f.eventually("object and record are gone", func() bool { return f.object(configMaps, "a") == nil && f.record("w") == nil })
}
