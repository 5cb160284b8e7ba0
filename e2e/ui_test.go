package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// TestBrowser runs the browser tests in ui against a hub and two members.
func TestBrowser(t *testing.T) {
	t.Parallel()
	for _, need := range []string{"chromium", "node"} {
		if _, err := exec.LookPath(need); err != nil && os.Geteuid() != 0 {
			t.Skipf("%s is not installed: run make setup as root", need)
		} else if err != nil {
			t.Fatalf("%v: run make setup", err)
		}
	}
	if _, err := os.Stat(filepath.Join("ui", "node_modules", "playwright-core")); err != nil {
		t.Fatal("playwright-core is not installed: run make setup")
	}
	h := startHub(t)
	pull := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "pull", Nodes: 2})
	push := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "push", Nodes: 3})
	agent, err := controlplanetest.Binary("muster-agent")
	if err != nil {
		t.Fatal(err)
	}
	specs, err := filepath.Glob(filepath.Join("ui", "*.spec.mjs"))
	if err != nil || len(specs) == 0 {
		t.Fatalf("no browser tests: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"--test", "--test-concurrency=1", "--test-timeout=600000"}, specs...)...)
	cmd.Env = append(os.Environ(),
		"MUSTER_URL="+h.DashboardURL, "MUSTER_PASSWORD="+h.Password, "MUSTER_BIN="+filepath.Dir(agent),
		"MUSTER_HUB_KUBECONFIG="+h.Kubeconfig, "MUSTER_PULL_KUBECONFIG="+pull.Kubeconfig, "MUSTER_PUSH_KUBECONFIG="+push.Kubeconfig,
		"MUSTER_SCREENSHOTS="+filepath.Join("ui", "screenshots"), "NODE_NO_WARNINGS=1",
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("browser tests: %v\n%s", err, out)
	}
}
