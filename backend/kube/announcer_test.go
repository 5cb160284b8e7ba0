package kube_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"muster.dev/muster/backend/kube"
)

func TestRoutineIsToldInMeasure(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(5000)
	announcer, other := kube.NewAnnouncer(recorder), kube.NewAnnouncer(recorder)
	for i := range 500 { // the measure is one for all
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i)}}
		announcer.Routine(pod, nil, "SyncSucceed", "Sync", "all is well")
		other.Routine(pod, nil, "SyncSucceed", "Sync", "all is well")
	}
	if told := len(recorder.Events); told < 10 || told > 200 {
		t.Errorf("of 1000 routine events %d were told", told)
	}
	before := len(recorder.Events)
	for range 1000 {
		announcer.Eventf(&corev1.Pod{}, nil, corev1.EventTypeWarning, "SyncFailed", "Sync", "trouble")
	}
	if told := len(recorder.Events) - before; told != 1000 {
		t.Errorf("of 1000 troubles %d were told", told)
	}
}

// sink takes Events as an API does.
type sink chan string

func (s sink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s <- event.Note
	return event, nil
}

func (s sink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}

func (s sink) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return event, nil
}

func TestTellKeepsNotes(t *testing.T) {
	t.Parallel()
	notes := make(sink, 10)
	broadcaster := events.NewBroadcaster(notes)
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, "test")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "1"}}
	for _, note := range []string{"m1: refused", "m2: refused", "m1: refused"} {
		kube.Tell(recorder, pod, corev1.EventTypeWarning, "SyncFailed", "Sync", note)
	}
	told := map[string]int{}
	for range 2 {
		select {
		case note := <-notes:
			told[note]++
		case <-time.After(time.Minute):
			t.Fatalf("only %v was told", told)
		}
	}
	if len(told) != 2 {
		t.Errorf("%v", told)
	}
}
