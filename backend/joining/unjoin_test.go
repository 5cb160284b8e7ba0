package joining_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/joining/joiningtest"
)

func unjoinRequest(hub, member *joiningtest.API) joining.UnjoinRequest {
	request := joining.UnjoinRequest{Name: "member1", Hub: hub.Client(), Wait: time.Minute}
	if member != nil {
		request.Member = member.Config()
	}
	return request
}

func TestUnjoinLeavesTheMemberAsBefore(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	joiningtest.LetGo(hub)
	if err := joining.Unjoin(context.Background(), unjoinRequest(hub, member)); err != nil {
		t.Fatal(err)
	}
	if got := member.All(); len(got) > 0 {
		t.Errorf("left in the member: %v", got)
	}
	if diff := cmp.Diff([]string{"api/v1/namespaces/karmada-cluster"}, hub.All()); diff != "" {
		t.Errorf("left on the hub (-want +got):\n%s", diff)
	}
}

func TestUnjoinKeepsWhatIsNotOurs(t *testing.T) {
	object := func(kind, name string) map[string]any {
		return map[string]any{"kind": kind, "apiVersion": "v1", "metadata": map[string]any{"name": name}}
	}
	const accounts = "/api/v1/namespaces/karmada-cluster/serviceaccounts/"
	tests := map[string]struct {
		prepare func(member *joiningtest.API)
		keeps   []string
	}{
		"another registration": {
			prepare: func(m *joiningtest.API) {
				m.Put(accounts+"karmada-other", object("ServiceAccount", "karmada-other"))
				m.Put(accounts+"default", object("ServiceAccount", "default"))
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
			prepare: func(m *joiningtest.API) {
				m.Put("/api/v1/namespaces/karmada-cluster/configmaps/mine", object("ConfigMap", "mine"))
				m.Put("/api/v1/namespaces/karmada-cluster/configmaps/kube-root-ca.crt", object("ConfigMap", "kube-root-ca.crt"))
			},
			keeps: []string{
				"api/v1/namespaces/karmada-cluster",
				"api/v1/namespaces/karmada-cluster/configmaps/kube-root-ca.crt",
				"api/v1/namespaces/karmada-cluster/configmaps/mine",
			},
		},
		"Kubernetes' own objects do not count": {
			prepare: func(m *joiningtest.API) {
				m.Put(accounts+"default", object("ServiceAccount", "default"))
				m.Put("/api/v1/namespaces/karmada-cluster/configmaps/kube-root-ca.crt", object("ConfigMap", "kube-root-ca.crt"))
			},
			keeps: []string{},
		},
		"a namespace that was there": {
			prepare: func(m *joiningtest.API) {
				m.Mu.Lock()
				defer m.Mu.Unlock()
				delete(m.Objects["/api/v1/namespaces/karmada-cluster"]["metadata"].(map[string]any), "labels")
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
				hub, member := joiningtest.Joined(t)
				test.prepare(member)
				clean := joining.Cleanup{Member: member.Config(), Cluster: "member1", ID: joiningtest.MemberUID}
				if own {
					clean.Own = true
					clean.Member.BearerToken = tokenOfHub(t, hub)
				}
				if err := clean.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.keeps, member.All()); diff != "" {
					t.Errorf("left in the member (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestUnjoinOfTheWrongMemberRemovesNothing(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	other := joiningtest.NewAPI(t, "other-uid")
	request := unjoinRequest(hub, other)
	before := member.All()
	if err := joining.Unjoin(context.Background(), request); !fault.Is(err, fault.KindConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if hub.Object(joiningtest.ClusterPath + "member1")["metadata"].(map[string]any)["deletionTimestamp"] != nil {
		t.Error("the cluster is being deleted")
	}
	if diff := cmp.Diff(before, member.All()); diff != "" {
		t.Errorf("the member changed:\n%s", diff)
	}
}

func TestUnjoinNamesWhatBlocks(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	hub.Mu.Lock()
	work := hub.Objects["/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/web"]
	work["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-21T12:00:00Z"
	hub.Mu.Unlock()
	request := unjoinRequest(hub, member)
	request.Wait = 300 * time.Millisecond
	err := joining.Unjoin(context.Background(), request)
	if !fault.Is(err, fault.KindUnavailable) || !strings.Contains(err.Error(), "1 work: web") {
		t.Fatalf("got %v, want it to name the work", err)
	}
	if len(member.Names("/api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-member1")) == 0 {
		t.Error("the member was cleaned although the hub still needs it")
	}
	request.Force = true
	if err := joining.Unjoin(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if got := hub.Object(joiningtest.ClusterPath + "member1"); got != nil {
		t.Errorf("the cluster is still there: %v", got["metadata"])
	}
	if got := member.All(); len(got) > 0 {
		t.Errorf("left in the member: %v", got)
	}
}

func TestUnjoinRefuses(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	hub.Put(joiningtest.ClusterPath+"puller", map[string]any{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1", "metadata": map[string]any{"name": "puller"}, "spec": map[string]any{"syncMode": "Pull"}})
	tests := map[string]struct {
		change func(*joining.UnjoinRequest)
		kind   fault.Kind
		says   string
	}{
		"unknown": {func(r *joining.UnjoinRequest) { r.Name = "nosuch" }, fault.KindNotFound, "nosuch"},
		"pull":    {func(r *joining.UnjoinRequest) { r.Name = "puller" }, fault.KindInvalid, "pull"},
		"no wait": {func(r *joining.UnjoinRequest) { r.Wait = 0 }, fault.KindInvalid, "--wait"},
	}
	for name, test := range tests {
		request := unjoinRequest(hub, member)
		test.change(&request)
		if err := joining.Unjoin(context.Background(), request); !fault.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUnjoinDryRunChangesNothing(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	before := slices.Concat(hub.All(), member.All())
	request := unjoinRequest(hub, member)
	request.DryRun = true
	var said []string
	request.Progress = func(step joining.Step) { said = append(said, step.Detail) }
	if err := joining.Unjoin(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, slices.Concat(hub.All(), member.All())); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
	if len(said) != 2 {
		t.Errorf("said %v", said)
	}
}

func TestUnjoinWithoutKubeconfigLeavesTheMember(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	joiningtest.LetGo(hub)
	before := member.All()
	if err := joining.Unjoin(context.Background(), unjoinRequest(hub, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, member.All()); diff != "" {
		t.Errorf("the member changed:\n%s", diff)
	}
}

// tokenOfHub is the token the hub keeps for member1.
func tokenOfHub(t *testing.T, hub *joiningtest.API) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(hub.Object("/api/v1/namespaces/karmada-cluster/secrets/member1")["data"].(map[string]any)["token"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
