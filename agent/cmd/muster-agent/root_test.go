package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/agent/join"
)

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
		want string
	}{
		"nothing":     {nil, 0, ""},
		"a failure":   {fmt.Errorf("x: %w", &join.Failure{Code: "MU-107", Message: "pin", Cause: "why", Fix: "what"}), 107, "error: MU-107: pin\ncause: why\nfix:   what\n"},
		"odd code":    {&join.Failure{Code: "protocol", Message: "m"}, 1, "error: protocol: m\n"},
		"an error":    {errors.New("e"), 1, "error: e\n"},
		"interrupted": {context.Canceled, 130, "interrupted\n"},
	} {
		var out bytes.Buffer
		if code := report(&out, c.err); code != c.code || out.String() != c.want {
			t.Errorf("%s: %d, %q", name, code, out.String())
		}
	}
}

func TestReadToken(t *testing.T) {
	for name, c := range map[string]struct {
		flag, in string
		ok       bool
	}{
		"flag":     {"abcdef.0123456789abcdef", "", true},
		"standard": {"-", "abcdef.0123456789abcdef\n", true},
		"none":     {"", "abcdef.0123456789abcdef", false},
		"empty":    {"-", "", false},
		"long":     {"-", strings.Repeat("x", 1<<20), false},
	} {
		token, err := readToken(c.flag, strings.NewReader(c.in))
		if (err == nil) != c.ok || c.ok && token.Whole() != "abcdef.0123456789abcdef" {
			t.Errorf("%s: %v, %v", name, token, err)
		}
	}
}

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: paris, cluster: {server: "https://10.0.0.1:6443"}}, {name: rome, cluster: {server: "https://10.0.0.2:6443"}}]
contexts: [{name: a, context: {cluster: paris}}, {name: b, context: {cluster: rome}}]
current-context: a
`

// TestClusterName: by default a cluster is called what its kubeconfig calls it.
func TestClusterName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"": "paris", "b": "rome"} {
		config, name, err := loadConfig(file, context)
		if err != nil || name != want || config.Host == "" {
			t.Errorf("context %q: %q, %v", context, name, err)
		}
	}
	if _, _, err := loadConfig(file, "none"); err == nil {
		t.Error("a context that does not exist passed")
	}
}

func TestFlags(t *testing.T) {
	root := rootCommand()
	for command, flags := range map[string]string{
		"register": "token discovery-token-ca-cert-hash cluster-name cluster-provider cluster-region cluster-zones cluster-api-endpoint proxy-server-address " +
			"cluster-namespace agent-image kubeconfig context namespace dry-run run discovery-timeout cert-expiration-seconds",
		"unregister": "cluster-kubeconfig cluster-context karmada-config karmada-context namespace wait dry-run force",
		"run":        "namespace bootstrap cluster-provider cluster-region cluster-zones cluster-api-endpoint proxy-server-address cluster-namespace",
	} {
		c, _, err := root.Find([]string{command})
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range strings.Fields(flags) {
			if c.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", command, flag)
			}
		}
	}
}
