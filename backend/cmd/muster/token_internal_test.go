package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/backend/token"
)

func TestPrintTokens(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	broken := token.Spec{}.Secret("broken", "0123456789abcdef", now)
	broken.Name = "bootstrap-token-other"
	secrets := []corev1.Secret{
		*token.Spec{TTL: 90 * time.Minute, Description: "lab"}.Secret("abcdef", "0123456789abcdef", now),
		*token.Spec{Usages: []string{"signing"}}.Secret("zaa5m4", "0123456789abcdef", now),
		*token.Spec{TTL: time.Minute}.Secret("gone00", "0123456789abcdef", now.Add(-time.Hour)),
		*broken,
	}
	var out, warn bytes.Buffer
	if err := printTokens(&out, &warn, secrets, now); err != nil {
		t.Fatal(err)
	}
	want := `TOKEN                     TTL         EXPIRES                USAGES                   DESCRIPTION   EXTRA GROUPS
abcdef.0123456789abcdef   1h          2026-11-21T13:30:00Z   authentication,signing   lab           system:bootstrappers:karmada:default-cluster-token
zaa5m4.0123456789abcdef   <forever>   <never>                signing                  <none>        system:bootstrappers:karmada:default-cluster-token
gone00.0123456789abcdef   <expired>   2026-11-21T11:01:00Z   authentication,signing   <none>        system:bootstrappers:karmada:default-cluster-token
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if !strings.Contains(warn.String(), "bootstrap-token-other") || strings.Contains(warn.String(), "0123456789abcdef") {
		t.Errorf("warned %q", warn.String())
	}
}

const twoContexts = `
apiVersion: v1
kind: Config
current-context: second
clusters:
- {name: c1, cluster: {server: "https://one.example:6443", certificate-authority: ca.pem}}
- {name: c2, cluster: {server: "https://two.example:6443", certificate-authority-data: Y2E=, proxy-url: "http://proxy.example:3128"}}
contexts:
- {name: first, context: {cluster: c1, user: u}}
- {name: second, context: {cluster: c2, user: u}}
users:
- {name: u, user: {token: t}}
`

func TestClusterOfKubeconfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	for name, text := range map[string]string{file: twoContexts, filepath.Join(dir, "ca.pem"): "from a file"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for context, want := range map[string]string{"": "two.example ca", "second": "two.example ca", "first": "one.example from a file", "third": ""} {
		cluster, err := clusterOf(loadKubeconfig(file, context), context)
		if (err != nil) != (want == "") {
			t.Errorf("%q: %v", context, err)
			continue
		}
		if got := ""; err == nil {
			got = strings.TrimSuffix(strings.TrimPrefix(cluster.Server, "https://"), ":6443") + " " + string(cluster.CertificateAuthorityData)
			if got != want {
				t.Errorf("%q: got %q, want %q", context, got, want)
			}
		}
	}
}

func TestChooseMemberContext(t *testing.T) {
	raw := clientcmdapi.NewConfig()
	raw.Contexts = map[string]*clientcmdapi.Context{"paris": {Cluster: "c"}, "other": {Cluster: "c"}}
	tests := []struct{ flag, name, current, want string }{
		{"other", "paris", "", "other"},
		{"nosuch", "paris", "paris", ""},
		{"", "paris", "other", "paris"},
		{"", "rome", "other", "other"},
		{"", "rome", "", ""},
		{"", "rome", "nosuch", ""},
	}
	for _, test := range tests {
		raw.CurrentContext = test.current
		got, err := (&memberAccess{context: test.flag}).choose(raw, test.name)
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%+v: got %q, %v", test, got, err)
		}
	}
}

func TestMemberAccessKeepsTheProxy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(twoContexts), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	config, proxy, err := (&memberAccess{kubeconfig: file}).config("rome", &notes)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://two.example:6443" || proxy == nil || proxy.Host != "proxy.example:3128" || !strings.Contains(notes.String(), `"second"`) {
		t.Errorf("host %s, proxy %v, notes %q", config.Host, proxy, notes.String())
	}
}
