package cluster_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/fault"
)

const clusterPath = "/apis/cluster.karmada.io/v1alpha1/clusters/"

// joined is a hub with member1 joined, its Cluster held by the hub's finalizer
// and one Work held by the member's.
func joined(t *testing.T) (hub, member *fakeAPI) {
	t.Helper()
	hub, member = joinPair(t)
	if _, err := cluster.Join(context.Background(), joinRequest(hub, member, "member1")); err != nil {
		t.Fatal(err)
	}
	hub.mu.Lock()
	defer hub.mu.Unlock()
	hub.objects[clusterPath+"member1"]["metadata"].(map[string]any)["finalizers"] = []any{"karmada.io/cluster-controller"}
	hub.store("/api/v1/namespaces/karmada-es-member1", map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-es-member1"}}, "ADDED")
	hub.store("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/web", map[string]any{
		"kind": "Work", "apiVersion": "work.karmada.io/v1alpha1",
		"metadata": map[string]any{"name": "web", "finalizers": []any{"karmada.io/execution-controller"}}, "spec": map[string]any{},
	}, "ADDED")
	return hub, member
}

// controller stands for the hub's cluster controller: it lets go of a cluster
// once its deletion was asked for.
func controller(hub *fakeAPI) {
	events := make(chan event, 100)
	hub.mu.Lock()
	hub.watchers[events] = parent(clusterPath + "x")
	hub.mu.Unlock()
	go func() {
		for e := range events {
			if e.Type != "MODIFIED" {
				continue
			}
			hub.mu.Lock()
			if object := hub.objects[e.path]; object != nil && object["metadata"].(map[string]any)["deletionTimestamp"] != nil {
				delete(hub.objects, "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/web")
				delete(hub.objects, "/api/v1/namespaces/karmada-es-member1")
				hub.drop(e.path)
				hub.mu.Unlock()
				return
			}
			hub.mu.Unlock()
		}
	}()
}

func unjoinRequest(hub, member *fakeAPI) cluster.UnjoinRequest {
	request := cluster.UnjoinRequest{Name: "member1", Hub: hub.client(), Wait: 10 * time.Second}
	if member != nil {
		request.Member = member.config()
	}
	return request
}

func TestUnjoinLeavesTheMemberAsBefore(t *testing.T) {
	hub, member := joined(t)
	controller(hub)
	start := time.Now()
	if err := cluster.Unjoin(context.Background(), unjoinRequest(hub, member)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a happy unjoin took %s", took)
	}
	if got := member.all(); len(got) > 0 {
		t.Errorf("left in the member: %v", got)
	}
	if diff := cmp.Diff([]string{"api/v1/namespaces/karmada-cluster"}, hub.all()); diff != "" {
		t.Errorf("left on the hub (-want +got):\n%s", diff)
	}
}

func TestUnjoinKeepsWhatIsNotOurs(t *testing.T) {
	object := func(kind, name string) map[string]any {
		return map[string]any{"kind": kind, "apiVersion": "v1", "metadata": map[string]any{"name": name}}
	}
	const accounts = "/api/v1/namespaces/karmada-cluster/serviceaccounts/"
	tests := map[string]struct {
		prepare func(member *fakeAPI)
		keeps   []string
	}{
		"another registration": {
			prepare: func(m *fakeAPI) {
				m.put(accounts+"karmada-other", object("ServiceAccount", "karmada-other"))
				m.put(accounts+"default", object("ServiceAccount", "default"))
			},
			keeps: []string{
				"api/v1/namespaces/karmada-cluster",
				"api/v1/namespaces/karmada-cluster/secrets/karmada-impersonator",
				"api/v1/namespaces/karmada-cluster/serviceaccounts/default",
				"api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-impersonator",
				"api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-other",
			},
		},
		"a stranger's object": {
			prepare: func(m *fakeAPI) {
				m.put("/api/v1/namespaces/karmada-cluster/configmaps/mine", object("ConfigMap", "mine"))
				m.put("/api/v1/namespaces/karmada-cluster/configmaps/kube-root-ca.crt", object("ConfigMap", "kube-root-ca.crt"))
			},
			keeps: []string{
				"api/v1/namespaces/karmada-cluster",
				"api/v1/namespaces/karmada-cluster/configmaps/kube-root-ca.crt",
				"api/v1/namespaces/karmada-cluster/configmaps/mine",
			},
		},
		"Kubernetes' own objects do not count": {
			prepare: func(m *fakeAPI) {
				m.put(accounts+"default", object("ServiceAccount", "default"))
				m.put("/api/v1/namespaces/karmada-cluster/configmaps/kube-root-ca.crt", object("ConfigMap", "kube-root-ca.crt"))
			},
			keeps: []string{},
		},
		"a namespace that was there": {
			prepare: func(m *fakeAPI) {
				m.mu.Lock()
				defer m.mu.Unlock()
				delete(m.objects["/api/v1/namespaces/karmada-cluster"]["metadata"].(map[string]any), "labels")
			},
			keeps: []string{"api/v1/namespaces/karmada-cluster"},
		},
	}
	for name, test := range tests {
		for _, own := range []bool{false, true} {
			if own {
				name += ", by its own account"
			}
			t.Run(name, func(t *testing.T) {
				hub, member := joined(t)
				test.prepare(member)
				clean := cluster.Cleanup{Member: member.config(), Cluster: "member1", ID: memberUID}
				if own {
					clean.Own = true
					clean.Member.BearerToken = tokenOfHub(t, hub)
				}
				if err := clean.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.keeps, member.all()); diff != "" {
					t.Errorf("left in the member (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestUnjoinOfTheWrongMemberRemovesNothing(t *testing.T) {
	hub, member := joined(t)
	other := newFakeAPI(t, "other-uid")
	request := unjoinRequest(hub, other)
	before := member.all()
	if err := cluster.Unjoin(context.Background(), request); !fault.Is(err, fault.KindConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if hub.object(clusterPath + "member1")["metadata"].(map[string]any)["deletionTimestamp"] != nil {
		t.Error("the cluster is being deleted")
	}
	if diff := cmp.Diff(before, member.all()); diff != "" {
		t.Errorf("the member changed:\n%s", diff)
	}
}

func TestUnjoinNamesWhatBlocks(t *testing.T) {
	hub, member := joined(t)
	hub.mu.Lock()
	work := hub.objects["/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/web"]
	work["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-21T12:00:00Z"
	hub.mu.Unlock()
	request := unjoinRequest(hub, member)
	request.Wait = 300 * time.Millisecond
	err := cluster.Unjoin(context.Background(), request)
	if !fault.Is(err, fault.KindUnavailable) || !strings.Contains(err.Error(), "1 works: web") {
		t.Fatalf("got %v, want it to name the work", err)
	}
	if len(member.names("/api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-member1")) == 0 {
		t.Error("the member was cleaned although the hub still needs it")
	}
	request.Force = true
	if err := cluster.Unjoin(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if got := hub.object(clusterPath + "member1"); got != nil {
		t.Errorf("the cluster is still there: %v", got["metadata"])
	}
	if got := member.all(); len(got) > 0 {
		t.Errorf("left in the member: %v", got)
	}
}

func TestUnjoinRefuses(t *testing.T) {
	hub, member := joined(t)
	hub.put(clusterPath+"puller", map[string]any{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1", "metadata": map[string]any{"name": "puller"}, "spec": map[string]any{"syncMode": "Pull"}})
	tests := map[string]struct {
		change func(*cluster.UnjoinRequest)
		kind   fault.Kind
		says   string
	}{
		"unknown": {func(r *cluster.UnjoinRequest) { r.Name = "nosuch" }, fault.KindNotFound, "nosuch"},
		"pull":    {func(r *cluster.UnjoinRequest) { r.Name = "puller" }, fault.KindInvalid, "pull"},
		"no wait": {func(r *cluster.UnjoinRequest) { r.Wait = 0 }, fault.KindInvalid, "--wait"},
	}
	for name, test := range tests {
		request := unjoinRequest(hub, member)
		test.change(&request)
		if err := cluster.Unjoin(context.Background(), request); !fault.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUnjoinDryRunChangesNothing(t *testing.T) {
	hub, member := joined(t)
	before := slices.Concat(hub.all(), member.all())
	request := unjoinRequest(hub, member)
	request.DryRun = true
	var said []string
	request.Progress = func(step cluster.Step) { said = append(said, step.Detail) }
	if err := cluster.Unjoin(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, slices.Concat(hub.all(), member.all())); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
	if len(said) != 2 {
		t.Errorf("said %v", said)
	}
}

func TestUnjoinWithoutKubeconfigLeavesTheMember(t *testing.T) {
	hub, member := joined(t)
	controller(hub)
	before := member.all()
	if err := cluster.Unjoin(context.Background(), unjoinRequest(hub, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, member.all()); diff != "" {
		t.Errorf("the member changed:\n%s", diff)
	}
}

// tokenOfHub is the token the hub keeps for member1.
func tokenOfHub(t *testing.T, hub *fakeAPI) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(hub.object("/api/v1/namespaces/karmada-cluster/secrets/member1")["data"].(map[string]any)["token"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
