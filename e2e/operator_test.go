package e2e_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/cluster"
)

// site is a lab in which somebody types the make targets and kubectl: inside
// it, where every cluster has one address for people and pods.
type site struct {
	lab      *cluster.Lab
	clusters map[string]*cluster.Cluster
	root     string // of the repository
	dir      string // for the kubeconfigs that targets write
}

// What the nodes of a site have loaded.
const (
	siteHubImage   = "muster:site"
	siteAgentImage = "muster-agent:site"
	// sitePatience is for what pods have to start for, on a busy machine.
	sitePatience = 5 * time.Minute
	siteTimeout  = "--timeout=5m"
)

const emptyWork = `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: empty, namespace: cluster1}
spec: {workload: {manifests: []}}
`

// TestRealClustersOperators puts hub and agents on clusters by the make targets,
// walks to a running workload, and takes all of it away again.
//
// With all four ways the two suites with real clusters take more than ten minutes:
// "make test" goes those two that between them use each half of both operators,
// "make test-clusters" sets MUSTER_OPERATORS=all. All ways share three clusters,
// which each of them leaves as it found them.
func TestRealClustersOperators(t *testing.T) {
	all := os.Getenv("MUSTER_OPERATORS") == "all"
	s := &site{dir: t.TempDir()}
	s.lab, s.clusters = startLab(t, "one", "two", "three")
	var err error
	if s.root, err = filepath.Abs(".."); err != nil {
		t.Fatal(err)
	}
	s.writeKubectl(t)
	operated := []string{"one", "two"} // the third is looked after from elsewhere
	if all {
		operated = append(operated, "three")
	}
	s.loadImages(t, operated)
	for _, scenario := range []struct {
		name   string
		always bool
		play   func(*testing.T, *site)
	}{
		{"all in one", false, allInOne},
		{"hub-spoke", true, hubSpoke},
		{"hub hosted", false, hubHosted},
		{"klusterlet hosted", true, klusterletHosted},
	} {
		if !all && !scenario.always {
			continue
		}
		if !t.Run(scenario.name, func(t *testing.T) { s.leavesNothing(t, scenario.play) }) {
			break // what it left would be blamed on the next
		}
	}
}

// allInOne is a hub and the agents of its own cluster.
func allInOne(t *testing.T, s *site) {
	s.make(t, "one", "deploy", "HUB_KUBECONFIG="+s.hubKubeconfig())
	s.awaitHub(t, "one", "open-cluster-management-hub")
	s.walk(t, "one", "cluster1")
	s.giveWork(t, "one", "cluster1", "one")
	s.takeWork(t, "one", "cluster1", "one")
	s.make(t, "one", "clean-deploy", "HUB_KUBECONFIG="+s.hubKubeconfig())
}

// hubHosted is a hub that runs on one cluster for the API of another, which asks
// it by ports of its node, and agents on a third.
func hubHosted(t *testing.T, s *site) {
	external := "EXTERNAL_HUB_KUBECONFIG=" + s.clusters["one"].WANKubeconfig()
	s.make(t, "two", "deploy-hub-hosted", "HUB_KUBECONFIG="+s.hubKubeconfig(), external, "WEBHOOK_ADDRESS="+s.clusters["two"].IP)
	s.kubectl(t, "two", nil, "apply", "-f", filepath.Join(s.root, "deploy/operator/samples/webhook-nodeports.yaml"))
	s.awaitHub(t, "two", "cluster-manager")
	s.make(t, "three", "deploy-spoke", "HUB_KUBECONFIG="+s.hubKubeconfig())
	s.walk(t, "one", "cluster1")
	s.giveWork(t, "one", "cluster1", "three")
	if pods := s.kubectl(t, "one", nil, "get", "pods", "-A", "-o", "name"); pods != "" {
		t.Errorf("pods run on the cluster of the hub's API: %s", pods)
	}
	// The API is answered by the hub: a work without manifests is refused, and by whom is said.
	_, err := s.clusters["one"].Kubectl(t.Context(), strings.NewReader(emptyWork), "create", "--dry-run=server", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "manifestworkvalidators.admission.work.open-cluster-management.io") {
		t.Errorf("a work without manifests: %v", err)
	}
	s.make(t, "two", "clean-hub-hosted", "HUB_KUBECONFIG="+s.hubKubeconfig(), external)
	s.noWorkload(t, "three")
	s.make(t, "three", "clean-spoke")
}

// hubSpoke is a hub on one cluster and agents on another. The hub leaves first,
// and takes the workload with it.
func hubSpoke(t *testing.T, s *site) {
	s.make(t, "one", "deploy-hub", "HUB_KUBECONFIG="+s.hubKubeconfig())
	s.awaitHub(t, "one", "open-cluster-management-hub")
	s.make(t, "two", "deploy-spoke", "HUB_KUBECONFIG="+s.hubKubeconfig())
	s.walk(t, "one", "cluster1")
	s.giveWork(t, "one", "cluster1", "two")
	s.make(t, "one", "clean-hub", "HUB_KUBECONFIG="+s.hubKubeconfig())
	s.noWorkload(t, "two")
	s.make(t, "two", "clean-spoke")
}

// klusterletHosted is a hub on one cluster and agents on another, which look
// after a third. The agents leave first.
func klusterletHosted(t *testing.T, s *site) {
	managed := "EXTERNAL_MANAGED_KUBECONFIG=" + s.clusters["three"].WANKubeconfig()
	s.make(t, "one", "deploy-hub", "HUB_KUBECONFIG="+s.hubKubeconfig())
	s.awaitHub(t, "one", "open-cluster-management-hub")
	s.make(t, "two", "deploy-spoke-hosted", "HUB_KUBECONFIG="+s.hubKubeconfig(), managed, "MANAGED_CLUSTER_NAME=edge", "KLUSTERLET_NAME=edge-agents")
	s.walk(t, "one", "edge")
	s.giveWork(t, "one", "edge", "three")
	if pods := s.kubectl(t, "three", nil, "get", "pods", "-A", "-l", "app in (klusterlet-registration-agent,klusterlet-manifestwork-agent)", "-o", "name"); pods != "" {
		t.Errorf("agents run in the managed cluster: %s", pods)
	}
	s.takeWork(t, "one", "edge", "three")
	s.make(t, "two", "clean-spoke-hosted", managed, "KLUSTERLET_NAME=edge-agents")
	s.make(t, "one", "clean-hub", "HUB_KUBECONFIG="+s.hubKubeconfig())
}

// loadImages gives every node the workload's image, and the nodes of operated
// clusters those of the binaries under test, made as "make images" does.
func (s *site) loadImages(t *testing.T, operated []string) {
	t.Helper()
	web, err := controlplanetest.Binary("web.tar")
	if err != nil {
		t.Fatal(err)
	}
	archives := []string{web}
	for program, image := range map[string]string{"muster": siteHubImage, "muster-agent": siteAgentImage} {
		archives = append(archives, s.writeImage(t, program, image))
	}
	group, ctx := errgroup.WithContext(t.Context())
	for name, c := range s.clusters {
		needed := archives
		if !slices.Contains(operated, name) {
			needed = archives[:1]
		}
		group.Go(func() error {
			for _, archive := range needed {
				if err := c.LoadImage(ctx, archive); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (s *site) writeImage(t *testing.T, program, image string) string {
	t.Helper()
	binary, err := controlplanetest.Binary(program)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(s.dir, program+".tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cluster.WriteImage(archive, image, binary), archive.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Name()
}

// hubKubeconfig is where targets keep the way to the hub.
func (s *site) hubKubeconfig() string { return filepath.Join(s.dir, "hub.kubeconfig") }

// make runs a target for a cluster. Nothing is built: nodes have the images.
func (s *site) make(t *testing.T, name, target string, settings ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sitePatience)
	defer cancel()
	args := []string{"-C", s.root, "--no-print-directory", target, "DEPLOY_NEEDS=", "VERSION=site", "KUBECONFIG=" + s.clusters[name].WANKubeconfig(),
		"IMAGE_NAME=" + siteHubImage, "AGENT_IMAGE=" + siteAgentImage, "KUBECTL=" + s.kubectlProgram(), "CLEAN_TIMEOUT=3m"}
	begin := time.Now()
	out, err := s.inside(exec.CommandContext(ctx, "make", append(args, settings...)...), nil)
	if err != nil {
		t.Fatalf("make %s on %s: %v\n%s\n%s", target, name, err, out, s.state(t))
	}
	t.Logf("make %s on %s took %.1f s", target, name, time.Since(begin).Seconds())
}

// kubectlProgram is kubectl as one word, which is what the targets take.
func (s *site) kubectlProgram() string { return filepath.Join(s.dir, "kubectl") }

// writeKubectl makes it of the kubectl that is linked into the members.
func (s *site) writeKubectl(t *testing.T) {
	t.Helper()
	kube, err := controlplanetest.Binary("kube")
	if err == nil {
		err = os.WriteFile(s.kubectlProgram(), []byte("#!/bin/sh\nexec '"+kube+"' kubectl \"$@\"\n"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inside runs a command in the lab's network and returns what it printed.
func (s *site) inside(cmd *exec.Cmd, stdin io.Reader) (string, error) {
	var printed strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &printed, &printed
	cmd.WaitDelay = time.Second
	if err := s.lab.StartInside(cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	return printed.String(), err
}

// kubectl runs kubectl on a cluster and returns its standard output.
func (s *site) kubectl(t *testing.T, name string, stdin io.Reader, args ...string) string {
	t.Helper()
	out, err := s.clusters[name].Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.state(t))
	}
	return out
}

// await polls until a condition holds: seldom, since each look is a process.
func (s *site) await(t *testing.T, what string, holds func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, sitePatience, true, func(ctx context.Context) (bool, error) {
		return holds(ctx), nil
	})
	if err != nil {
		t.Fatalf("waited in vain for: %s (%v)\n%s", what, err, s.state(t))
	}
}

// awaitHub waits until a ClusterManager says that its hub is up.
func (s *site) awaitHub(t *testing.T, name, namespace string) {
	t.Helper()
	s.await(t, "the hub to be up to date", func(ctx context.Context) bool {
		out, err := s.clusters[name].Kubectl(ctx, nil, "get", "clustermanager", "cluster-manager",
			"-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {end}`)
		for _, want := range []string{"Applied=True", "Progressing=False", "HubRegistrationDegraded=False", "HubPlacementDegraded=False"} {
			if err != nil || !strings.Contains(out, want) {
				return false
			}
		}
		return true
	})
	deployments := strings.Fields(s.kubectl(t, name, nil, "-n", namespace, "get", "deployments", "-o", "custom-columns=N:.metadata.name", "--no-headers"))
	if want := []string{"cluster-manager-registration-controller", "cluster-manager-registration-webhook", "cluster-manager-work-webhook"}; !slices.Equal(deployments, want) {
		t.Errorf("the hub's Deployments are %q, want %q", deployments, want)
	}
}

// walk is what the field's documentation has a person type on the hub. An agent
// that was started anew asks anew, and is approved, too.
func (s *site) walk(t *testing.T, hub, managed string) {
	t.Helper()
	begin := time.Now()
	selector := "open-cluster-management.io/cluster-name=" + managed
	pending := func(ctx context.Context) (names []string) {
		out, err := s.clusters[hub].Kubectl(ctx, nil, "get", "csr", "-l", selector, "--no-headers", "-o", "custom-columns=N:.metadata.name,C:.status.conditions")
		if err != nil {
			return nil
		}
		for line := range strings.Lines(out) {
			if name, state, _ := strings.Cut(strings.TrimSpace(line), " "); strings.TrimSpace(state) == "<none>" {
				names = append(names, name)
			}
		}
		return names
	}
	var asked []string
	s.await(t, "the agent's request for a certificate", func(ctx context.Context) bool {
		asked = pending(ctx)
		return len(asked) > 0
	})
	if table := s.kubectl(t, hub, nil, "get", "csr"); !strings.Contains(table, "Pending") {
		t.Errorf("kubectl get csr says:\n%s", table)
	}
	s.kubectl(t, hub, nil, append([]string{"certificate", "approve"}, asked...)...)
	s.await(t, "the agent's cluster", func(ctx context.Context) bool {
		_, err := s.clusters[hub].Kubectl(ctx, nil, "get", "managedcluster", managed)
		return err == nil
	})
	s.kubectl(t, hub, nil, "patch", "managedcluster", managed, `-p={"spec":{"hubAcceptsClient":true}}`, "--type=merge")
	s.await(t, managed+" to be available", func(ctx context.Context) bool {
		for _, name := range pending(ctx) {
			_, _ = s.clusters[hub].Kubectl(ctx, nil, "certificate", "approve", name) // one that is gone by now needs nothing
		}
		out, err := s.clusters[hub].Kubectl(ctx, nil, "get", "managedcluster", managed,
			"-o", `jsonpath={.status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status}`)
		return err == nil && out == "True"
	})
	row := strings.Fields(s.kubectl(t, hub, nil, "get", "managedcluster", managed, "--no-headers"))
	if len(row) != 6 || row[0] != managed || row[1] != "true" || row[2] != "https://localhost" || row[3] != "True" || row[4] != "True" {
		t.Errorf("kubectl get managedcluster says %q", row)
	}
	t.Logf("%s was available %.1f s after its agents were deployed", managed, time.Since(begin).Seconds())
}

// giveWork has a ManifestWork run the lab's workload in a managed cluster.
func (s *site) giveWork(t *testing.T, hub, managed, runsIn string) {
	t.Helper()
	var manifests strings.Builder
	for document := range strings.SplitSeq(cluster.ExampleManifest, "---\n") {
		manifests.WriteString("    -\n")
		for line := range strings.Lines(document) {
			manifests.WriteString("      " + line)
		}
	}
	text := "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: web, namespace: " + managed + "}\nspec:\n  workload:\n    manifests:\n" + manifests.String()
	s.kubectl(t, hub, strings.NewReader(text), "apply", "-f", "-")
	s.kubectl(t, hub, nil, "-n", managed, "wait", "manifestwork/web", "--for=condition=Applied", siteTimeout)
	s.kubectl(t, hub, nil, "-n", managed, "wait", "manifestwork/web", "--for=condition=Available", siteTimeout)
	s.kubectl(t, runsIn, nil, "wait", "deployment/web", "--for=condition=Available", siteTimeout)
}

// takeWork removes the workload by its ManifestWork.
func (s *site) takeWork(t *testing.T, hub, managed, runsIn string) {
	t.Helper()
	s.kubectl(t, hub, nil, "-n", managed, "delete", "manifestwork", "web", siteTimeout)
	s.noWorkload(t, runsIn)
}

// noWorkload checks that the workload went with its ManifestWork.
func (s *site) noWorkload(t *testing.T, name string) {
	t.Helper()
	if out := s.kubectl(t, name, nil, "get", "deployment,service", "web", "--ignore-not-found", "-o", "name"); out != "" {
		t.Errorf("workload that outlived its work: %s", out)
	}
}

// leavesNothing compares what every cluster holds before and after.
func (s *site) leavesNothing(t *testing.T, play func(*testing.T, *site)) {
	t.Helper()
	before := map[string]map[string]string{}
	for name := range s.clusters {
		before[name] = s.objects(t, name)
	}
	play(t, s)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		var after map[string]string
		err := wait.PollUntilContextTimeout(t.Context(), time.Second, sitePatience, true, func(context.Context) (bool, error) {
			after = s.objects(t, name)
			return maps.Equal(before[name], after), nil
		})
		if err != nil {
			t.Errorf("%s is not as it was (-before +after):\n%s", name, cmp.Diff(before[name], after))
		}
	}
}

// objects lists all that is in a cluster, but for what comes and goes by itself.
func (s *site) objects(t *testing.T, name string) map[string]string {
	t.Helper()
	return objectsIn(t, loadConfig(t, s.clusters[name].Kubeconfig()))
}

// state is what somebody who looks for a fault would ask first.
func (s *site) state(t *testing.T) string {
	const conditions = `jsonpath={range .items[*]}{.kind}{range .status.conditions[*]}{"\n  "}{.type}={.status} {.reason}: {.message}{end}{"\n"}{end}`
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		for _, what := range [][]string{
			{"get", "pods", "-A", "-o", "wide"}, {"get", "clustermanager", "-o", conditions}, {"get", "klusterlet", "-o", conditions},
			{"get", "csr"}, {"get", "managedcluster"}, {"get", "manifestwork", "-A"}, {"get", "events", "-A", "--field-selector", "type=Warning"},
		} {
			out, _ := s.clusters[name].Kubectl(ctx, nil, what...)
			all.WriteString(name + ": kubectl " + strings.Join(what[:2], " ") + "\n" + out + "\n")
		}
		logs, _ := filepath.Glob(filepath.Join(s.clusters[name].LogDir(), "pods", "open-cluster-management*", "*", "*.log"))
		for _, path := range logs {
			text, err := os.ReadFile(path)
			if err == nil {
				all.WriteString(path + ":\n" + string(text[max(0, len(text)-4000):]) + "\n")
			}
		}
	}
	return all.String()
}
