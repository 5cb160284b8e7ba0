package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// Stories with hubs of their own: the pages of Open Cluster Management, and policies from their editor to what they do. Node runs the
// specs of one hub by their names, and the first one signs in first.
var (
	ocmSpecs    = specs("ocm", "registered")
	policySpecs = specs("editor", "effect", "fault", "overrides", "pickers", "topology")
)

func specs(names ...string) []string {
	paths := make([]string, 0, len(names))
	for _, name := range names {
		paths = append(paths, filepath.Join("ui", name+".spec.mjs"))
	}
	return paths
}

// TestBrowser runs the browser tests in ui against a hub and two members.
func TestBrowser(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	h := startHub(t)
	pull := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "pull", Nodes: 2})
	push := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "push", Nodes: 3})
	all, err := filepath.Glob(filepath.Join("ui", "*.spec.mjs"))
	others := slices.Concat(ocmSpecs, policySpecs)
	if all = slices.DeleteFunc(all, func(spec string) bool { return slices.Contains(others, spec) }); err != nil || len(all) == 0 {
		t.Fatalf("no browser tests: %v", err)
	}
	h.browse(t, all, "MUSTER_PULL_KUBECONFIG="+pull.Kubeconfig, "MUSTER_PUSH_KUBECONFIG="+push.Kubeconfig)
}

// TestBrowserOCM runs the browser tests of the pages of Open Cluster Management against a hub with an operator and an approval rule on its
// command line that fits nobody, members for agents to come from, and clusters that have only introduced themselves.
func TestBrowserOCM(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	h := startHub(t, "--auto-approve-users", "system:serviceaccount:fleet:importer")
	east := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 2})
	west := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "west"})
	kubectl(t, h.Kubeconfig, "apply", "-f", "../deploy/crds/ocm-operator/operator.open-cluster-management.io_klusterlets.yaml")
	startProcess(t, "muster", "operator", "operator", "--for", "spoke", "--kubeconfig", h.Kubeconfig)
	token := ocmToken(t, h)
	for _, cluster := range []string{"alone-four", "alone-one", "alone-three", "alone-two", "bulk-one", "bulk-two", "by-keyboard", "late-1", "newcomer", "stranger"} {
		introduce(t, bootstrapConfig(t, h, token), cluster, "a1b2c")
	}
	h.browse(t, ocmSpecs, "MUSTER_EAST_KUBECONFIG="+east.Kubeconfig, "MUSTER_WEST_KUBECONFIG="+west.Kubeconfig, "MUSTER_BOOTSTRAP_KUBECONFIG="+ocmBootstrap(t, h, token))
}

// TestBrowserEditor runs the browser tests of policies, from their editor to what goes wrong with what they send, against a hub and two
// members that it pushes to.
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
	h.browse(t, policySpecs, setting...)
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
