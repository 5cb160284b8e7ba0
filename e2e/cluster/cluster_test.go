package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/cluster"
)

// bin is the folder that cluster-setup.sh filled.
func bin() string {
	kube, err := controlplanetest.Binary("kube")
	if err != nil {
		return ""
	}
	return filepath.Dir(kube)
}

// TestMain is also the program that TestKilledCallerLeavesNothing kills.
func TestMain(m *testing.M) {
	if os.Getenv("MUSTER_LAB_VICTIM") == "" {
		os.Exit(m.Run())
	}
	lab, err := cluster.New(cluster.Options{Bin: bin()})
	if err == nil {
		var c *cluster.Cluster
		if c, err = lab.Start(context.Background(), "victim", cluster.ClusterOptions{}); err == nil {
			fmt.Println(c.PID(), c.Kubeconfig())
			select {}
		}
	}
	fmt.Println("failed:", err)
	os.Exit(1)
}

func newLab(t *testing.T) *cluster.Lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("real clusters need root")
	}
	lab, err := cluster.New(cluster.Options{Bin: bin()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
		if left := traces(); len(left) > 0 {
			t.Error("left behind:", left)
		}
	})
	return lab
}

// traces lists what labs of this process have left on the machine.
func traces() (found []string) {
	own := fmt.Sprintf("muster-lab-%d-*", os.Getpid())
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", os.TempDir()} {
		matches, _ := filepath.Glob(filepath.Join(dir, own))
		found = append(found, matches...)
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	return append(found, regexp.MustCompile(`\S*muster-lab-\S*`).FindAllString(string(mounts), -1)...)
}

func startAll(t *testing.T, lab *cluster.Lab, options map[string]cluster.ClusterOptions) map[string]*cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	clusters := map[string]*cluster.Cluster{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, o := range options {
		all.Go(func() {
			c, err := lab.Start(ctx, name, o)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			clusters[name] = c
			mu.Unlock()
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return clusters
}

func kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := c.Kubectl(ctx, nil, args...)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return out
}

// deploy runs the example workload and returns the name of one of its pods.
func deploy(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	if err := c.LoadImage(t.Context(), filepath.Join(bin(), "web.tar")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), strings.NewReader(cluster.ExampleManifest), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "wait", "deployment/web", "--for=condition=Available", "--timeout=100s")
	return strings.TrimSpace(kubectl(t, c, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}"))
}

func want(t *testing.T, what, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("%s: want %q in %q", what, part, got)
	}
}

func TestThreeClustersAndAHub(t *testing.T) {
	lab := newLab(t)
	hub := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "this is the hub") }))
	defer hub.Close()
	hubAddress, err := lab.Expose(8443, hub.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	clusters := startAll(t, lab, map[string]cluster.ClusterOptions{"plain": {}, "other": {}, "hidden": {NAT: true}})
	plain, other, hidden := clusters["plain"], clusters["other"], clusters["hidden"]
	pods := map[string]string{}
	for name, c := range clusters {
		pods[name] = deploy(t, c)
	}

	for name, c := range clusters {
		pod := pods[name]
		t.Run(name, func(t *testing.T) {
			want(t, "version", kubectl(t, c, "get", "nodes"), "v1.36")
			want(t, "logs", kubectl(t, c, "logs", pod), "listening on :8080")
			want(t, "service account", kubectl(t, c, "exec", pod, "--", "/web", "whoami"), "system:serviceaccount:default:default")
			ip := kubectl(t, c, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
			for range 6 { // both pods answer, the one that asks too
				want(t, "service", kubectl(t, c, "exec", pod, "--", "/web", "get", "http://"+ip), "hello from web-")
			}
			want(t, "pod to hub", kubectl(t, c, "exec", pod, "--", "/web", "get", "https://"+hubAddress), "this is the hub")
			want(t, "port-forward", throughPortForward(t, c, pod), "hello from "+pod)
		})
	}

	t.Run("between clusters", func(t *testing.T) {
		version := func(of *cluster.Cluster) (string, error) {
			return other.Kubectl(t.Context(), nil, "exec", pods["other"], "--", "/web", "get", "https://"+of.IP+":6443/version")
		}
		if got, err := version(plain); err != nil || !strings.Contains(got, "v1.36") {
			t.Errorf("pod to another cluster's API server: %q, %v", got, err)
		}
		if got, err := version(hidden); err == nil {
			t.Errorf("pod reached a cluster behind NAT: %q", got)
		}
		if conn, err := lab.DialContext(t.Context(), "tcp", plain.IP+":6443"); err != nil {
			t.Error("hub to a member's API server:", err)
		} else {
			conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := lab.DialContext(ctx, "tcp", hidden.IP+":6443"); err == nil {
			t.Error("hub reached a cluster behind NAT")
		}
	})

	t.Run("an operator on the member", func(t *testing.T) {
		var out strings.Builder
		run := func(start func(*exec.Cmd) error, program string, args ...string) string {
			cmd := exec.Command(filepath.Join(bin(), program), args...)
			out.Reset()
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := start(cmd); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			return out.String()
		}
		want(t, "hub", run(hidden.StartInside, "web", "get", "https://"+hubAddress), "this is the hub")
		want(t, "own API", run(hidden.StartInside, "kube", "kubectl", "--kubeconfig", hidden.WANKubeconfig(), "get", "nodes"), "hidden")
		want(t, "member from the hub", run(lab.StartInside, "kube", "kubectl", "--kubeconfig", plain.WANKubeconfig(), "get", "nodes"), "plain")
	})

	t.Run("a pulled cable", func(t *testing.T) {
		toHub := []string{"exec", pods["plain"], "--", "/web", "get", "https://" + hubAddress}
		if err := plain.Disconnect(); err != nil {
			t.Fatal(err)
		}
		if got, err := plain.Kubectl(t.Context(), nil, toHub...); err == nil {
			t.Errorf("pod reached the hub through a pulled cable: %q", got)
		}
		want(t, "cluster itself", kubectl(t, plain, "exec", pods["plain"], "--", "/web", "whoami"), "system:serviceaccount")
		if err := plain.Reconnect(); err != nil {
			t.Fatal(err)
		}
		want(t, "pod to hub", kubectl(t, plain, toHub...), "this is the hub")
	})

	t.Run("a killed API server comes back", func(t *testing.T) {
		before := kubectl(t, plain, "get", "pods", "-o", "name")
		if err := plain.Signal("apiserver", syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for { // wait until it is gone
			if _, err := plain.Kubectl(t.Context(), nil, "get", "--raw", "/livez"); err != nil {
				break
			}
		}
		deadline := time.Now().Add(3 * time.Minute)
		for {
			if after, err := plain.Kubectl(t.Context(), nil, "get", "pods", "-o", "name"); err == nil {
				if after != before {
					t.Errorf("pods changed from %q to %q", before, after)
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("API server did not come back")
			}
			<-time.After(100 * time.Millisecond)
		}
	})

	t.Run("one stops, the others go on", func(t *testing.T) {
		if err := hidden.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := hidden.Kubectl(t.Context(), nil, "get", "nodes"); err == nil {
			t.Error("stopped cluster still answers")
		}
		want(t, "plain", kubectl(t, plain, "get", "nodes"), "Ready")
	})
}

// throughPortForward asks a pod's port 8080 by kubectl port-forward.
func throughPortForward(t *testing.T, c *cluster.Cluster, pod string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin(), "kube"), "kubectl", "--kubeconfig", c.Kubeconfig(), "port-forward", pod, ":8080", "--address=127.0.0.1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n') // "Forwarding from 127.0.0.1:NNNNN -> 8080"
	if err != nil {
		t.Fatal("port-forward:", err)
	}
	address := strings.Fields(strings.TrimPrefix(line, "Forwarding from "))[0]
	resp, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

func TestFailedStartSaysWhy(t *testing.T) {
	t.Run("too slow", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := newLab(t).Start(ctx, "slow", cluster.ClusterOptions{})
		want(t, "error", fmt.Sprint(err), "start cluster slow: wait for the API server: context deadline exceeded\nend of ")
	})
	t.Run("a file is missing", func(t *testing.T) {
		incomplete := t.TempDir()
		if err := os.Symlink(filepath.Join(bin(), "kube"), filepath.Join(incomplete, "kube")); err != nil {
			t.Fatal(err)
		}
		lab, err := cluster.New(cluster.Options{Bin: incomplete})
		if err != nil {
			t.Fatal(err)
		}
		defer lab.Close()
		_, err = lab.Start(t.Context(), "broken", cluster.ClusterOptions{})
		want(t, "error", fmt.Sprint(err), "load image pause.tar\nend of load-images.log:")
		want(t, "error", fmt.Sprint(err), "no such file")
	})
	t.Run("bad name", func(t *testing.T) {
		_, err := newLab(t).Start(t.Context(), "Not_A_Name", cluster.ClusterOptions{})
		want(t, "error", fmt.Sprint(err), "not a DNS label")
	})
}

func TestKilledCallerLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("real clusters need root")
	}
	victim := exec.Command("/proc/self/exe")
	victim.Env = append(os.Environ(), "MUSTER_LAB_VICTIM=1")
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var kubeconfig string
	if _, err := fmt.Fscan(out, &pid, &kubeconfig); err != nil {
		t.Fatal("victim did not start a cluster:", err)
	}
	victim.Process.Kill()
	victim.Wait()

	for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster outlived its caller")
		}
	}
	newLab(t) // sweeps
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Error("state folder left:", err)
	}
	left, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/muster-lab-%d-*", victim.Process.Pid))
	if len(left) > 0 {
		t.Error("cgroups left:", left)
	}
}
