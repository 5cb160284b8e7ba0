package joiningtest

import (
	"context"
	"testing"

	"muster.dev/muster/backend/joining"
)

// Request joins a member to a hub under this name.
func Request(hub, member *API, name string) joining.Request {
	return joining.Request{Name: name, Hub: hub.Client(), Member: member.Config(), Provider: "acme", Region: "eu", Zones: []string{"zone-a", "zone-b"}}
}

// Joined is a hub with member1 joined, its Cluster held by the hub's finalizer
// and one Work held by the member's.
func Joined(t *testing.T) (hub, member *API) {
	t.Helper()
	hub, member = Pair(t)
	if _, err := joining.Join(context.Background(), Request(hub, member, "member1")); err != nil {
		t.Fatal(err)
	}
	hub.Mu.Lock()
	defer hub.Mu.Unlock()
	hub.Objects[ClusterPath+"member1"]["metadata"].(map[string]any)["finalizers"] = []any{"karmada.io/cluster-controller"}
	hub.Store("/api/v1/namespaces/karmada-es-member1", map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-es-member1"}}, "ADDED")
	hub.Store("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/web", map[string]any{
		"kind": "Work", "apiVersion": "work.karmada.io/v1alpha1",
		"metadata": map[string]any{"name": "web", "finalizers": []any{"karmada.io/execution-controller"}}, "spec": map[string]any{},
	}, "ADDED")
	return hub, member
}

// LetGo stands for the hub's cluster controller: it lets go of a cluster once its
// deletion was asked for, before or after this call.
func LetGo(hub *API) {
	done := hub.t.Context().Done()
	go hub.Follow(Parent(ClusterPath+"x"), 0, done, func(e Event) bool {
		hub.Mu.Lock()
		defer hub.Mu.Unlock()
		object := hub.Objects[e.Path]
		if object == nil || object["metadata"].(map[string]any)["deletionTimestamp"] == nil {
			return true
		}
		for _, path := range []string{"/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/web", "/api/v1/namespaces/karmada-es-member1"} {
			if hub.Objects[path] != nil {
				hub.Drop(path)
			}
		}
		hub.Drop(e.Path)
		return false
	})
}
