package apply_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/agent/apply"
	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/backend/agentapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// bench is a worker with its member, and the acks it sends.
type bench struct {
	*testing.T
	member *membertest.Server
	worker *apply.Worker
	acks   chan *agentapi.Ack
}

func startWorker(t *testing.T) *bench {
	t.Helper()
	return startWorkerOf(t, membertest.New(t))
}

func startWorkerOf(t *testing.T, member *membertest.Server) *bench {
	t.Helper()
	b := &bench{T: t, member: member, acks: make(chan *agentapi.Ack, 100)}
	a, err := apply.New(b.member.Config())
	if err != nil {
		t.Fatal(err)
	}
	b.worker = apply.NewWorker(a, slog.New(slog.NewTextHandler(io.Discard, nil)), func(ack *agentapi.Ack) { b.acks <- ack })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.worker.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) begin(resumed bool) {
	b.worker.Begin(&agentapi.Welcome{Protocol: 1, Cluster: "edge-7", Epoch: "e1", Resumed: resumed, HeartbeatSeconds: 1, DeadlineSeconds: 2})
}

func (b *bench) deliver(w *workv1alpha1.Work, revision uint64) {
	b.Helper()
	f, err := agentapi.NewWork(w, revision)
	if err != nil {
		b.Fatal(err)
	}
	if err := b.worker.Deliver(f); err != nil {
		b.Fatal(err)
	}
}

// await returns the next ack that satisfies a condition.
func (b *bench) await(what string, ok func(*agentapi.Ack) bool) *agentapi.Ack {
	b.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case ack := <-b.acks:
			if ok(ack) {
				return ack
			}
		case <-deadline:
			b.Fatalf("no ack: %s", what)
		}
	}
}

func (b *bench) eventually(what string, ok func() bool) {
	b.Helper()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-deadline:
			b.Fatalf("did not happen: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func applied(ack *agentapi.Ack) bool { return meta.IsStatusConditionTrue(ack.Conditions, "Applied") }

func (b *bench) noAck() {
	b.Helper()
	select {
	case ack := <-b.acks:
		b.Errorf("unexpected ack %+v", ack)
	case <-time.After(200 * time.Millisecond):
	}
}

func TestWorkerDeliversAndFollows(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "web", web), 7)
	ack := b.await("applied", applied)
	if ack.Revision != 7 || ack.Name != "web" || ack.UID != "uid-of-web" || ack.Sequence == 0 {
		t.Errorf("ack %+v", ack)
	}
	if !b.worker.Synced(&agentapi.Synced{Revision: 7}) || *b.worker.Resume() != (agentapi.Resume{Epoch: "e1", Revision: 7}) {
		t.Errorf("resume %+v", b.worker.Resume())
	}

	o := b.member.Get("Deployment", "default", "web")
	_ = unstructured.SetNestedMap(o.Object, map[string]any{"observedGeneration": int64(1), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2)}, "status")
	b.member.Put(o)
	b.await("healthy", func(a *agentapi.Ack) bool { return a.ManifestStatuses[0].Health == workv1alpha1.ResourceHealthy })

	b.member.Remove("Deployment", "default", "web") // drift
	b.await("made again", func(a *agentapi.Ack) bool {
		return a.ManifestStatuses[0].Health == workv1alpha1.ResourceUnhealthy && b.member.Get("Deployment", "default", "web") != nil
	})

	gone := work(t, "web", web)
	now := metav1.Now()
	gone.DeletionTimestamp = &now
	b.deliver(gone, 9)
	ack = b.await("removed", func(a *agentapi.Ack) bool { return a.Removed })
	if b.member.Get("Deployment", "default", "web") != nil {
		t.Error("acked before it was removed")
	}
	b.worker.Confirmed(&agentapi.Confirmed{Sequence: ack.Sequence})
	if got := b.worker.String(); got != "0 works, 0 unconfirmed acks" {
		t.Error(got)
	}
}

// TestWorkerSendsUnconfirmedAgain: a broken link loses no ack, a confirmed one is
// not repeated.
func TestWorkerSendsUnconfirmedAgain(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "a", shop), 7)
	first := b.await("a", applied)
	b.worker.Confirmed(&agentapi.Confirmed{Sequence: first.Sequence})
	b.deliver(work(t, "b", `{apiVersion: v1, kind: Namespace, metadata: {name: other}}`), 8)
	second := b.await("b", applied)
	b.worker.Synced(&agentapi.Synced{Revision: 8})

	b.worker.Close()
	b.begin(true)
	again := b.await("b again", func(*agentapi.Ack) bool { return true })
	if again.Name != "b" || again.Sequence != second.Sequence {
		t.Errorf("sent again: %+v", again)
	}
	b.noAck()
	want := agentapi.Digest([]types.UID{"uid-of-a", "uid-of-b"})
	if !b.worker.Synced(&agentapi.Synced{Revision: 9, Digest: want}) {
		t.Error("the digest does not match")
	}
	if b.worker.Synced(&agentapi.Synced{Revision: 9, Digest: agentapi.Digest([]types.UID{"uid-of-a"})}) || b.worker.Resume() != nil {
		t.Error("a hub with other Works passes for the same")
	}
}

// TestWorkerDigestWhileRemovalIsUnconfirmed: the hub may or may not have heard.
func TestWorkerDigestWhileRemovalIsUnconfirmed(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "a", shop), 7)
	b.await("a", applied)
	gone := work(t, "a", shop)
	now := metav1.Now()
	gone.DeletionTimestamp = &now
	b.deliver(gone, 8)
	b.await("removed", func(a *agentapi.Ack) bool { return a.Removed })
	for _, hub := range [][]types.UID{nil, {"uid-of-a"}} {
		if !b.worker.Synced(&agentapi.Synced{Revision: 8, Digest: agentapi.Digest(hub)}) {
			t.Errorf("hub with %v passes for another", hub)
		}
	}
}

// TestWorkerForgetsWhatAFullSyncLacks: the object stays, nobody mends it.
func TestWorkerForgetsWhatAFullSyncLacks(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "a", shop), 7)
	b.deliver(work(t, "b", `{apiVersion: v1, kind: Namespace, metadata: {name: other}}`), 7)
	b.await("one", applied)
	b.await("other", applied)
	b.worker.Synced(&agentapi.Synced{Revision: 7})
	b.begin(false)
	if b.worker.Resume() != nil {
		t.Error("resumes in the middle of a full sync")
	}
	b.deliver(work(t, "b", `{apiVersion: v1, kind: Namespace, metadata: {name: other}}`), 9)
	b.worker.Synced(&agentapi.Synced{Revision: 9})
	if b.worker.String()[:7] != "1 works" {
		t.Error(b.worker.String())
	}
	if b.member.Get("Namespace", "", "shop") == nil {
		t.Error("forgetting deleted the object")
	}
	if err := b.worker.Deliver(&agentapi.Work{Op: agentapi.OpForget, Name: "b", UID: "another"}); err != nil || b.worker.String()[:7] != "1 works" {
		t.Error("forgot another Work of the name", err)
	}
	if err := b.worker.Deliver(&agentapi.Work{Op: agentapi.OpForget, Name: "b", UID: "uid-of-b"}); err != nil || b.worker.String()[:7] != "0 works" {
		t.Error(b.worker.String(), err)
	}
}

// TestWorkerWritesNothingWhileClosed: a fenced agent leaves the member alone.
func TestWorkerWritesNothingWhileClosed(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "web", web), 7)
	b.await("applied", applied)
	b.worker.Close()
	b.deliver(work(t, "web", web), 7)
	b.eventually("what was under way has ended", func() bool { return b.worker.Parked("web") })
	b.member.Writes()
	b.member.Remove("Deployment", "default", "web")
	b.deliver(work(t, "a", shop), 8)
	b.noAck()
	if got := b.member.Writes(); len(got) > 0 {
		t.Errorf("wrote %v", got)
	}
	b.begin(true)
	b.await("a", func(a *agentapi.Ack) bool { return a.Name == "a" && applied(a) })
	if b.member.Get("Namespace", "", "shop") == nil {
		t.Error("not applied after the link was back")
	}
}

func TestWorkerReportsFailureAndTriesAgain(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "settings", settings), 7)
	b.await("failed", func(a *agentapi.Ack) bool { return meta.IsStatusConditionFalse(a.Conditions, "Applied") })
	b.deliver(work(t, "shop", shop), 8)
	b.await("applied after its namespace", func(a *agentapi.Ack) bool { return a.Name == "settings" && applied(a) })
}

func TestWorkerTellsWhyARemovalWaits(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "shop", shop), 7)
	b.await("applied", applied)
	refuse := make(chan struct{})
	b.member.Refuse(func(r *http.Request) int {
		select {
		case <-refuse:
			return 0
		default:
			return map[bool]int{true: http.StatusInternalServerError}[r.Method == http.MethodDelete]
		}
	})
	gone := work(t, "shop", shop)
	now := metav1.Now()
	gone.DeletionTimestamp = &now
	b.deliver(gone, 8)
	ack := b.await("why", func(a *agentapi.Ack) bool { return a.Revision == 8 })
	if ack.Removed || !meta.IsStatusConditionFalse(ack.Conditions, "Applied") {
		t.Errorf("ack %+v", ack)
	}
	close(refuse)
	b.await("removed", func(a *agentapi.Ack) bool { return a.Removed })
}
