package deploy_test

import (
	"bytes"
	"errors"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// scripts is a copy of what the deploy targets run, in which nothing is built: the
// programs are two lines of text.
func scripts(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dev", "operator", "crds"} {
		if err := os.CopyFS(filepath.Join(dir, "deploy", name), os.DirFS(filepath.Join(root, "deploy", name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin/muster", "bin/muster-agent"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sh runs a script with nothing in its environment but what programs need, and
// what is told.
func sh(t *testing.T, dir, script string, environment ...string) (printed string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	for _, kept := range []string{"PATH", "HOME", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CGO_ENABLED"} {
		if value, ok := os.LookupEnv(kept); ok {
			cmd.Env = append(cmd.Env, kept+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, environment...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// TestDeployEnvironment: what holds where nothing is told, and that deploy-env.sh
// names whatever the scripts take from the environment.
func TestDeployEnvironment(t *testing.T) {
	dir := scripts(t)
	want := map[string]string{
		"KUBECTL": "kubectl", "KUBECONFIG": "./.kubeconfig", "HUB_KUBECONFIG": "./.hub-kubeconfig",
		"EXTERNAL_HUB_KUBECONFIG": "./.external-hub-kubeconfig", "EXTERNAL_MANAGED_KUBECONFIG": "./.external-managed-kubeconfig",
		"HOSTED_CLUSTER_MANAGER_NAME": "cluster-manager", "MANAGED_CLUSTER_NAME": "cluster1", "KLUSTERLET_NAME": "klusterlet",
		"WEBHOOK_ADDRESS": "management-control-plane", "REGISTRATION_WEBHOOK_PORT": "30443", "WORK_WEBHOOK_PORT": "31443",
		"CLEAN_TIMEOUT": "5m", "IMAGE_REGISTRY": "", "IMAGE_TAG": "dev", "IMAGE_LOAD": "",
		"HUB_IMAGE": "muster:dev", "AGENT_IMAGE": "muster-agent:dev",
		"REGISTRATION_IMAGE": "", "WORK_IMAGE": "", "PLACEMENT_IMAGE": "", "ADDON_MANAGER_IMAGE": "",
	}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names)
	script := "set -eu; . deploy/dev/deploy-env.sh\n"
	for _, name := range names {
		script += "echo \"" + name + "=$" + name + "\"\n"
	}
	out, err := sh(t, dir, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	for _, name := range []string{"deploy.sh", "clean-deploy.sh", "images.sh"} {
		text, err := os.ReadFile(filepath.Join(dir, "deploy", "dev", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "_IMAGE:-") || strings.Contains(string(text), "IMAGE_LOAD:-") {
			t.Errorf("%s has a default of its own: deploy-env.sh is where they are listed", name)
		}
	}
	out, err = sh(t, dir, ". deploy/dev/deploy-env.sh; echo $HUB_IMAGE $AGENT_IMAGE", "IMAGE_REGISTRY=registry.example/team", "VERSION=v1")
	if err != nil || out != "registry.example/team/muster:v1 registry.example/team/muster-agent:v1\n" {
		t.Errorf("with a registry the images are %q (%v)", out, err)
	}
}

// TestImages packs both images in the three ways of the target: pushed to a
// registry, given to a command, or left with word of what to do.
func TestImages(t *testing.T) {
	dir := scripts(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(&bytes.Buffer{}, "", 0))))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")

	out, err := sh(t, dir, "deploy/dev/images.sh", "IMAGE_REGISTRY="+address+"/team", "VERSION=v1")
	if err != nil {
		t.Fatalf("push: %v\n%s", err, out)
	}
	for _, name := range []string{"muster", "muster-agent"} {
		response, err := server.Client().Get(server.URL + "/v2/team/" + name + "/manifests/v1")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != 200 || !strings.Contains(out, "pushed "+address+"/team/"+name+":v1\n") {
			t.Errorf("the registry answers %s for %s; printed was\n%s", response.Status, name, out)
		}
	}
	if strings.Contains(out, "No IMAGE_REGISTRY") {
		t.Errorf("pushed, and yet told to load:\n%s", out)
	}

	out, err = sh(t, dir, "deploy/dev/images.sh", "IMAGE_LOAD=echo load now", "VERSION=v1")
	if want := "load now bin/muster.tar\nload now bin/muster-agent.tar\n"; err != nil || out != want {
		t.Errorf("with a command it prints %q (%v), want %q", out, err, want)
	}
	if image, err := tarball.ImageFromPath(filepath.Join(dir, "bin", "muster.tar"), nil); err != nil {
		t.Errorf("the archive: %v", err)
	} else if config, err := image.ConfigFile(); err != nil || !slices.Equal(config.Config.Entrypoint, []string{"/muster"}) {
		t.Errorf("the image runs %v (%v)", config, err)
	}
	if out, err = sh(t, dir, "deploy/dev/images.sh", "IMAGE_LOAD=false"); err == nil {
		t.Errorf("a command that fails is passed over:\n%s", out)
	}

	out, err = sh(t, dir, "deploy/dev/images.sh", "VERSION=v1")
	for _, want := range []string{"bin/muster.tar holds muster:v1", "bin/muster-agent.tar holds muster-agent:v1", "for i in bin/muster.tar bin/muster-agent.tar; do ctr"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("with neither it says nothing of %q (%v):\n%s", want, err, out)
		}
	}
}

// kubectlStub writes down what it is asked and given, and answers nothing.
const kubectlStub = `#!/bin/sh
echo "kubectl $*" >>"$STUB_LOG"
case "$*" in
*"config view"*) echo "kind: Config" ;;
*"get namespace"*) exit 1 ;;
*"get crd"*) echo "found" ;;
*"-f -"*) cat >>"$STUB_LOG" ;;
esac
exit 0
`

// TestHostedNames: a hosted hub of another name than usual is put into its own
// namespace with its own images, and the clean target takes both away.
func TestHostedNames(t *testing.T) {
	dir := scripts(t)
	stub, written := filepath.Join(dir, "kubectl"), filepath.Join(dir, "log")
	if err := errors.Join(os.WriteFile(stub, []byte(kubectlStub), 0o755), os.WriteFile(filepath.Join(dir, "hub"), []byte("kind: Config\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	environment := []string{
		"KUBECTL=" + stub, "STUB_LOG=" + written, "KUBECONFIG=" + filepath.Join(dir, "management"), "EXTERNAL_HUB_KUBECONFIG=" + filepath.Join(dir, "hub"),
		"HUB_KUBECONFIG=" + filepath.Join(dir, "to-hub"), "HOSTED_CLUSTER_MANAGER_NAME=second-hub", "WEBHOOK_ADDRESS=192.0.2.7", "REGISTRATION_WEBHOOK_PORT=30500",
		"WORK_WEBHOOK_PORT=30501", "REGISTRATION_IMAGE=example/registration:1", "WORK_IMAGE=example/work:1", "PLACEMENT_IMAGE=example/placement:1", "ADDON_MANAGER_IMAGE=example/addons:1",
	}
	check := func(script string, wanted, unwanted []string) {
		t.Helper()
		if err := os.WriteFile(written, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := sh(t, dir, script, environment...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		text, err := os.ReadFile(written)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: nothing of %q in\n%s", script, want, text)
			}
		}
		for _, other := range unwanted {
			if strings.Contains(string(text), other) {
				t.Errorf("%s: %q is in\n%s", script, other, text)
			}
		}
	}
	check("deploy/dev/deploy.sh hub-hosted", []string{
		"kubectl create namespace second-hub\n", "kubectl -n second-hub create secret generic external-hub-kubeconfig", "  name: second-hub\n",
		"address: 192.0.2.7\n        port: 30500\n", "address: 192.0.2.7\n        port: 30501\n", "  registrationImagePullSpec: example/registration:1\n",
		"  workImagePullSpec: example/work:1\n", "  placementImagePullSpec: example/placement:1\n", "  addOnManagerImagePullSpec: example/addons:1\n",
	}, []string{"namespace cluster-manager\n", "\nmetadata:\n  name: cluster-manager\nspec:\n  deployOption"})
	if info, err := os.Stat(filepath.Join(dir, "to-hub")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the way to the hub: %v, %v", info, err)
	}
	check("deploy/dev/clean-deploy.sh hub-cr-hosted", []string{
		"kubectl delete clustermanagers second-hub ", "kubectl delete namespace second-hub ", "kubectl --kubeconfig " + filepath.Join(dir, "hub") + " delete managedclusters --all",
	}, []string{"clustermanagers cluster-manager", "namespace cluster-manager"})
	if _, err := os.Stat(filepath.Join(dir, "to-hub")); !os.IsNotExist(err) {
		t.Errorf("the way to the hub is still there: %v", err)
	}
}
