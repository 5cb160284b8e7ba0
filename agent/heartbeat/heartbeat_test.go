package heartbeat_test

import (
	"context"
	"testing"
	"time"

	"muster.dev/muster/agent/heartbeat"
	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

func start(t *testing.T) (*heartbeat.Heart, chan agentapi.Frame) {
	t.Helper()
	frames := make(chan agentapi.Frame, 100)
	h := heartbeat.New(func(f agentapi.Frame) { frames <- f })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h, frames
}

func next(t *testing.T, frames chan agentapi.Frame) agentapi.Frame {
	t.Helper()
	select {
	case f := <-frames:
		return f
	case <-time.After(time.Minute):
		t.Fatal("no frame")
		return nil
	}
}

func status(nodes int32) clusterv1alpha1.ClusterStatus {
	return clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3", NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: nodes}}
}

var welcome = &agentapi.Welcome{HeartbeatSeconds: 1, DeadlineSeconds: 3}

func TestStatusIsCompleteOnceASession(t *testing.T) {
	h, frames := start(t)
	h.Report(status(1)) // nobody to tell yet
	h.Begin(welcome)
	if f := next(t, frames).(*agentapi.Status); !f.Complete || f.NodeSummary.TotalNum != 1 {
		t.Errorf("got %+v", f)
	}
	h.Report(status(2))
	if f := next(t, frames).(*agentapi.Status); f.Complete || f.KubernetesVersion != nil || f.NodeSummary.TotalNum != 2 {
		t.Errorf("got %+v", f)
	}
	h.Report(status(2))
	h.Begin(welcome)
	if f := next(t, frames).(*agentapi.Status); !f.Complete || f.NodeSummary.TotalNum != 2 {
		t.Errorf("got %+v", f)
	}
}

func TestStatusThatComesAfterTheWelcome(t *testing.T) {
	h, frames := start(t)
	h.Begin(welcome)
	h.Report(status(1))
	for {
		if f, ok := next(t, frames).(*agentapi.Status); ok {
			if !f.Complete {
				t.Errorf("got %+v", f)
			}
			return
		}
	}
}

func TestBeatsAtTheHubsPace(t *testing.T) {
	h, frames := start(t)
	began := time.Now()
	h.Begin(welcome)
	for i := range 2 {
		if f := next(t, frames).(*agentapi.Beat); f.Sequence != uint64(i+1) {
			t.Errorf("got %+v", f)
		}
	}
	if took := time.Since(began); took < 2*time.Second || took >= 2*agentapi.Heartbeat {
		t.Errorf("two beats took %s: that is not the hub's pace", took)
	}
}
