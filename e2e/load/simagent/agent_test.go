package main

import (
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/agent/tunnel"
	"muster.dev/muster/backend/agentapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// loneAgent is an agent without a link: what it sends is kept until confirmed.
func loneAgent(t *testing.T) *agent {
	t.Helper()
	f := newFleet(options{kubernetes: "v1.36.3", ramp: 1}, slog.New(slog.DiscardHandler))
	a := newAgent(f, "sim-1")
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	var err error
	a.link, err = tunnel.New(tunnel.Options{
		Server: server.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), Handler: a,
		Certificate: func() (*tls.Certificate, error) { return &tls.Certificate{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	f.agents = []*agent{a}
	f.ramp.Expect()
	f.ramp.Enter(t.Context())
	return a
}

func delivery(t *testing.T, name, manifest string) *agentapi.Work {
	t.Helper()
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 2}}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
	f, err := agentapi.NewWork(work, 7)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"default","name":"web"},"spec":{"replicas":3}}`

func welcome(resumed bool) *agentapi.Welcome {
	return &agentapi.Welcome{Protocol: 1, Cluster: "sim-1", ClusterUID: "c", Epoch: "e", Resumed: resumed, HeartbeatSeconds: 5, DeadlineSeconds: 15}
}

func TestWorksAreAcknowledgedAtOnce(t *testing.T) {
	t.Parallel()
	a := loneAgent(t)
	a.Welcome(welcome(false))
	if err := a.Frame(delivery(t, "web", deployment)); err != nil {
		t.Fatal(err)
	}
	if len(a.pending) != 1 {
		t.Fatalf("%d acks", len(a.pending))
	}
	ack := a.pending[0]
	if _, err := agentapi.Encode(ack); err != nil {
		t.Fatal(err)
	}
	applied := meta.FindStatusCondition(ack.Conditions, workv1alpha1.WorkApplied)
	if applied == nil || applied.Status != metav1.ConditionTrue || applied.ObservedGeneration != 2 {
		t.Errorf("Applied is %+v", applied)
	}
	if s := ack.ManifestStatuses; len(s) != 1 || s[0].Health != workv1alpha1.ResourceHealthy || s[0].Status == nil {
		t.Errorf("manifest statuses are %+v", s)
	}
	if err := a.Frame(&agentapi.Confirmed{Sequence: ack.Sequence}); err != nil || len(a.pending) != 0 {
		t.Errorf("%d acks after their confirmation, %v", len(a.pending), err)
	}
	if counts := a.fleet.report().Counts; counts["applied"] != 1 || counts["acks"] != 1 || counts["works"] != 1 || counts["connected"] != 1 {
		t.Errorf("counted %v", counts)
	}
}

func TestSessionsResume(t *testing.T) {
	t.Parallel()
	a := loneAgent(t)
	a.Welcome(welcome(false))
	if a.Hello().Resume != nil {
		t.Error("resumes before anything was synced")
	}
	web := delivery(t, "web", deployment)
	for _, f := range []agentapi.Frame{web, &agentapi.Synced{Revision: 9}} {
		if err := a.Frame(f); err != nil {
			t.Fatal(err)
		}
	}
	if r := a.Hello().Resume; r == nil || r.Revision != 9 || r.Epoch != "e" {
		t.Errorf("resumes at %+v", r)
	}
	a.Welcome(welcome(true))
	if err := a.Frame(&agentapi.Synced{Revision: 10, Digest: agentapi.Digest([]types.UID{web.UID})}); err != nil {
		t.Errorf("the same works: %v", err)
	}
	if err := a.Frame(&agentapi.Synced{Revision: 11, Digest: agentapi.Digest([]types.UID{"other"})}); err == nil || a.Hello().Resume != nil {
		t.Errorf("other works: %v, resumes at %+v", err, a.Hello().Resume)
	}
	a.Welcome(welcome(false)) // all that the hub has follows: nothing
	if err := a.Frame(&agentapi.Synced{Revision: 12}); err != nil {
		t.Fatal(err)
	}
	if works, _ := a.state(); works != 0 {
		t.Errorf("%d works are left", works)
	}
}
