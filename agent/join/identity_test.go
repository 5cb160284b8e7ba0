package join_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
)

func newStore(t *testing.T, config *rest.Config) *join.Store {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return join.NewStore(client, "muster-system")
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// registered is a member that went through registration with a hub.
func registered(t *testing.T, h *hub) (*membertest.Server, *rest.Config, *join.Store) {
	t.Helper()
	m, config := newMember(t)
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out = out
	id := string(m.Get("Namespace", "", "kube-system").GetUID())
	if err := out.register(t, o, func(*join.Store) { h.cluster("edge-7", id, true) }); err != nil {
		t.Fatal(err)
	}
	store := newStore(t, config)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m, config, store
}

func TestStore(t *testing.T) {
	_, config := newMember(t)
	if _, err := newStore(t, config).Load(t.Context()); !errors.Is(err, join.ErrNoIdentity) {
		t.Errorf("nothing there: %v", err)
	}
	h := startHub(t, nil)
	m, config, store := registered(t, h)
	if err := store.Note(t.Context(), "uid-1", false, &agentapi.Refused{Code: "MU-106", Message: "m"}); err != nil {
		t.Fatal(err)
	}
	loaded, err := newStore(t, config).Load(t.Context())
	if err != nil || loaded.ClusterUID != "uid-1" || loaded.Refusal == nil || loaded.Refusal.Code != "MU-106" || loaded.Removed {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
	if err := store.Note(t.Context(), "uid-1", true, nil); err != nil {
		t.Fatal(err)
	}
	if loaded, err = newStore(t, config).Load(t.Context()); err != nil || !loaded.Removed || loaded.Refusal != nil {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
	m.Writes()
	if err := store.Note(t.Context(), "uid-1", true, nil); err != nil {
		t.Fatal(err)
	}
	if err := store.Note(t.Context(), "uid-2", false, nil); err != nil {
		t.Fatal(err)
	}

	// It is a kubeconfig of the form that the wire contract names.
	data, _, _ := unstructured.NestedString(m.Get("Secret", "muster-system", "muster-agent").Object, "data", "kubeconfig")
	raw, err := clientcmd.Load(decodeBase64(t, data))
	if err != nil || raw.CurrentContext != "edge-7@karmada-apiserver" || raw.AuthInfos["edge-7"] == nil || raw.Clusters["karmada-apiserver"].Server != "https://"+h.address {
		t.Errorf("kubeconfig %+v, %v", raw, err)
	}

	broken := m.Get("Secret", "muster-system", "muster-agent")
	broken.Object["data"] = map[string]any{"kubeconfig": "bm9uc2Vuc2U="}
	m.Put(broken)
	if _, err := store.Load(t.Context()); err == nil || errors.Is(err, join.ErrNoIdentity) || strings.Contains(err.Error(), "nonsense") {
		t.Errorf("broken: %v", err)
	}
}

// TestRotation: in time, as the agent itself, with the same lifetime, and noted
// things stay. The certificates are due a second after they were issued, and good
// for as long as a slow machine may need to renew them.
func TestRotation(t *testing.T) {
	h := startHub(t, func(h *hub) { h.age, h.lifetime = 239*time.Second, 61*time.Second })
	_, config, store := registered(t, h)
	if err := store.Note(t.Context(), "uid-1", false, nil); err != nil {
		t.Fatal(err)
	}
	h.knowsToken = false // the agent has only its certificate
	first := store.Current().Certificate.Leaf
	renewed := make(chan struct{}, 10)
	r := &join.Rotator{Store: store, Log: quiet, Renewed: func() { renewed <- struct{}{} }, Failed: func(why string) { t.Error(why) }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	for range 2 {
		select {
		case <-renewed:
		case <-time.After(time.Minute):
			t.Fatal("not renewed")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	loaded, err := newStore(t, config).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Certificate.Leaf.Equal(first) || loaded.ClusterUID != "uid-1" || loaded.Cluster != "edge-7" {
		t.Errorf("loaded %+v", loaded)
	}
	if seconds, _, _ := unstructured.NestedInt64(h.csr.Object, "spec", "expirationSeconds"); seconds < 299 || seconds > 301 {
		t.Errorf("asked for %d seconds", seconds)
	}
	if current, err := store.Certificate(); err != nil || !current.Leaf.Equal(loaded.Certificate.Leaf) {
		t.Error("new connections do not use the new certificate")
	}
}

func TestRotationFailureIsTold(t *testing.T) {
	h := startHub(t, func(h *hub) { h.lifetime = 2 * time.Second })
	_, _, store := registered(t, h)
	h.server.Close()
	told := make(chan string, 100)
	r := &join.Rotator{Store: store, Log: quiet, Renewed: func() { t.Error("renewed without a hub") }, Failed: func(why string) { told <- why }}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	var why string
	for !strings.Contains(why, "register again with a new token") { // first unreachable, then expired
		select {
		case why = <-told:
		case <-time.After(time.Minute):
			t.Fatalf("last told: %s", why)
		}
	}
	cancel()
	<-done
}

// bootstrapped puts the Secret of the manifest flavour into a member.
func bootstrapSecret(m *membertest.Server, data map[string]string) {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = encodeBase64(value)
	}
	m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "muster-system"}}})
	m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": encoded,
		"metadata": map[string]any{"name": join.BootstrapSecret, "namespace": "muster-system"}}})
}

func TestBootstrap(t *testing.T) {
	h := startHub(t, nil)
	m, config := newMember(t)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	bootstrapSecret(m, map[string]string{"hub": h.address, "token": tokenID + "." + tokenSecret, "ca.crt": string(h.ca.pem), "cluster-name": "edge-7"})
	store := newStore(t, config)
	if err := join.Bootstrap(t.Context(), client, store, quiet); err != nil {
		t.Fatal(err)
	}
	if i := store.Current(); i == nil || i.Cluster != "edge-7" {
		t.Errorf("identity %+v", i)
	}
	if m.Get("Secret", "muster-system", join.BootstrapSecret) != nil {
		t.Error("the token stays in the member")
	}
	h.knowsToken = false
	if err := join.Bootstrap(t.Context(), client, newStore(t, config), quiet); err != nil {
		t.Errorf("a restart: %v", err)
	}
	if err := store.Note(t.Context(), "uid", true, nil); err != nil {
		t.Fatal(err)
	}
	bootstrapSecret(m, map[string]string{"hub": h.address, "token": tokenID + "." + tokenSecret, "ca.crt": string(h.ca.pem), "cluster-name": "edge-7"})
	h.knowsToken = true
	if err := join.Bootstrap(t.Context(), client, store, quiet); err != nil || store.Current().Removed {
		t.Errorf("after a removal: %v, %+v", err, store.Current())
	}
}

// TestBootstrapWaitsForItsHub: nobody starts a pod's command again by hand.
func TestBootstrapWaitsForItsHub(t *testing.T) {
	h := startHub(t, func(h *hub) { h.knowsToken = false; h.sign = func(int) (string, bool) { return "", false } })
	m, config := newMember(t)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	bootstrapSecret(m, map[string]string{"hub": h.address, "token": tokenID + "." + tokenSecret, "ca.crt": string(h.ca.pem), "cluster-name": "edge-7"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := join.Bootstrap(ctx, client, newStore(t, config), quiet); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if m.Get("Secret", "muster-system", join.BootstrapSecret) == nil {
		t.Error("the token is gone before it was used")
	}
}
