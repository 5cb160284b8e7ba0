package e2e_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

func TestFaultHubKilled(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east"})
	mustJoin(t, h, "east", m)
	root := admin(t, h)
	token := createToken(t, h)
	before, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	east := h.cluster(t, "east")

	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready %.2f s after kill -9 and start", h.ServingAfter.Seconds())
	h.connect(t)
	after, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.CAData, after.CAData) {
		t.Error("the hub came back with another certificate authority")
	}
	if got := h.cluster(t, "east"); got == nil || got.UID != east.UID {
		t.Errorf("the cluster after the restart is %+v", got)
	}
	h.awaitReady(t, "east", metav1.ConditionTrue)
	bootstrap(t, h, token, "north-abcde", "system:karmada:agent:north")
	// The session is in the database, not in memory.
	must(t, root, "GET", "/api/v1/session", nil, nil)
	if strings.Contains(h.Output()[strings.LastIndex(h.Output(), "Dashboard"):], "one time") {
		t.Error("a restart printed a one-time password again")
	}
}

func TestFaultHubKilledMidJoin(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east"})
	before := objects(t, m)

	// Kill the hub as soon as the join has written its first object there.
	done := make(chan result, 1)
	go func() { done <- join(t, h, "east", m) }()
	eventually(t, "the join's first object on the hub", func(ctx context.Context) bool {
		secrets, err := h.client.CoreV1().Secrets("karmada-cluster").List(ctx, metav1.ListOptions{})
		return err == nil && len(secrets.Items) > 0
	})
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	t.Logf("the join under way ended with status %d", r.code)

	// The same command again mends it, as soon as the member has let go of what
	// the broken join took back, and leaving leaves nothing.
	if h.cluster(t, "east") == nil {
		eventually(t, "the same join to succeed", func(context.Context) bool {
			r = join(t, h, "east", m)
			return r.code == 0
		})
	}
	h.awaitReady(t, "east", metav1.ConditionTrue)
	mustRun(t, "muster", "unjoin", "east", "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig)
	h.awaitGone(t, "east")
	awaitSecretsGone(t, h, "east")
	awaitObjects(t, m, before)
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	address, err := controlplanetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, "muster", "serve", "--data-dir", h.DataDir, "--listen", address, "--dashboard-listen", "127.0.0.1:0")
	if r.code == 0 || !strings.Contains(r.stderr, h.DataDir) || !strings.Contains(r.stderr, "in use") {
		t.Errorf("a second hub on the same directory: status %d\n%s", r.code, r.stderr)
	}
	if _, err := h.client.Discovery().ServerVersion(); err != nil {
		t.Errorf("the first hub suffered: %v", err)
	}
}

// A hub ends with a clear error, and at once, when a port is taken.
func TestTakenPortIsRefused(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := controlplanetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	for flag, args := range map[string][]string{
		"--listen":           {"--listen", taken.Addr().String(), "--dashboard-listen", free},
		"--dashboard-listen": {"--dashboard-listen", taken.Addr().String(), "--listen", free},
	} {
		r := run(t, "muster", append([]string{"serve", "--data-dir", t.TempDir() + "/hub"}, args...)...)
		if r.code == 0 || !strings.Contains(r.stderr, flag) || !strings.Contains(r.stderr, taken.Addr().String()) || !strings.Contains(r.stderr, "in use") {
			t.Errorf("a hub with %s taken: status %d\n%s", flag, r.code, r.stderr)
		}
	}
}

// A hub that is told to stop while it starts does so, however far it has come.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	free := func() string {
		address, err := controlplanetest.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	for _, phase := range []string{"database migrated", "control plane ready", "hub serving"} {
		dir := t.TempDir() + "/hub"
		hub := startProcess(t, "muster", "hub", "serve", "--data-dir", dir, "--listen", free(), "--dashboard-listen", free(), "--log-level", "debug")
		eventually(t, phase, func(context.Context) bool { return strings.Contains(hub.Output(), phase) })
		if err := hub.Stop(); err != nil {
			t.Errorf("after %q: %v", phase, err)
		}
		if err := hub.Err(); err != nil {
			t.Errorf("after %q the hub ended with %v", phase, err)
		}
	}
}

func TestInitThenServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/hub"
	listen, err := controlplanetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, "muster", "init", "--data-dir", dir, "--listen", listen, "--dashboard-listen", "127.0.0.1:0").stdout
	for _, part := range []string{"Password", "Push", "Pull", "register", "--token", "--discovery-token-ca-cert-hash"} {
		if !strings.Contains(out, part) {
			t.Errorf("init does not print %q:\n%s", part, out)
		}
	}
	printed := mustRun(t, "muster", "kubeconfig", "--data-dir", dir).stdout
	if !strings.Contains(printed, "karmada-apiserver") || !strings.Contains(printed, listen) {
		t.Error("muster kubeconfig prints no kubeconfig of this hub")
	}
	h := &hub{Hub: controlplanetest.StartHub(t, controlplanetest.HubOptions{DataDir: dir, Listen: listen})}
	h.connect(t)
	if h.Password != "" {
		t.Error("serve made a second first administrator")
	}
	if token := tokenRE.FindString(out); token == "" {
		t.Error("init printed no token")
	} else {
		bootstrap(t, h, token, "first-abcde", "system:karmada:agent:first")
	}
}

// TestHubStopsWhileWatched: whoever watches does not hold up a stop.
func TestHubStopsWhileWatched(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	watch, err := h.client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	<-watch.ResultChan()             // it stands
	if err := h.Stop(); err != nil { // in time
		t.Fatal(err)
	}
}
