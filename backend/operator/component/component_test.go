package component_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/operator/component"
	"muster.dev/muster/deploy"
)

func TestImage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted, image string
		foreign       bool
	}{
		{"", "ours:v1", false},
		{"quay.io/open-cluster-management/registration", "ours:v1", false},
		{"quay.io/open-cluster-management/registration:v1.3.1", "ours:v1", true},
		{"quay.io/open-cluster-management/work@sha256:00", "ours:v1", true},
		{"registry.example/mirror/agent:v2", "registry.example/mirror/agent:v2", false},
	} {
		if image, foreign := component.Image(c.wanted, "ours:v1"); image != c.image || foreign != c.foreign {
			t.Errorf("%q: %q, %v", c.wanted, image, foreign)
		}
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	gates := component.Gates{"A": true, "B": false}
	for _, c := range []struct {
		name        string
		wishes      []component.Wish
		differences []string
		unknown     []string
	}{
		{"nothing asked", nil, nil, nil},
		{"the default asked for", []component.Wish{{Feature: "A", Enable: true}}, nil, nil},
		{"both switched", []component.Wish{{Feature: "B", Enable: true}, {Feature: "A"}}, []string{"A=false", "B=true"}, nil},
		{"unknown ones are named once", []component.Wish{{Feature: "Z"}, {Feature: "X", Enable: true}, {Feature: "Z"}}, nil, []string{"X", "Z"}},
	} {
		on, unknown := gates.Resolve(c.wishes)
		if diff := cmp.Diff([][]string{c.differences, c.unknown}, [][]string{gates.Differences(on), unknown}); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: %s, user: u}}]
clusters: [{name: %s, cluster: {server: "https://%s", certificate-authority-data: Q0E=}}]
users: [{name: u, user: %s}]
`

func secretWith(cluster, server, user string, more map[string][]byte) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{
		"kubeconfig": fmt.Appendf(nil, kubeconfig, cluster, cluster, server, user),
	}}
	for key, value := range more {
		secret.Data[key] = value
	}
	return secret
}

func withKey(secret *corev1.Secret, key, value string) *corev1.Secret {
	secret.Data[key] = []byte(value)
	return secret
}

// A kubeconfig is somebody else's text: files and programs that it names are not ours to read and run.
func TestConfigFromTrustsNothingOutsideOfTheSecret(t *testing.T) {
	t.Parallel()
	config, err := component.ConfigFrom(secretWith("hub", "hub.example", "{tokenFile: /etc/hostname}", nil))
	if err != nil || config.BearerToken != "" || config.BearerTokenFile != "" {
		t.Errorf("a file of ours was read: %v, %v", config, err)
	}
	config, err = component.ConfigFrom(secretWith("hub", "hub.example", "{client-certificate: tls.crt, client-key: /x/tls.key}",
		map[string][]byte{"tls.crt": []byte("cert"), "tls.key": []byte("key")}))
	if err != nil || string(config.CertData) != "cert" || string(config.KeyData) != "key" {
		t.Errorf("keys of the secret were not taken: %v, %v", config, err)
	}
	for name, secret := range map[string]*corev1.Secret{
		"program": secretWith("hub", "hub.example", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, interactiveMode: Never}}", nil),
		"nothing": {}, "nonsense": {Data: map[string][]byte{"kubeconfig": []byte("secret-text: [")}},
	} {
		if _, err := component.ConfigFrom(secret); !errors.Is(err, component.ErrNoKubeconfig) || strings.Contains(err.Error(), "secret-text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who signs in does not make a hub another; server, proxy, CA and the entry's name do.
func TestHubIdentity(t *testing.T) {
	t.Parallel()
	base := component.HubIdentity(secretWith("hub", "hub.example", "{token: a}", nil))
	with := func(field string) *corev1.Secret {
		secret := secretWith("hub", "hub.example", "{token: a}", nil)
		text := strings.Replace(string(secret.Data["kubeconfig"]), "certificate-authority-data: Q0E=", field, 1)
		secret.Data["kubeconfig"] = []byte(text)
		return secret
	}
	for _, c := range []struct {
		name   string
		secret *corev1.Secret
		same   bool
	}{
		{"another token", secretWith("hub", "hub.example", "{token: b}", nil), true},
		{"another server", secretWith("hub", "other.example", "{token: a}", nil), false},
		{"a proxy", with("certificate-authority-data: Q0E=, proxy-url: http://proxy.example"), false},
		{"another CA", with("certificate-authority-data: Q0Ey"), false},
		{"the same CA as a key of the secret", withKey(with("certificate-authority: ca.crt"), "ca.crt", "CA"), true},
		{"another CA as a key of the secret", withKey(with("certificate-authority: ca.crt"), "ca.crt", "CA2"), false},
		{"another entry", secretWith("hub2", "hub.example", "{token: a}", nil), false},
		{"no kubeconfig", &corev1.Secret{}, false},
	} {
		if same := component.HubIdentity(c.secret) == base; same != c.same || base == "" {
			t.Errorf("%s: same = %v", c.name, same)
		}
	}
}

func TestUnreachableIsNotRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err         error
		unreachable bool
	}{
		{nil, false},
		{fmt.Errorf("get: %w", syscall.ECONNREFUSED), true},
		{context.DeadlineExceeded, true},
		{apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "x", errors.New("no")), false},
		{apierrors.NewUnauthorized("no"), false},
		{errors.New("ours"), false},
	} {
		if got := component.IsUnreachable(c.err); got != c.unreachable {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// Every manifest renders, whatever the mode, and nothing in it is left open.
func TestManifestsRender(t *testing.T) {
	t.Parallel()
	type klusterlet struct {
		Klusterlet, AgentNamespace, ManagedNamespace, AddonNamespace, RegistrationAccount, WorkAccount string
		Accounts                                                                                       []string
		Hosted                                                                                         bool
	}
	for _, hosted := range []bool{false, true} {
		for _, name := range []string{"agent/managed.yaml", "agent/management.yaml"} {
			objects, err := component.Render(deploy.Operator(), name, klusterlet{
				Klusterlet: "k", AgentNamespace: "a", ManagedNamespace: "m", AddonNamespace: "o", RegistrationAccount: "r", WorkAccount: "w",
				Accounts: []string{"r", "w"}, Hosted: hosted,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				if o.GetName() == "" || o.GetObjectKind().GroupVersionKind().Kind == "" {
					t.Errorf("%s holds something without a name: %v", name, o)
				}
			}
		}
	}
}

func TestWithAlias(t *testing.T) {
	t.Parallel()
	known := []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"lab"}}}
	for _, c := range []struct {
		name, ip, host string
		want           []corev1.HostAlias
	}{
		{"another address", "10.0.0.2", "hub", []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"lab"}}, {IP: "10.0.0.2", Hostnames: []string{"hub"}}}},
		{"the same address", "10.0.0.1", "hub", []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"lab", "hub"}}}},
		{"the same", "10.0.0.1", "lab", known},
	} {
		if diff := cmp.Diff(c.want, component.WithAlias(known, c.ip, c.host)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if len(known) != 1 || len(known[0].Hostnames) != 1 {
		t.Errorf("what was known changed: %+v", known)
	}
}
