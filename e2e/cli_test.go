package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

const (
	// customization has a rule for each operation that the recorded client was asked.
	customization = `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: lab-customization}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    retention: {luaScript: "function Retain(d, o) d.spec.paused = o.spec.paused return d end"}
    replicaResource: {luaScript: "function GetReplicas(o) return o.spec.replicas, {resourceRequest = {cpu = '1'}} end"}
    replicaRevision: {luaScript: "function ReviseReplica(o, n) o.spec.replicas = n return o end"}
    healthInterpretation: {luaScript: "function InterpretHealth(o) return o.spec.replicas == 2 end"}
    dependencyInterpretation: {luaScript: "function GetDependencies(o) return {{apiVersion = 'v1', kind = 'Secret', namespace = 'x', name = 'key'}} end"}
`
	observed = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: default\nspec:\n  paused: true\n  replicas: 2\n"
)

// TestInterpretCommand asks muster interpret what the recorded karmadactl was asked
// (contract karmada.md section 12.4): it prints the same.
func TestInterpretCommand(t *testing.T) {
	t.Parallel()
	rules, object := filepath.Join(t.TempDir(), "rules.yaml"), filepath.Join(t.TempDir(), "web.yaml")
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	for path, text := range map[string]string{rules: customization, object: observed, broken: strings.Replace(customization, "return d end", "return d", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"check": {[]string{"--check"}, strings.Repeat("-", 35) + "\nSOURCE: lab-customization\nTARGET: apps/v1 Deployment   \nRULERS:\n" +
			"    Retain:                  PASS\n    InterpretReplica:        PASS\n    InterpretComponent:      UNSET\n    ReviseReplica:           PASS\n" +
			"    InterpretStatus:         UNSET\n    AggregateStatus:         UNSET\n    InterpretHealth:         PASS\n    InterpretDependency:     PASS\n"},
		"health":       {[]string{"--operation", "InterpretHealth", "--observed-file", object}, "---\n# [1/1] healthy:\ntrue\n"},
		"any case":     {[]string{"--operation", "interprethealth", "--desired-file", object}, "---\n# [1/1] healthy:\ntrue\n"},
		"replicas":     {[]string{"--operation", "InterpretReplica", "--observed-file", object}, "---\n# [1/2] replica:\n2\n---\n# [2/2] requires:\nresourceRequest:\n  cpu: \"1\"\n"},
		"revise":       {[]string{"--operation", "ReviseReplica", "--observed-file", object, "--desired-replica", "3"}, "---\n# [1/1] revised:\n" + strings.Replace(observed, "replicas: 2", "replicas: 3", 1)},
		"retain":       {[]string{"--operation", "Retain", "--observed-file", object, "--desired-file", object}, "---\n# [1/1] retained:\n" + observed},
		"dependencies": {[]string{"--operation", "InterpretDependency", "--observed-file", object}, "---\n# [1/1] dependencies:\n- apiVersion: v1\n  kind: Secret\n  name: key\n  namespace: x\n"},
		"format flags": {[]string{"--operation", "InterpretHealth", "--observed-file", object, "-o", "json", "--show-managed-fields", "--allow-missing-template-keys=false", "--template", "x"}, "---\n# [1/1] healthy:\ntrue\n"},
	} {
		if got := mustRun(t, "muster", append([]string{"interpret", "-f", rules}, c.args...)...).stdout; got != c.want {
			t.Errorf("%s: printed\n%s\nwant\n%s", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"broken script":        {[]string{"-f", broken, "--check"}, "1 of the scripts cannot be run"},
		"nothing to do":        {[]string{"-f", rules}, "--operation"},
		"no rule":              {[]string{"-f", rules, "--operation", "InterpretStatus", "--observed-file", object}, "none of the customizations has a rule"},
		"unknown operation":    {[]string{"-f", rules, "--operation", "Guess", "--observed-file", object}, "InterpretReplica"},
		"no object":            {[]string{"-f", rules, "--operation", "InterpretHealth"}, "--observed-file"},
		"file that is missing": {[]string{"-f", rules + ".none", "--check"}, "rules.yaml.none"},
	} {
		if r := run(t, "muster", append([]string{"interpret"}, c.args...)...); r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: status %d, said %q", name, r.code, r.stderr)
		}
	}
}

// TestInterpreterPage does what the page about the interpreter tells to try.
func TestInterpreterPage(t *testing.T) {
	t.Parallel()
	muster, err := controlplanetest.Binary("muster")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	page := &reader{here: strings.NewReplacer(), prelude: "cd " + dir + "; muster() { " + muster + ` "$@"; }`}
	files := []string{"rules.yaml", "cache.yaml"}
	for _, b := range boxes(t, "docs/interpreter.md") {
		if b.language == "console" {
			page.steps(t, b.text)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, files[0]), []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = files[1:]
	}
}

// TestPromoteCommand takes over what runs in a member, as the recorded karmadactl
// did: shown first, then made, with what it refers to; a second time changes nothing.
func TestPromoteCommand(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "one"})
	mustJoin(t, h, "member1", m)
	kubectl(t, m.Kubeconfig, "create", "deployment", "legacy", "--image", "nginx:1.19")
	kubectl(t, m.Kubeconfig, "create", "configmap", "legacy-cm", "--from-literal", "a=b")
	kubectl(t, m.Kubeconfig, "set", "env", "deployment/legacy", "--from", "configmap/legacy-cm")
	uid := kubectl(t, m.Kubeconfig, "get", "deployment", "legacy", "-o", "jsonpath={.metadata.uid}")
	promote := func(args ...string) result {
		return run(t, "muster", append([]string{"promote", "--kubeconfig", h.Kubeconfig, "-n", "default"}, args...)...)
	}

	shown := promote("deployment", "legacy", "-C", "member1", "--dry-run", "-o", "yaml")
	for _, part := range []string{"kind: Deployment", "kind: PropagationPolicy", "conflictResolution: Overwrite", "preserveResourcesOnDeletion: true", "- member1", "nginx:1.19"} {
		if shown.code != 0 || !strings.Contains(shown.stdout, part) {
			t.Errorf("dry run, status %d: no %q in\n%s%s", shown.code, part, shown.stdout, shown.stderr)
		}
	}
	if deployments, err := h.client.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(deployments.Items) != 0 {
		t.Fatalf("a dry run made %v (%v)", deployments, err)
	}
	made := promote("deployment", "legacy", "-C", "member1", "-d")
	for _, part := range []string{"ResourceTemplate (default/legacy) is created successfully", "PropagationPolicy (default/legacy-", `Resource "apps/v1, Resource=deployments"(default/legacy) is promoted successfully`} {
		if made.code != 0 || !strings.Contains(made.stdout, part) {
			t.Errorf("promote, status %d: no %q in\n%s%s", made.code, part, made.stdout, made.stderr)
		}
	}
	eventually(t, "the member's objects to be the hub's", func(context.Context) bool {
		managed := func(kind, name string) bool {
			return kubectl(t, m.Kubeconfig, "get", kind, name, "-o", `jsonpath={.metadata.labels.karmada\.io/managed}`) == "true"
		}
		return managed("deployment", "legacy") && managed("configmap", "legacy-cm")
	})
	if now := kubectl(t, m.Kubeconfig, "get", "deployment", "legacy", "-o", "jsonpath={.metadata.uid}"); now != uid {
		t.Errorf("the Deployment was made anew: %s, was %s", now, uid)
	}
	if again := promote("deployment", "legacy", "-C", "member1"); again.code != 0 || !strings.Contains(again.stderr, "on the hub already") {
		t.Errorf("promoted again: status %d\n%s%s", again.code, again.stdout, again.stderr)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no cluster":      {[]string{"deployment", "legacy"}, "--cluster"},
		"unknown cluster": {[]string{"deployment", "legacy", "-C", "member9"}, "member9"},
		"no such object":  {[]string{"deployment", "none", "-C", "member1"}, "none"},
		"no such kind":    {[]string{"frobnicator", "none", "-C", "member1"}, "frobnicator"},
		"strange output":  {[]string{"deployment", "legacy", "-C", "member1", "-o", "toml"}, "toml"},
	} {
		if r := promote(c.args...); r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: status %d, said %q", name, r.code, r.stderr)
		}
	}
}
