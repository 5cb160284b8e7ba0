package component

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// A token is renewed in its last fifth; what cannot be told is renewed at once.
func TestRenewal(t *testing.T) {
	t.Parallel()
	stored := func(expires, issued string) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{tokenKey: []byte("t"), expirationKey: []byte(expires)}}
		if issued != "" {
			s.Data["issued"] = []byte(issued)
		}
		return s
	}
	for _, c := range []struct {
		name   string
		secret *corev1.Secret
		want   string
	}{
		{"a server that grants ten days", stored("2026-01-11T00:00:00Z", "2026-01-01T00:00:00Z"), "2026-01-09T00:00:00Z"},
		{"made by another operator, 360 days", stored("2026-12-27T00:00:00Z", ""), "2026-10-16T00:00:00Z"},
		{"no token", &corev1.Secret{Data: map[string][]byte{expirationKey: []byte("2026-12-27T00:00:00Z")}}, "0001-01-01T00:00:00Z"},
		{"nonsense", stored("tomorrow", ""), "0001-01-01T00:00:00Z"},
	} {
		if got := renewal(c.secret).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// What runs elsewhere reaches the cluster as the operator does: by the same proxy, at the same address, with the same CA.
func TestCredentialLeadsTheSameWay(t *testing.T) {
	t.Parallel()
	for _, proxy := range []string{"", "http://user:word@proxy.example:3128", "socks5://proxy.example"} {
		config, err := ConfigFrom(&corev1.Secret{Data: map[string][]byte{KubeconfigKey: []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"contexts": [{"name": "c", "context": {"cluster": "a", "user": "u"}}], "users": [{"name": "u", "user": {"token": "t"}}],
"clusters": [{"name": "a", "cluster": {"server": "https://member.example:6443", "certificate-authority-data": "Q0E=", "tls-server-name": "inside", "proxy-url": "` + proxy + `"}}]}`)}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := Credential{Path: "/spoke/config"}.kubeconfig(config)
		if err != nil {
			t.Fatal(err)
		}
		written, err := clientcmd.Load(text)
		if err != nil {
			t.Fatal(err)
		}
		cluster := written.Clusters["cluster"]
		if cluster.ProxyURL != proxy || cluster.Server != "https://member.example:6443" || string(cluster.CertificateAuthorityData) != "CA" || cluster.TLSServerName != "inside" {
			t.Errorf("proxy %q: the credential leads to %+v", proxy, cluster)
		}
	}
}
