package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// TestReadme types what the README says of joining and of sending something there, in
// a directory like the repository's.
func TestReadme(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	kube, err := controlplanetest.Binary("kube")
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	links := map[string]string{"bin": filepath.Dir(kube), ".muster": h.DataDir}
	ctx, stop := context.WithCancel(t.Context())
	var kubelets sync.WaitGroup
	defer kubelets.Wait()
	defer stop()
	members := map[string]*controlplanetest.Member{}
	for _, name := range []string{"edge-1", "edge-2"} {
		m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: name})
		members[name], links[name+".kubeconfig"] = m, m.Kubeconfig
		kubelets.Go(func() { keepPodsRunning(ctx, m) })
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(here, name)); err != nil {
			t.Fatal(err)
		}
	}
	said := map[string]string{}
	for _, b := range boxes(t, "README.md") {
		for _, words := range []string{"bin/muster join edge-1 ", "bin/muster-agent register ", "create deployment nginx "} {
			if strings.Contains(b.text, words) {
				said[words] = b.text
			}
		}
	}
	if len(said) != 3 {
		t.Fatalf("the README has %d of the three boxes", len(said))
	}
	typed := func(text string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-ec", "kubectl() { bin/kube kubectl \"$@\"; }\n"+text)
		cmd.Dir = here
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v: %s", text, err, out)
		}
		return string(out)
	}
	typed(said["bin/muster join edge-1 "])
	h.awaitReady(t, "edge-1", metav1.ConditionTrue)

	// The second line is what the first prints, with the member's kubeconfig.
	printing, _, _ := strings.Cut(said["bin/muster-agent register "], "\n")
	fields := strings.Fields(strings.ReplaceAll(typed(printing), "\\\n", " "))
	if len(fields) < 3 || filepath.Base(fields[0]) != "muster-agent" || fields[1] != "register" || !containsAll(strings.Join(fields, " "), h.Address, "--token ", "--discovery-token-ca-cert-hash sha256:") {
		t.Fatalf("%s prints %q", printing, fields)
	}
	startProgram(t, fields[1], append(fields[2:], "--cluster-name", "edge-2", "--kubeconfig", members["edge-2"].Kubeconfig, "--run")...)
	h.awaitReady(t, "edge-2", metav1.ConditionTrue)

	text := strings.TrimSpace(said["create deployment nginx "])
	typed(text)
	last := text[strings.LastIndex(text, "\n")+1:]
	command, comment, _ := strings.Cut(last, "#")
	want, _, _ := strings.Cut(strings.TrimSpace(comment), ":")
	if want != "2/1" {
		t.Errorf("the README shows %q", want)
	}
	eventually(t, last, func(context.Context) bool { return strings.Contains(typed(command), want) })
}
