package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// hole is a way to a member that can swallow everything: connections stay, new ones
// are accepted, and nobody answers.
type hole struct {
	net.Listener
	target string

	mu    sync.Mutex
	open  chan struct{} // closed while everything passes
	conns []net.Conn
}

func newHole(t *testing.T, target string) *hole {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{Listener: listener, target: target, open: make(chan struct{})}
	close(h.open)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() { h.serve(conn, &served) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // whatever it says, nobody listens any more
		h.release()
		h.mu.Lock()
		for _, conn := range h.conns {
			_ = conn.Close()
		}
		h.mu.Unlock()
		served.Wait()
	})
	return h
}

func (h *hole) serve(conn net.Conn, served *sync.WaitGroup) {
	defer conn.Close() //nolint:errcheck // it may be closed already
	<-h.gate()
	member, err := net.Dial("tcp", h.target)
	if err != nil {
		return
	}
	defer member.Close() //nolint:errcheck // it may be closed already
	h.mu.Lock()
	h.conns = append(h.conns, conn, member)
	h.mu.Unlock()
	served.Go(func() {
		h.pass(member, conn)
		_ = member.Close()
	})
	h.pass(conn, member)
}

func (h *hole) pass(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		<-h.gate()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (h *hole) gate() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// swallow has nothing pass from now on.
func (h *hole) swallow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = make(chan struct{})
}

// release lets everything pass again, what was swallowed first.
func (h *hole) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.open:
	default:
		close(h.open)
	}
}

// throughHole is a member's kubeconfig that leads through a hole.
func throughHole(t *testing.T, m *controlplanetest.Member) (*hole, string) {
	t.Helper()
	h := newHole(t, strings.TrimPrefix(m.Server, "https://"))
	text, err := os.ReadFile(m.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "through.kubeconfig")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), m.Server, "https://"+h.Addr().String())), 0o600); err != nil {
		t.Fatal(err)
	}
	return h, file
}

// TestFaultMemberSwallowsEverything: a push member that takes connections and never
// answers is named by its Cluster, by the Work and by the binding; the other members
// do not wait for it, and it gets what it missed once it answers again.
func TestFaultMemberSwallowsEverything(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	dark := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "dark"})
	hole, kubeconfig := throughHole(t, dark)
	mustRun(t, "muster", "join", "dark", "--kubeconfig", f.Kubeconfig, "--cluster-kubeconfig", kubeconfig)
	f.awaitReady(t, "dark", metav1.ConditionTrue)
	s := f.space(t, "holes")
	s.policy(t, "all", toBoth)
	s.configMap(t, "before", "n=0")
	s.awaitIn(t, "before", pushName, pullName)
	awaitDark := func(name string) {
		t.Helper()
		eventually(t, name+" in dark", func(context.Context) bool { return s.member(t, dark, name) != nil })
	}
	awaitDark("before")

	hole.swallow()
	s.configMap(t, "during", "n=1")
	s.awaitIn(t, "during", pushName, pullName)
	s.on(t, "patch", "configmap", "before", "--type=merge", "-p", `{"data":{"n":"2"}}`)
	for cluster, m := range s.members() {
		eventually(t, "the change in "+cluster, func(context.Context) bool { return s.member(t, m, "before").Data["n"] == "2" })
	}
	if lost := f.awaitLost(t, "dark"); lost.Reason != clusterv1alpha1.ReasonClusterNotReachable || !strings.Contains(lost.Message, "cannot be reached") {
		t.Errorf("the Cluster says: %+v", lost)
	}
	eventually(t, "the Work says that it is not applied, and why", func(ctx context.Context) bool {
		works, err := f.dynamic.Resource(worksResource).Namespace("karmada-es-dark").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		return slices.ContainsFunc(works.Items, func(work unstructured.Unstructured) bool {
			status, reason, message := condition(&work, "Applied")
			return work.GetAnnotations()["resourcebinding.karmada.io/name"] == "during-configmap" && status == "False" && reason == "AppliedFailed" && strings.Contains(message, "ConfigMap holes/during")
		})
	})
	s.awaitBinding(t, "during", "dark is missing, and why", func(o *unstructured.Unstructured) bool {
		status, _, message := condition(o, "FullyApplied")
		return status == "False" && containsAll(message, "2 of 3", "dark (")
	})
	var said workload
	must(t, admin(t, f.hub), http.MethodGet, "/api/v1/workloads/core/v1/ConfigMap/holes/during", nil, &said)
	if text := fmt.Sprint(said.Facts); !strings.Contains(text, "member.not-ready") || !strings.Contains(text, "dark is not ready") {
		t.Errorf("REST says: %+v", said)
	}
	s.configMap(t, "later", "n=3")
	s.awaitIn(t, "later", pushName, pullName)

	hole.release()
	f.awaitReady(t, "dark", metav1.ConditionTrue)
	awaitDark("during")
	eventually(t, "the change in dark", func(context.Context) bool { return s.member(t, dark, "before").Data["n"] == "2" })
	awaitDark("later")
	s.awaitBinding(t, "during", "everywhere", func(o *unstructured.Unstructured) bool {
		status, _, _ := condition(o, "FullyApplied")
		return status == "True"
	})
}

// awaitLost waits until a cluster is not ready, and returns what it says then.
func (h *hub) awaitLost(t *testing.T, name string) metav1.Condition {
	t.Helper()
	var ready *metav1.Condition
	eventually(t, "cluster "+name+" is not ready", func(context.Context) bool {
		ready = meta.FindStatusCondition(h.cluster(t, name).Status.Conditions, clusterv1alpha1.ClusterConditionReady)
		return ready != nil && ready.Status != metav1.ConditionTrue
	})
	return *ready
}
