package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// Stories with a hub of their own: the pages of Open Cluster Management, and the editor of policies.
var (
	ocmSpec    = filepath.Join("ui", "ocm.spec.mjs")
	editorSpec = filepath.Join("ui", "editor.spec.mjs")
)

// TestBrowser runs the browser tests in ui against a hub and two members.
func TestBrowser(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	h := startHub(t)
	pull := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "pull", Nodes: 2})
	push := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "push", Nodes: 3})
	specs, err := filepath.Glob(filepath.Join("ui", "*.spec.mjs"))
	if specs = slices.DeleteFunc(specs, func(spec string) bool { return spec == ocmSpec || spec == editorSpec }); err != nil || len(specs) == 0 {
		t.Fatalf("no browser tests: %v", err)
	}
	h.browse(t, specs, "MUSTER_PULL_KUBECONFIG="+pull.Kubeconfig, "MUSTER_PUSH_KUBECONFIG="+push.Kubeconfig)
}

// TestBrowserOCM runs the browser test of the pages of Open Cluster Management against a hub with an operator, members for agents to come
// from, and clusters that have only introduced themselves.
func TestBrowserOCM(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	h := startHub(t)
	east := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 2})
	west := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "west"})
	kubectl(t, h.Kubeconfig, "apply", "-f", "../deploy/crds/ocm-operator/operator.open-cluster-management.io_klusterlets.yaml")
	startProcess(t, "muster", "operator", "operator", "--for", "spoke", "--kubeconfig", h.Kubeconfig)
	strangers := bootstrapConfig(t, h, ocmToken(t, h))
	for _, cluster := range []string{"bulk-one", "bulk-two", "by-keyboard", "newcomer", "stranger"} {
		introduce(t, strangers, cluster, "a1b2c")
	}
	h.browse(t, []string{ocmSpec}, "MUSTER_EAST_KUBECONFIG="+east.Kubeconfig, "MUSTER_WEST_KUBECONFIG="+west.Kubeconfig)
}

// TestBrowserEditor runs the browser test of the editor of policies against a hub and two members that it pushes to.
func TestBrowserEditor(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	h := startHub(t)
	var setting []string
	for cluster, name := range map[string]string{"cluster1": "EAST", "cluster2": "WEST"} {
		member := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: cluster, Nodes: 2})
		mustJoin(t, h, cluster, member)
		setting = append(setting, "MUSTER_"+name+"_KUBECONFIG="+member.Kubeconfig)
	}
	h.browse(t, []string{editorSpec}, setting...)
}

// needBrowser skips the test of somebody who cannot install a browser, and fails that of everybody else who has none.
func needBrowser(t *testing.T) {
	t.Helper()
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
}

// browse runs browser tests against the hub; setting is what they know of its members.
func (h *hub) browse(t *testing.T, specs []string, setting ...string) {
	t.Helper()
	agent, err := controlplanetest.Binary("muster-agent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"--test", "--test-concurrency=1", "--test-timeout=1200000"}, specs...)...)
	cmd.Env = append(os.Environ(), append(setting,
		"MUSTER_URL="+h.DashboardURL, "MUSTER_PASSWORD="+h.Password, "MUSTER_BIN="+filepath.Dir(agent), "MUSTER_HUB_KUBECONFIG="+h.Kubeconfig,
		"MUSTER_SCREENSHOTS="+filepath.Join("ui", "screenshots"), "NODE_NO_WARNINGS=1")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("browser tests: %v\n%s", err, out)
	}
}
