package join_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
)

// options of a registration whose agent makes the hub show the cluster ready.
func options(t *testing.T, h *hub, member *rest.Config, out *bytes.Buffer) join.Options {
	t.Helper()
	return join.Options{Hub: h.address, Token: goodToken(t), Pins: []string{h.ca.pin()}, ClusterName: "edge-7", Member: member,
		Namespace: "muster-system", Image: "muster/agent:v1", Timeout: time.Minute, Out: out}
}

func TestRegisterHere(t *testing.T) {
	h := startHub(t, nil)
	m, config := newMember(t)
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out = out
	var identity *join.Identity
	if err := out.register(t, o, func(store *join.Store) {
		identity = store.Current()
		h.cluster("edge-7", "uid-1", true)
		if err := store.Note(t.Context(), "cluster-uid", false, nil); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if identity.Cluster != "edge-7" || !identity.Valid(time.Now()) || identity.Server != "https://"+h.address {
		t.Errorf("identity %+v", identity)
	}
	for _, stage := range []string{"[preflight]", "[discovery]", "[identity]", "[install]", "[ready]"} {
		if !strings.Contains(out.String(), stage) {
			t.Errorf("%s is not printed:\n%s", stage, out)
		}
	}
	if strings.Contains(out.String(), tokenSecret) {
		t.Error("the token is printed")
	}
	secret := m.Get("Secret", "muster-system", "muster-agent")
	if secret == nil || secret.GetAnnotations()["muster.dev/cluster-uid"] != "cluster-uid" || m.Get("Deployment", "muster-system", "muster-agent") != nil {
		t.Errorf("secret %v", secret)
	}
	checkRequest(t, h)
}

// checkRequest: contract 3.9 and 6.2.
func checkRequest(t *testing.T, h *hub) {
	t.Helper()
	o := h.csr
	if !regexp.MustCompile(`^edge-7-[a-z0-9]{5}$`).MatchString(o.GetName()) {
		t.Errorf("name %s", o.GetName())
	}
	usages, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "usages")
	signer, _, _ := unstructured.NestedString(o.Object, "spec", "signerName")
	if diff := cmp.Diff([]string{"digital signature", "key encipherment", "client auth"}, usages); diff != "" || signer != agentapi.SignerName {
		t.Errorf("signer %s, usages %s", signer, diff)
	}
	text, _, _ := unstructured.NestedString(o.Object, "spec", "request")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := csr.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() || csr.Subject.CommonName != "system:karmada:agent:edge-7" ||
		!cmp.Equal(csr.Subject.Organization, []string{"system:karmada:agents"}) || len(csr.Subject.Names) != 2 {
		t.Errorf("request %+v", csr.Subject)
	}
}

// TestRegisterPod waits for the pod, and for the Cluster.
func TestRegisterPod(t *testing.T) {
	h := startHub(t, nil)
	m, config := newMember(t)
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out, o.Description = out, join.Description{Provider: "acme", Region: "eu", Zones: []string{"a", "b"}, APIEndpoint: "https://10.0.0.1:6443"}
	m.Default = func(d *unstructured.Unstructured) {
		if d.GetKind() != "Deployment" { // a controller and a kubelet, as it were
			return
		}
		template, _, _ := unstructured.NestedMap(d.Object, "spec", "template")
		go func() {
			m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
				"metadata": map[string]any{"name": "muster-agent-1", "namespace": "muster-system", "labels": template["metadata"].(map[string]any)["labels"],
					"annotations": template["metadata"].(map[string]any)["annotations"]},
				"status": map[string]any{"phase": "Running"}}})
			h.cluster("edge-7", "uid-1", true)
		}()
	}
	if err := join.Register(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	d := m.Get("Deployment", "muster-system", "muster-agent")
	containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
	container := containers[0].(map[string]any)
	want := []any{"run", "--namespace=muster-system", "--cluster-provider=acme", "--cluster-region=eu", "--cluster-zones=a,b", "--cluster-api-endpoint=https://10.0.0.1:6443"}
	if diff := cmp.Diff(want, container["args"]); diff != "" || container["image"] != "muster/agent:v1" {
		t.Errorf("container %v\n%s", container["image"], diff)
	}
	if !strings.Contains(out.String(), "pod muster-agent-1: Running") || !strings.Contains(out.String(), "[ready] the hub shows edge-7 ready, v1.36.3") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestRegisterImageMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as an image may fail to be pulled")
	}
	h := startHub(t, nil)
	m, config := newMember(t)
	o := options(t, h, config, nil)
	o.Out, o.Timeout = &bytes.Buffer{}, time.Minute
	m.Default = func(d *unstructured.Unstructured) {
		if d.GetKind() != "Deployment" {
			return
		}
		template, _, _ := unstructured.NestedMap(d.Object, "spec", "template")
		go m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
			"metadata": map[string]any{"name": "p", "namespace": "muster-system", "labels": template["metadata"].(map[string]any)["labels"], "annotations": template["metadata"].(map[string]any)["annotations"]},
			"status":   map[string]any{"phase": "Pending", "containerStatuses": []any{map[string]any{"state": map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff"}}}}}}})
	}
	failure(t, join.Register(t.Context(), o), join.CodeAgentPod)
}

// TestRegisterAgain takes up what a broken registration left, without the token.
func TestRegisterAgain(t *testing.T) {
	h := startHub(t, nil)
	_, config := newMember(t)
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out = out
	o.Timeout = 10 * time.Second // enough for a certificate; the hub never shows it ready
	var first *join.Identity
	err := out.register(t, o, func(store *join.Store) { first = store.Current() })
	failure(t, err, join.CodeLinkRefused)

	h.knowsToken = false // used up meanwhile
	o.Timeout = time.Minute
	out = &stages{ready: make(chan struct{})}
	o.Out = out
	var second *join.Identity
	if err := out.register(t, o, func(store *join.Store) {
		second = store.Current()
		h.cluster("edge-7", "uid-1", true)
	}); err != nil {
		t.Fatal(err)
	}
	if !second.Certificate.Leaf.Equal(first.Certificate.Leaf) || !strings.Contains(out.String(), "used again") {
		t.Errorf("another certificate; printed:\n%s", out)
	}

	other := startHub(t, nil)
	o = options(t, other, config, nil)
	o.Out = &bytes.Buffer{}
	f := failure(t, join.Register(t.Context(), o), join.CodeSameCluster)
	if !strings.Contains(f.Message, "edge-7") || other.sent(tokenID) {
		t.Errorf("failure %+v", f)
	}
	o = options(t, h, config, nil)
	o.Out, o.ClusterName = &bytes.Buffer{}, "edge-8"
	failure(t, join.Register(t.Context(), o), join.CodeSameCluster)
}

// TestRegisterAfterRemoval: an identity whose cluster is gone is not used again.
func TestRegisterAfterRemoval(t *testing.T) {
	for name, note := range map[string]func(*testing.T, *join.Store){
		"noted by the agent": func(t *testing.T, s *join.Store) {
			if err := s.Note(t.Context(), "old-uid", true, nil); err != nil {
				t.Fatal(err)
			}
		},
		"while the agent was away": func(t *testing.T, s *join.Store) {
			if err := s.Note(t.Context(), "old-uid", false, nil); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, nil)
			_, config := newMember(t)
			out := &stages{ready: make(chan struct{})}
			o := options(t, h, config, nil)
			o.Out = out
			var first *join.Identity
			if err := out.register(t, o, func(store *join.Store) { first = store.Current(); h.cluster("edge-7", "x", true) }); err != nil {
				t.Fatal(err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			note(t, join.NewStore(client, "muster-system"))
			h.store.Remove("Cluster", "", "edge-7")
			out = &stages{ready: make(chan struct{})}
			o.Out = out
			var second *join.Identity
			if err := out.register(t, o, func(store *join.Store) { second = store.Current(); h.cluster("edge-7", "x", true) }); err != nil {
				t.Fatal(err)
			}
			if second.Certificate.Leaf.Equal(first.Certificate.Leaf) || second.ClusterUID != "" || second.Removed {
				t.Errorf("identity %+v", second)
			}
		})
	}
}

// TestRegisterSoonAfterUnregister: the namespace of the agent that has just left is
// waited for, not written into.
func TestRegisterSoonAfterUnregister(t *testing.T) {
	h := startHub(t, nil)
	m, config := newMember(t)
	m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "muster-system", "uid": "former", "deletionTimestamp": "2026-11-22T11:00:00Z", "finalizers": []any{"kubernetes"}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "NamespaceContentRemaining", "status": "True", "message": "one pod is left"}}}}})
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out, o.Timeout = out, time.Millisecond
	if err := join.Register(t.Context(), o); err == nil || !strings.Contains(err.Error(), "one pod is left") {
		t.Errorf("a namespace that stays: %v", err)
	}
	waited := false
	o.Timeout = time.Minute
	out.on = func(line string) {
		if strings.Contains(line, "waiting for namespace muster-system") {
			waited = true
			m.Remove("Namespace", "", "muster-system")
		}
	}
	if err := out.register(t, o, func(*join.Store) { h.cluster("edge-7", "uid-1", true) }); err != nil {
		t.Fatal(err)
	}
	if made := m.Get("Namespace", "", "muster-system"); !waited || made == nil || made.GetUID() == "former" {
		t.Errorf("waited: %t, namespace %v", waited, made)
	}
}

func TestRequestNotApproved(t *testing.T) {
	pending := func(why string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			o.SetAnnotations(map[string]string{"muster.dev/waiting": why})
			return false
		}
	}
	for name, c := range map[string]struct {
		approve func(*unstructured.Unstructured) bool
		code    string
		text    string
	}{
		"name taken":   {pending("MU-105: a cluster named edge-7 is registered already: choose another name"), "MU-105", "choose another name"},
		"token bound":  {pending("MU-104: the token is for edge-6: make another"), "MU-104", "make another"},
		"left pending": {pending("MU-110: not allowed: kubectl certificate approve"), "MU-110", "kubectl certificate approve"},
		"denied": {func(o *unstructured.Unstructured) bool {
			o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Denied", "status": "True", "message": "no"}}}
			return false
		}, "MU-110", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t, func(h *hub) { h.approve = c.approve })
			_, config := newMember(t)
			o := options(t, h, config, nil)
			o.Out, o.Timeout = &bytes.Buffer{}, 10*time.Second
			err := join.Register(t.Context(), o)
			var f *join.Failure
			if !errors.As(err, &f) || f.Code != c.code || !strings.Contains(f.Explain(), c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestApprovedByHand: a request may wait for an administrator.
func TestApprovedByHand(t *testing.T) {
	h := startHub(t, func(h *hub) {
		h.approve = func(o *unstructured.Unstructured) bool {
			if o.GetAnnotations()["approved"] != "" {
				return true
			}
			o.SetAnnotations(map[string]string{"muster.dev/waiting": "MU-110: not allowed: kubectl certificate approve"})
			return false
		}
	})
	_, config := newMember(t)
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out = out
	out.on = func(line string) {
		if name := regexp.MustCompile(`waiting for approval of certificate request (\S+)`).FindStringSubmatch(line); name != nil {
			csr := h.store.Get("CertificateSigningRequest", "", name[1])
			csr.SetAnnotations(map[string]string{"approved": "yes"})
			h.store.Put(csr)
		}
	}
	if err := out.register(t, o, func(*join.Store) { h.cluster("edge-7", "x", true) }); err != nil {
		t.Fatal(err)
	}
}

func TestLinkRefusalReachesTheOperator(t *testing.T) {
	h := startHub(t, nil)
	_, config := newMember(t)
	out := &stages{ready: make(chan struct{})}
	o := options(t, h, config, nil)
	o.Out = out
	err := out.register(t, o, func(store *join.Store) {
		if err := store.Note(t.Context(), "", false, &agentapi.Refused{Code: "MU-106", Message: "this cluster is registered as edge-6", Fix: "unregister edge-6"}); err != nil {
			t.Error(err)
		}
	})
	if f := failure(t, err, join.CodeSameCluster); !strings.Contains(f.Message, "edge-6") || f.Fix != "unregister edge-6" {
		t.Errorf("failure %+v", f)
	}
}

func TestPreflight(t *testing.T) {
	h := startHub(t, nil)
	for name, c := range map[string]struct {
		change func(*membertest.Server, *join.Options)
		code   string
	}{
		"no permission": {func(m *membertest.Server, _ *join.Options) { m.Forbid = true }, join.CodePermissions},
		"an agent elsewhere": {func(m *membertest.Server, _ *join.Options) {
			m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
				"metadata": map[string]any{"name": "muster-agent"}, "subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "muster-agent", "namespace": "other"}}}})
		}, join.CodeSameCluster},
		"no member":       {func(_ *membertest.Server, o *join.Options) { o.Member = &rest.Config{Host: "http://127.0.0.1:1"} }, ""},
		"bad name":        {func(_ *membertest.Server, o *join.Options) { o.ClusterName = "Edge_7" }, ""},
		"reserved name":   {func(_ *membertest.Server, o *join.Options) { o.ClusterName = "rbac-generator" }, ""},
		"hub with scheme": {func(_ *membertest.Server, o *join.Options) { o.Hub = "https://hub" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, config := newMember(t)
			o := options(t, h, config, nil)
			o.Out = &bytes.Buffer{}
			c.change(m, &o)
			err := join.Register(t.Context(), o)
			if c.code != "" {
				failure(t, err, c.code)
			}
			if err == nil || len(m.Writes()) > 0 {
				t.Errorf("error %v", err)
			}
		})
	}
	if len(h.received) > 0 {
		t.Error("the hub was asked before the preflight had passed")
	}
}

func TestPreview(t *testing.T) {
	_, config := newMember(t)
	o := join.Options{Hub: "hub:6443", ClusterName: "edge-7", Member: config, Namespace: "muster-system", Image: "muster/agent:v1", Out: &bytes.Buffer{}}
	manifests, err := join.Preview(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "preview.yaml", manifests)
}
