package e2e_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

type stage struct {
	Name, State, At, Source, Code, Cause, Fix string
}

type registration struct {
	ID, Flavour, State, ClusterName, TokenID string
	Stages                                   []stage
}

type registrationCreated struct {
	Registration registration
	Secret       string
	Commands     struct{ Muster, Karmadactl, Manifest string }
}

func stageNames(r registration) (all []string) {
	for _, s := range r.Stages {
		all = append(all, s.Name)
	}
	return all
}

// getRegistration reads one registration through REST.
func getRegistration(t testing.TB, h *hub, id string) registration {
	t.Helper()
	var r registration
	must(t, admin(t, h), "GET", "/api/v1/registrations/"+id, nil, &r)
	return r
}

func awaitRegistration(t testing.TB, h *hub, id, state string) registration {
	t.Helper()
	var last registration
	defer func() {
		if t.Failed() {
			t.Logf("the registration is %+v", last)
		}
	}()
	eventually(t, "registration "+state, func(context.Context) bool {
		last = getRegistration(t, h, id)
		return last.State == state
	})
	return last
}

func TestPullRegistrationIsARecord(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden", Nodes: 1})
	var created registrationCreated
	must(t, admin(t, h), "POST", "/api/v1/registrations", map[string]any{"flavour": "pull", "clusterName": "west", "region": "ap", "labels": map[string]string{"env": "test"}}, &created)
	id := created.Registration.ID
	want := []string{"command", "contact", "token", "approved", "identity", "link", "inventory", "ready"}
	if diff := cmp.Diff(want, stageNames(created.Registration)); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if strings.Contains(strings.Join(strings.Fields(created.Commands.Manifest), " "), "?token") {
		t.Error("the manifest command has the token in its URL")
	}

	startAgent(t, h, m, created.Secret, "--cluster-name", "west", "--cluster-region", "ap")
	ready := awaitRegistration(t, h, id, "ready")
	for _, s := range ready.Stages {
		if s.State != "done" || s.At == "" {
			t.Errorf("stage %s is %+v, want done with its time", s.Name, s)
		}
	}
	for _, name := range []string{"contact", "token", "link"} {
		i := slices.IndexFunc(ready.Stages, func(s stage) bool { return s.Name == name })
		if i < 0 || !strings.HasPrefix(ready.Stages[i].Source, "127.0.0.1") {
			t.Errorf("stage %s has no source address: %+v", name, ready.Stages)
		}
	}
	if west := h.cluster(t, "west"); west.Labels["env"] != "test" {
		t.Errorf("the labels asked for are not on the cluster: %v", west.Labels)
	}

	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	if diff := cmp.Diff(ready, getRegistration(t, h, id)); diff != "" {
		t.Errorf("the record after kill -9 (-before +after):\n%s", diff)
	}
	// The agent finds back by itself.
	h.awaitReady(t, "west", metav1.ConditionTrue)
}

func TestFailedRegistrationSaysWhy(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	var created registrationCreated
	must(t, admin(t, h), "POST", "/api/v1/registrations", map[string]any{"flavour": "pull", "clusterName": "west"}, &created)
	if r := run(t, "muster-agent", registerArgs(t, h, m, created.Secret, "--cluster-name", "other")...); r.code == 0 {
		t.Fatal("a token bound to west registered other")
	}
	failed := awaitRegistration(t, h, created.Registration.ID, "failed")
	i := slices.IndexFunc(failed.Stages, func(s stage) bool { return s.State == "failed" })
	if i < 0 || failed.Stages[i].Code != "MU-104" || failed.Stages[i].Cause == "" || failed.Stages[i].Fix == "" {
		t.Errorf("no failed stage with code, cause and fix: %+v", failed.Stages)
	}

	// Cancelling revokes the token.
	must(t, admin(t, h), "DELETE", "/api/v1/registrations/"+created.Registration.ID, nil, nil)
	awaitUnauthorized(t, h, created.Secret, "west")
}

func TestPushRegistrationThroughREST(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "somewhere", Nodes: 1})
	kubeconfig, err := os.ReadFile(m.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	before := objects(t, m)
	root := admin(t, h)

	var report struct {
		OK     bool
		Checks []struct{ ID, State, Code string }
		Plan   []struct{ Where, Kind, Name string }
	}
	must(t, root, "POST", "/api/v1/preflight", map[string]any{"kubeconfig": string(kubeconfig), "name": "east"}, &report)
	if !report.OK || len(report.Checks) == 0 || len(report.Plan) == 0 {
		t.Errorf("preflight says %+v", report)
	}
	if diff := cmp.Diff(before, objects(t, m)); diff != "" {
		t.Errorf("preflight changed the member (-before +after):\n%s", diff)
	}

	var created registrationCreated
	must(t, root, "POST", "/api/v1/registrations", map[string]any{"flavour": "push", "clusterName": "east", "kubeconfig": string(kubeconfig)}, &created)
	ready := awaitRegistration(t, h, created.Registration.ID, "ready")
	if diff := cmp.Diff([]string{"preflight", "credentials", "cluster", "inventory", "ready"}, stageNames(ready)); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	// The uploaded credential is forgotten: what the hub keeps is its own account's.
	secrets, err := h.client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(m.Config().KeyData))
	for _, secret := range secrets.Items {
		for name, data := range secret.Data {
			if strings.Contains(string(data), key) {
				t.Errorf("secret %s/%s keeps the uploaded key in %s", secret.Namespace, secret.Name, name)
			}
		}
	}

	var cluster struct{ Name, Mode, State string }
	eventually(t, "the cluster's row shows it ready", func(context.Context) bool {
		must(t, root, "GET", "/api/v1/clusters/east", nil, &cluster)
		return cluster.State == "ready"
	})
	if cluster.Mode != "Push" {
		t.Errorf("the cluster's row is %+v", cluster)
	}
	wants(t, root, http.StatusBadRequest, "DELETE", "/api/v1/clusters/east", map[string]any{"confirm": "other"})
	must(t, root, "DELETE", "/api/v1/clusters/east", map[string]any{"confirm": "east"}, nil)
	h.awaitGone(t, "east")
	awaitSecretsGone(t, h, "east")
}

func TestRESTRefusesLoopbackMembersUnlessAllowed(t *testing.T) {
	t.Parallel()
	h := &hub{Hub: controlplanetest.StartHub(t, controlplanetest.HubOptions{})}
	h.connect(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "near"})
	kubeconfig, err := os.ReadFile(m.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		OK     bool
		Checks []struct{ ID, State, Code string }
	}
	must(t, admin(t, h), "POST", "/api/v1/preflight", map[string]any{"kubeconfig": string(kubeconfig)}, &report)
	if report.OK || !slices.ContainsFunc(report.Checks, func(c struct{ ID, State, Code string }) bool { return c.State == "failed" && c.Code == "MU-203" }) {
		t.Errorf("preflight of a loopback address says %+v, want MU-203", report)
	}
	var created registrationCreated
	answer, err := admin(t, h).Do(t.Context(), "POST", "/api/v1/registrations", map[string]any{"flavour": "push", "clusterName": "near", "kubeconfig": string(kubeconfig)})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status < 400 {
		if err := answer.Into(&created); err != nil {
			t.Fatal(err)
		}
		awaitRegistration(t, h, created.Registration.ID, "failed")
	}
	if h.cluster(t, "near") != nil {
		t.Error("a cluster at a refused address was joined")
	}
}

func TestManifestFlavour(t *testing.T) {
	t.Parallel()
	for _, need := range []string{"bash", "curl", "base64"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("the manifest command needs %s", need)
		}
	}
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	kube, err := controlplanetest.Binary("kube")
	if err != nil {
		t.Fatal(err)
	}
	var created registrationCreated
	must(t, admin(t, h), "POST", "/api/v1/registrations", map[string]any{"flavour": "pull", "clusterName": "west"}, &created)

	tools := t.TempDir()
	script := "#!/bin/sh\nexec " + kube + ` kubectl "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(tools, "kubectl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", created.Commands.Manifest)
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+m.Kubeconfig)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the manifest command: %v\n%s", err, out)
	}
	deployments, err := m.Client.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 1 || !strings.Contains(deployments.Items[0].Name, "muster-agent") {
		t.Fatalf("deployments in the member: %d, want the agent's", len(deployments.Items))
	}
	_, secret, _ := strings.Cut(created.Secret, ".")
	for _, argument := range append(deployments.Items[0].Spec.Template.Spec.Containers[0].Args, deployments.Items[0].Spec.Template.Spec.Containers[0].Command...) {
		if strings.Contains(argument, secret) {
			t.Error("the token's secret is in the Deployment's arguments")
		}
	}
}
