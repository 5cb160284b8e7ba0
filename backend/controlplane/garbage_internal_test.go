package controlplane

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/backend/controlplane/registry"
)

// listed is a discovery that tells what it is given.
type listed struct {
	discovery.ServerResourcesInterface
	lists []*metav1.APIResourceList
	err   error
}

func (l *listed) ServerPreferredResources() ([]*metav1.APIResourceList, error) { return l.lists, l.err }

// A custom kind that goes leaves nothing that asks for it, and can come back.
func TestCustomKindsGo(t *testing.T) {
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kinds := newOwnedKinds(informers.NewSharedInformerFactory(fake.NewClientset(), 0), metadatafake.NewSimpleMetadataClient(scheme), &registry.Direct{})
	foo := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "foos"}
	there := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods"}}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "foos"}}},
	}
	source := &listed{lists: there}
	asked := presentKinds{source, kinds}
	ask := func() {
		if lists, err := asked.ServerPreferredResources(); len(lists) != len(source.lists) || !errors.Is(err, source.err) {
			t.Fatalf("discovery tells %v, %v", lists, err)
		}
	}
	watch := func(resource schema.GroupVersionResource) cache.SharedIndexInformer {
		generic, err := kinds.ForResource(resource)
		if err != nil {
			t.Fatal(err)
		}
		informer := generic.Informer()
		kinds.Start(t.Context().Done())
		if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
			t.Fatalf("%s is not read", resource.Resource)
		}
		return informer
	}
	first, pods := watch(foo), watch(schema.GroupVersionResource{Version: "v1", Resource: "pods"})

	ask()
	if watch(foo) != first {
		t.Error("a kind that is there is watched anew")
	}
	source.lists, source.err = there[:1], errors.New("example.com does not answer")
	ask()
	if watch(foo) != first {
		t.Error("a kind of a group that does not answer is taken as gone")
	}
	source.err = nil
	ask()
	awaitStop(t, first)
	if pods.IsStopped() {
		t.Error("a kind of Kubernetes is no longer watched")
	}

	source.lists = there
	ask()
	if second := watch(foo); second == first || second.IsStopped() {
		t.Error("a kind that came back is not watched")
	}
}

func awaitStop(t *testing.T, informer cache.SharedIndexInformer) {
	t.Helper()
	stopped := func(context.Context) (bool, error) { return informer.IsStopped(), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, stopped); err != nil {
		t.Fatalf("a kind that is gone is watched on: %v", err)
	}
}
