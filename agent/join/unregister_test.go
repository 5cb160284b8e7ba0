package join_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/join"
)

func encodeBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func decodeBase64(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func leaving(config *rest.Config, out *bytes.Buffer) join.Leaving {
	return join.Leaving{ClusterName: "edge-7", Member: config, Namespace: "muster-system", Wait: time.Minute, Out: out}
}

// installed adds to a registered member what the pod flavour has.
func installed(t *testing.T, m *membertest.Server) {
	t.Helper()
	for _, o := range []map[string]any{
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "muster-agent", "namespace": "muster-system"}},
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "muster-agent", "namespace": "muster-system"}},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "muster-agent"}},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "muster-agent"}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "kube-root-ca.crt", "namespace": "muster-system"}},
	} {
		m.Put(&unstructured.Unstructured{Object: o})
	}
}

func nothingLeft(t *testing.T, m *membertest.Server) {
	t.Helper()
	for _, o := range [][3]string{{"Deployment", "muster-system", "muster-agent"}, {"Secret", "muster-system", "muster-agent"}, {"ServiceAccount", "muster-system", "muster-agent"},
		{"ClusterRole", "", "muster-agent"}, {"ClusterRoleBinding", "", "muster-agent"}, {"Namespace", "", "muster-system"}} {
		if m.Get(o[0], o[1], o[2]) != nil {
			t.Errorf("%s %s is left", o[0], o[2])
		}
	}
}

func TestUnregister(t *testing.T) {
	h := startHub(t, nil)
	m, config, _ := registered(t, h)
	installed(t, m)
	var out bytes.Buffer
	l := leaving(config, &out)
	l.DryRun = true
	m.Writes()
	if err := join.Unregister(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if len(m.Writes()) > 0 || h.store.Get("Cluster", "", "edge-7") == nil {
		t.Error("a dry run changed something")
	}
	l.DryRun = false
	if err := join.Unregister(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if h.store.Get("Cluster", "", "edge-7") != nil {
		t.Error("the cluster is still on the hub")
	}
	nothingLeft(t, m)
	if err := join.Unregister(t.Context(), l); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestUnregisterKeepsANamespaceInUse(t *testing.T) {
	h := startHub(t, nil)
	m, config, _ := registered(t, h)
	m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "mine", "namespace": "muster-system"}}})
	var out bytes.Buffer
	if err := join.Unregister(t.Context(), leaving(config, &out)); err != nil {
		t.Fatal(err)
	}
	if m.Get("Namespace", "", "muster-system") == nil || !strings.Contains(out.String(), "configmaps mine") {
		t.Errorf("printed:\n%s", out.String())
	}
}

// TestUnregisterNamesWhatBlocks: the hub holds the cluster while Works are held.
func TestUnregisterNamesWhatBlocks(t *testing.T) {
	h := startHub(t, nil)
	m, config, _ := registered(t, h)
	installed(t, m)
	held := h.store.Get("Cluster", "", "edge-7")
	held.SetFinalizers([]string{"karmada.io/cluster-controller"})
	h.store.Put(held)
	h.store.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
		"metadata": map[string]any{"name": "web-7b7cc5b9ff", "namespace": "karmada-es-edge-7"}}})
	var out bytes.Buffer
	l := leaving(config, &out)
	l.Wait = 300 * time.Millisecond
	err := join.Unregister(t.Context(), l)
	if err == nil || !strings.Contains(err.Error(), "web-7b7cc5b9ff") {
		t.Errorf("got %v", err)
	}
	if m.Get("Deployment", "muster-system", "muster-agent") == nil {
		t.Error("the agent, which has to remove the rest, was deleted first")
	}
	l.Force = true
	if err := join.Unregister(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, m)
}

func TestUnregisterRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hub, *join.Leaving)
		want   string
	}{
		"push": {func(h *hub, _ *join.Leaving) {
			c := h.store.Get("Cluster", "", "edge-7")
			_ = unstructured.SetNestedField(c.Object, "Push", "spec", "syncMode")
			h.store.Put(c)
		}, "unjoin"},
		"another name": {func(_ *hub, l *join.Leaving) { l.ClusterName = "edge-8" }, "registered as edge-7"},
		"another cluster's kubeconfig": {func(h *hub, _ *join.Leaving) {
			c := h.store.Get("Cluster", "", "edge-7")
			_ = unstructured.SetNestedField(c.Object, "elsewhere", "spec", "id")
			h.store.Put(c)
		}, "another cluster"},
		"hub is gone": {func(h *hub, _ *join.Leaving) { h.server.Close() }, "--force"},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, nil)
			m, config, _ := registered(t, h)
			installed(t, m)
			l := leaving(config, &bytes.Buffer{})
			c.change(h, &l)
			m.Writes()
			if err := join.Unregister(t.Context(), l); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if w := m.Writes(); len(w) > 0 {
				t.Errorf("wrote %v", w)
			}
		})
	}
}

// TestUnregisterWithAnAdminsKubeconfig: the agent's identity may be lost.
func TestUnregisterWithAnAdminsKubeconfig(t *testing.T) {
	h := startHub(t, nil)
	m, config, store := registered(t, h)
	installed(t, m)
	admin := store.Current().Config()
	m.Remove("Secret", "muster-system", "muster-agent")
	l := leaving(config, &bytes.Buffer{})
	l.Hub = admin
	if err := join.Unregister(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if h.store.Get("Cluster", "", "edge-7") != nil {
		t.Error("the cluster is still on the hub")
	}
	nothingLeft(t, m)
}
