package joining_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/joining/joiningtest"
	"muster.dev/muster/backend/registration"
)

func objectMeta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestJoinMakesWhatTheContractSays(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	made, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "member1"))
	if err != nil {
		t.Fatal(err)
	}
	want := clusterv1alpha1.ClusterSpec{
		ID: joiningtest.MemberUID, SyncMode: clusterv1alpha1.Push, APIEndpoint: member.Server.URL,
		SecretRef:             &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: "member1"},
		ImpersonatorSecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: "member1-impersonator"},
		Provider:              "acme", Region: "eu", Zones: []string{"zone-a", "zone-b"},
	}
	if diff := cmp.Diff(want, made.Spec); diff != "" {
		t.Errorf("cluster spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"api/v1/namespaces/karmada-cluster",
		"api/v1/namespaces/karmada-cluster/secrets/karmada-impersonator",
		"api/v1/namespaces/karmada-cluster/secrets/karmada-member1",
		"api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-impersonator",
		"api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-member1",
		"apis/rbac.authorization.k8s.io/v1/clusterrolebindings/karmada-controller-manager:karmada-member1",
		"apis/rbac.authorization.k8s.io/v1/clusterroles/karmada-controller-manager:karmada-member1",
	}, member.All()); diff != "" {
		t.Errorf("objects in the member (-want +got):\n%s", diff)
	}
	for name, account := range map[string]string{"member1": "karmada-member1", "member1-impersonator": "karmada-impersonator"} {
		secret := hub.Object("/api/v1/namespaces/karmada-cluster/secrets/" + name)
		if secret == nil {
			t.Fatalf("the hub has no secret %s", name)
		}
		owner := secret["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)
		if owner["uid"] != string(made.UID) || owner["controller"] != true || owner["blockOwnerDeletion"] != true || owner["kind"] != "Cluster" {
			t.Errorf("secret %s has owner %v", name, owner)
		}
		text, _ := base64.StdEncoding.DecodeString(secret["data"].(map[string]any)["token"].(string))
		if !strings.HasPrefix(string(text), "token-of-"+account+"-") {
			t.Errorf("secret %s holds %q", name, text)
		}
		if _, has := secret["data"].(map[string]any)["caBundle"]; has != (name == "member1") {
			t.Errorf("secret %s: has a caBundle: %v", name, has)
		}
	}
	if slices.Contains(member.Requests, "DELETE /api/v1/namespaces/karmada-cluster") {
		t.Error("a good join deleted something")
	}
}

func TestJoinTellsItsSteps(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	request := joiningtest.Request(hub, member, "member1")
	var done []string
	request.Progress = func(step joining.Step) {
		if step.State == joining.StepDone {
			done = append(done, step.Name)
		}
	}
	if _, err := joining.Join(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	want := []string{"member", "unique", "namespace", "accounts", "credential", "secrets", "cluster", "owners"}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestJoinRefusesDuplicates(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	if _, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "member1")); err != nil {
		t.Fatal(err)
	}
	before := member.All()
	other := joiningtest.NewAPI(t, "other-uid")
	tests := map[string]struct {
		member *joiningtest.API
		name   string
		code   string
		says   string
	}{
		"same cluster, other name": {member, "other", registration.CodeManaged, "member1"},
		"same cluster, same name":  {member, "member1", registration.CodeManaged, "member1"},
		"other cluster, same name": {other, "member1", registration.CodeMemberName, "member1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := joining.Join(context.Background(), joiningtest.Request(hub, test.member, test.name))
			if joiningtest.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v with code %q, want code %s naming %s", err, joiningtest.CodeOf(err), test.code, test.says)
			}
		})
	}
	if diff := cmp.Diff(before, member.All()); diff != "" {
		t.Errorf("a refused join changed the member:\n%s", diff)
	}
	if got := other.All(); len(got) > 0 {
		t.Errorf("a refused join left %v", got)
	}
}

func TestJoinTakesBackExactlyWhatItMade(t *testing.T) {
	tests := map[string]struct {
		fail   string // the request that the hub refuses
		before func(hub, member *joiningtest.API)
		keeps  []string
	}{
		"secret refused":  {fail: "POST /api/v1/namespaces/karmada-cluster/secrets"},
		"cluster refused": {fail: "POST /apis/cluster.karmada.io/v1alpha1/clusters"},
		"owner refused":   {fail: "PATCH /api/v1/namespaces/karmada-cluster/secrets/member1"},
		"namespace and impersonator were there": {
			fail: "POST /apis/cluster.karmada.io/v1alpha1/clusters",
			before: func(_, member *joiningtest.API) {
				member.Put("/api/v1/namespaces/karmada-cluster", map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-cluster"}})
				member.Put("/api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-impersonator", map[string]any{"kind": "ServiceAccount", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-impersonator"}})
			},
			keeps: []string{"api/v1/namespaces/karmada-cluster", "api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-impersonator"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hub, member := joiningtest.Pair(t)
			if test.before != nil {
				test.before(hub, member)
			}
			hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method+" "+r.URL.Path != test.fail {
					return false
				}
				joiningtest.Refuse(w, http.StatusForbidden, "Forbidden", "not allowed in this test")
				return true
			}
			_, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "member1"))
			if !fault.Is(err, fault.KindForbidden) {
				t.Fatalf("got %v, want forbidden", err)
			}
			if diff := cmp.Diff(append([]string{}, test.keeps...), member.All()); diff != "" {
				t.Errorf("left in the member (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"api/v1/namespaces/karmada-cluster"}, hub.All()); diff != "" {
				t.Errorf("left on the hub (-want +got):\n%s", diff)
			}
		})
	}
}

// A hub that goes away while it makes the Cluster, or before that can be taken back,
// has one when it is back: its credentials are good.
func TestJoinLeavesWhatAClusterOnALostHubNeeds(t *testing.T) {
	const clusters = "/apis/cluster.karmada.io/v1alpha1/clusters"
	for name, last := range map[string]string{
		"made, and not answered":    "POST " + clusters,
		"made, secrets not owned":   "GET /api/v1/namespaces/karmada-cluster/secrets/member1",
		"never heard of by the hub": "",
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := joiningtest.Pair(t)
			var lost atomic.Bool
			hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				request := r.Method + " " + r.URL.Path
				if last == "" && request == "POST "+clusters {
					lost.Store(true)
					panic(http.ErrAbortHandler)
				}
				if lost.Load() {
					if last == "" && request == "GET "+clusters+"/member1" {
						return false // the hub is back by then
					}
					panic(http.ErrAbortHandler)
				}
				if request != last {
					return false
				}
				lost.Store(true)
				if r.Method == http.MethodPost {
					var made map[string]any
					if err := json.NewDecoder(r.Body).Decode(&made); err != nil {
						t.Error(err)
					}
					hub.Put(clusters+"/member1", made)
				}
				panic(http.ErrAbortHandler)
			}
			_, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "member1"))
			if !fault.Is(err, fault.KindUnavailable) {
				t.Fatalf("got %v, want unavailable", err)
			}
			there := hub.Object(clusters+"/member1") != nil
			if there != (last != "") {
				t.Fatalf("the hub has %v", hub.All())
			}
			if !there {
				if left := member.All(); len(left) > 0 {
					t.Errorf("left in the member: %v", left)
				}
				return
			}
			if !strings.Contains(err.Error(), "cluster member1") || !strings.Contains(err.Error(), "service account") {
				t.Errorf("what is left is not told: %v", err)
			}
			credential := hub.Object("/api/v1/namespaces/karmada-cluster/secrets/member1")
			token, err := base64.StdEncoding.DecodeString(credential["data"].(map[string]any)["token"].(string))
			if err != nil {
				t.Fatal(err)
			}
			if account := member.Tokens[string(token)]; account == "" || member.Object(account) == nil {
				t.Errorf("the cluster's credential is dead; the member has %v", member.All())
			}
		})
	}
}

func TestJoinTakesBackWhenCancelled(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	member.FillTokens = false // so that it waits for tokens
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	member.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") != "" {
			once.Do(cancel)
		}
		return false
	}
	if _, err := joining.Join(ctx, joiningtest.Request(hub, member, "member1")); err == nil {
		t.Fatal("a cancelled join succeeded")
	}
	if got := member.All(); len(got) > 0 {
		t.Errorf("left in the member: %v", got)
	}
}

func TestJoinReplacesStaleSecrets(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	stale := func(owner string) map[string]any {
		metadata := map[string]any{"name": "member1"}
		if owner != "" {
			metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": "member1", "uid": owner, "controller": true}}
		}
		return map[string]any{"kind": "Secret", "apiVersion": "v1", "metadata": metadata, "data": map[string]any{"token": base64.StdEncoding.EncodeToString([]byte("dead"))}}
	}
	for _, owner := range []string{"", "gone"} {
		path := "/api/v1/namespaces/karmada-cluster/secrets/member1"
		hub.Put(path, stale(owner))
		if _, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "member1")); err != nil {
			t.Fatal(err)
		}
		if text := hub.Object(path)["data"].(map[string]any)["token"].(string); text == base64.StdEncoding.EncodeToString([]byte("dead")) {
			t.Error("the dead credential is still there")
		}
		if err := hub.Client().Delete(context.Background(), &clusterv1alpha1.Cluster{ObjectMeta: objectMeta("member1")}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestJoinSparesSecretsOfALivingCluster(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	if _, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "edge")); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/namespaces/karmada-cluster/secrets/edge-impersonator"
	before := hub.Object(path)
	other := joiningtest.NewAPI(t, "other-uid")
	if _, err := joining.Join(context.Background(), joiningtest.Request(hub, other, "edge-impersonator")); joiningtest.CodeOf(err) != registration.CodeMemberName {
		t.Errorf("got %v, want code %s", err, registration.CodeMemberName)
	}
	if diff := cmp.Diff(before, hub.Object(path)); diff != "" {
		t.Errorf("the living cluster's secret changed:\n%s", diff)
	}
}

func TestJoinReplacesTokenOfAnEarlierAccount(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	member.Put("/api/v1/namespaces/karmada-cluster", map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-cluster"}})
	member.Put("/api/v1/namespaces/karmada-cluster/secrets/karmada-member1", map[string]any{
		"kind": "Secret", "apiVersion": "v1", "type": "kubernetes.io/service-account-token",
		"metadata": map[string]any{"name": "karmada-member1", "annotations": map[string]any{
			"kubernetes.io/service-account.name": "karmada-member1", "kubernetes.io/service-account.uid": "an earlier one",
		}},
		"data": map[string]any{"token": base64.StdEncoding.EncodeToString([]byte("dead"))},
	})
	if _, err := joining.Join(context.Background(), joiningtest.Request(hub, member, "member1")); err != nil {
		t.Fatal(err)
	}
}

func TestJoinFindsTheCAThatVerifies(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	// The member's own CA is another one than the one its address is served with,
	// as behind a cloud's load balancer.
	foreign := joiningtest.NewAPI(t, "foreign").CA()
	request := joiningtest.Request(hub, member, "member1")
	member.CAOfTokens = foreign
	if _, err := joining.Join(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	secret := hub.Object("/api/v1/namespaces/karmada-cluster/secrets/member1")
	if got := secret["data"].(map[string]any)["caBundle"]; got != base64.StdEncoding.EncodeToString(member.CA()) {
		t.Error("the hub did not keep the CA that verifies the server")
	}
}

func TestPlan(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	member.Put("/api/v1/namespaces/karmada-cluster", map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-cluster"}})
	hub.Put("/api/v1/namespaces/karmada-cluster/secrets/member1", map[string]any{"kind": "Secret", "apiVersion": "v1", "metadata": map[string]any{"name": "member1"}})
	before := append(member.All(), hub.All()...)
	plan, err := joining.Plan(context.Background(), joiningtest.Request(hub, member, "member1"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, object := range plan {
		got = append(got, strings.Join([]string{object.Where, object.Verb, object.Kind, object.Name}, " "))
	}
	want := []string{
		"member keep Namespace karmada-cluster",
		"member create ServiceAccount karmada-impersonator",
		"member create Secret karmada-impersonator",
		"member create ServiceAccount karmada-member1",
		"member create Secret karmada-member1",
		"member create ClusterRole karmada-controller-manager:karmada-member1",
		"member create ClusterRoleBinding karmada-controller-manager:karmada-member1",
		"hub keep Namespace karmada-cluster",
		"hub create Secret member1-impersonator",
		"hub replace Secret member1",
		"hub create Cluster member1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, append(member.All(), hub.All()...)); diff != "" {
		t.Errorf("planning changed something:\n%s", diff)
	}
}

func TestJoinValidates(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	for _, name := range []string{"Bad_Name", "", "rbac-generator", strings.Repeat("a", 49)} {
		if _, err := joining.Join(context.Background(), joiningtest.Request(hub, member, name)); !fault.Is(err, fault.KindInvalid) {
			t.Errorf("%q: got %v, want invalid", name, err)
		}
	}
	request := joiningtest.Request(hub, member, "a")
	request.Zones = []string{"not a label value!"}
	if _, err := joining.Join(context.Background(), request); !fault.Is(err, fault.KindInvalid) {
		t.Errorf("zones: got %v, want invalid", err)
	}
	if len(member.Requests) > 0 {
		t.Errorf("invalid requests reached the member: %v", member.Requests)
	}
}

func TestJoinWaitsForANamespaceThatGoes(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	const path = "/api/v1/namespaces/karmada-cluster"
	member.Put(path, map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "karmada-cluster", "deletionTimestamp": "2026-11-21T12:00:00Z"}})
	go func() {
		for watched := false; !watched; runtime.Gosched() { // until somebody waits for it
			member.Mu.Lock()
			if watched = member.Watchers > 0; watched {
				member.Drop(path)
			}
			member.Mu.Unlock()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := joining.Join(ctx, joiningtest.Request(hub, member, "member1")); err != nil {
		t.Fatal(err)
	}
}
