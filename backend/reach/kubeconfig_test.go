package reach_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining/joiningtest"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

func TestKubeconfigTakesInlineValues(t *testing.T) {
	certificate, key := joiningtest.KeyPair(t)
	b64 := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
preferences: {}
current-context: prod
clusters:
- name: prod-cluster
  cluster:
    server: https://prod.example:6443/
    certificate-authority-data: %s
- name: lab-cluster
  cluster: {server: "https://192.0.2.7", insecure-skip-tls-verify: true, proxy-url: "http://proxy.example:3128"}
contexts:
- {name: prod, context: {cluster: prod-cluster, user: admin, namespace: x}}
- {name: lab, context: {cluster: lab-cluster, user: robot}}
- {name: cloud, context: {cluster: prod-cluster, user: cloud}}
users:
- name: admin
  user: {client-certificate-data: %s, client-key-data: %s}
- name: robot
  user: {token: tok.en-123, as: jane, as-groups: [a, b]}
- name: cloud
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/canary}
`, b64(certificate), b64(certificate), b64(key))
	config, err := reach.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []reach.ContextInfo{
		{Name: "prod", Cluster: "prod-cluster", Server: "https://prod.example:6443/", User: "admin", Current: true},
		{Name: "lab", Cluster: "lab-cluster", Server: "https://192.0.2.7", User: "robot"},
		{Name: "cloud", Cluster: "prod-cluster", Server: "https://prod.example:6443/", User: "cloud", Problem: "the field exec is not taken"},
	}
	if diff := cmp.Diff(want, config.Contexts()); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
	prod, err := config.Select("prod")
	if err != nil {
		t.Fatal(err)
	}
	rest := prod.Config()
	if rest.Host != "https://prod.example:6443" || string(rest.CAData) != string(certificate) || string(rest.KeyData) != string(key) || rest.BearerToken != "" {
		t.Errorf("prod has host %s and credential %s", rest.Host, prod.Credential())
	}
	lab, err := config.Select("lab")
	if err != nil {
		t.Fatal(err)
	}
	rest = lab.Config()
	if rest.BearerToken != "tok.en-123" || !rest.Insecure || lab.ProxyURL.String() != "http://proxy.example:3128" || rest.Impersonate.UserName != "jane" || len(rest.Impersonate.Groups) != 2 {
		t.Errorf("lab is %+v", lab)
	}
	if rest.ExecProvider != nil || rest.AuthProvider != nil || rest.CAFile+rest.CertFile+rest.KeyFile+rest.BearerTokenFile != "" {
		t.Error("the rest config names a program or a file")
	}
}

func TestKubeconfigRefusesFieldsByName(t *testing.T) {
	const good, token = "server: https://a.example", "token: t"
	tests := []struct{ name, cluster, user, code, says string }{
		{"exec", good, "exec: {command: x}", registration.CodeRefusedField, "exec"},
		{"exec beside a token", good, token + ", exec: {command: x}", registration.CodeRefusedField, "exec"},
		{"empty exec", good, token + ", exec: {}", registration.CodeRefusedField, "exec"},
		{"auth-provider", good, "auth-provider: {name: gcp}", registration.CodeRefusedField, "auth-provider"},
		{"tokenFile", good, "tokenFile: /canary", registration.CodeRefusedField, "tokenFile"},
		{"tokenFile beside a token", good, token + ", tokenFile: /canary", registration.CodeRefusedField, "tokenFile"},
		{"client-certificate", good, "client-certificate: /canary, client-key: /canary", registration.CodeRefusedField, "client-certificate"},
		{"client-key", good, token + ", client-key: /canary", registration.CodeRefusedField, "client-key"},
		{"certificate-authority", good + ", certificate-authority: ../canary", token, registration.CodeRefusedField, "certificate-authority"},
		{"unix socket", "server: unix:///canary", token, registration.CodeRefusedField, "unix socket"},
		{"path as server", "server: /canary.sock", token, registration.CodeRefusedField, "unix socket"},
		{"password", good, "username: a, password: b", registration.CodeKubeconfig, "username"},
		{"tls-server-name", good + ", tls-server-name: b", token, registration.CodeKubeconfig, "tls-server-name"},
		{"plain http", "server: http://a.example", token, registration.CodeKubeconfig, "https"},
		{"no server", "", token, registration.CodeKubeconfig, "server"},
		{"user in server", "server: https://u:p@a.example", token, registration.CodeKubeconfig, "user"},
		{"query in server", `server: "https://a.example?x=1"`, token, registration.CodeKubeconfig, "query"},
		{"file as server", "server: file:///etc/passwd", token, registration.CodeKubeconfig, "server"},
		{"bare host", "server: a.example:6443", token, registration.CodeKubeconfig, "server"},
		{"port 0", "server: https://a.example:0", token, registration.CodeKubeconfig, "port"},
		{"port 99999", "server: https://a.example:99999", token, registration.CodeKubeconfig, "port"},
		{"ftp proxy", good + ", proxy-url: ftp://a.example", token, registration.CodeKubeconfig, "proxy-url"},
		{"proxy password", good + ", proxy-url: http://u:p@a.example", token, registration.CodeKubeconfig, "password"},
		{"no credential", good, "", registration.CodeKubeconfig, "neither"},
		{"certificate without key", good, "client-certificate-data: YQ==", registration.CodeKubeconfig, "go together"},
		{"not a certificate", good, "client-certificate-data: YQ==, client-key-data: YQ==", registration.CodeKubeconfig, "certificate and its key"},
		{"not a CA", good + ", certificate-authority-data: YQ==", token, registration.CodeKubeconfig, "no certificate"},
		{"token with line break", good, `token: "a\nb"`, registration.CodeKubeconfig, "token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, err := reach.Parse([]byte(joiningtest.KubeconfigOf(test.cluster, test.user)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.Select("one")
			known, ok := fault.As(err)
			if !ok || known.Code != test.code || !strings.Contains(known.Message, test.says) || known.Fix == "" {
				t.Fatalf("got %v (%+v), want code %s saying %q with a fix", err, known, test.code, test.says)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error repeats a value: %v", err)
			}
		})
	}
}

func TestKubeconfigRefusesStrangeFiles(t *testing.T) {
	good := joiningtest.KubeconfigOf("server: https://a.example", "token: secret-canary")
	tests := map[string]string{
		"empty":            "",
		"not YAML":         "{{{",
		"a list":           "- a\n- b\n",
		"a word":           "hello",
		"two documents":    good + "---\n" + good,
		"anchor":           "x: &a 1\n" + good,
		"alias":            "x: &a [1]\ny: *a\n" + good,
		"merge key":        "x: {<<: {a: b}}\n" + good,
		"billion laughs":   "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n" + good,
		"repeated field":   good + "users: []\n",
		"wrong kind":       strings.Replace(good, "kind: Config", "kind: Secret", 1),
		"no contexts":      "apiVersion: v1\nkind: Config\n",
		"clusters is text": strings.Replace(good, "clusters:\n", "x:\n", 1) + "clusters: hello\n",
		"two of one name":  "apiVersion: v1\nkind: Config\ncontexts:\n- {name: a, context: {}}\n- {name: a, context: {}}\n",
		"not base64":       joiningtest.KubeconfigOf("server: https://a.example, certificate-authority-data: '*'", "token: t"),
		"deep":             strings.Repeat("a: {", 40) + strings.Repeat("}", 40),
		"huge":             good + "# " + strings.Repeat("x", 600<<10),
		"odd key":          "? [a, b]\n: c\n" + good,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := reach.Parse([]byte(text))
			if joiningtest.CodeOf(err) != registration.CodeKubeconfig {
				t.Fatalf("got %+v and %v, want code %s", config, err, registration.CodeKubeconfig)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error repeats a value: %v", err)
			}
		})
	}
}

func TestChooseContext(t *testing.T) {
	two := "apiVersion: v1\nkind: Config\ncontexts:\n- {name: a, context: {}}\n- {name: b, context: {}}\n"
	tests := []struct{ text, asked, want string }{
		{two, "", ""},
		{two + "current-context: b\n", "", "b"},
		{two + "current-context: gone\n", "", ""},
		{two + "current-context: b\n", "a", "a"},
		{"contexts:\n- {name: only, context: {}}\n", "", "only"},
	}
	for _, test := range tests {
		config, err := reach.Parse([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Choose(test.asked); got != test.want {
			t.Errorf("Choose(%q) = %q, want %q", test.asked, got, test.want)
		}
	}
}

func FuzzParseKubeconfig(f *testing.F) {
	f.Add([]byte(joiningtest.KubeconfigOf("server: https://a.example", "token: t")))
	f.Add([]byte(joiningtest.KubeconfigOf("server: unix:///x, certificate-authority: /etc/passwd", "exec: {command: x}")))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("contexts:\n- {name: a, context: {cluster: c, user: u}}\nclusters: ~\nusers: []\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := reach.Parse(data)
		if err != nil {
			if !fault.Is(err, fault.KindInvalid) {
				t.Fatalf("not a fault: %v", err)
			}
			return
		}
		for _, context := range config.Contexts() {
			access, err := config.Select(context.Name)
			if err != nil {
				if !fault.Is(err, fault.KindInvalid) {
					t.Fatalf("not a fault: %v", err)
				}
				continue
			}
			rest := access.Config()
			if !strings.HasPrefix(rest.Host, "https://") || rest.ExecProvider != nil || rest.AuthProvider != nil ||
				rest.CAFile+rest.CertFile+rest.KeyFile+rest.BearerTokenFile != "" {
				t.Fatalf("an access that names a file or a program: %+v", context)
			}
		}
	})
}
