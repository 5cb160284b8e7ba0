package kube

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

func TestEventsWaitForWhatTheyTellAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := events.NewFakeRecorder(10)
		recorder := &unhurriedRecorder{scheme: Scheme(), later: &later{}, told: sink}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
		state := []string{"applied"}
		recorder.Eventf(pod, nil, corev1.EventTypeNormal, "Sync", "Sync", "the object is %s", state)
		recorder.Eventf(pod, nil, corev1.EventTypeWarning, "SyncFailed", "Sync", "100%% refused")
		state[0], pod.Name = "changed since", "another"

		<-time.After(eventDelay / 2) // the clock of the test
		synctest.Wait()
		if len(sink.Events) != 0 {
			t.Fatalf("told at once: %s", <-sink.Events)
		}
		<-time.After(eventDelay)
		synctest.Wait()
		for _, want := range []string{"Normal Sync the object is [applied]", "Warning SyncFailed 100% refused"} {
			select {
			case got := <-sink.Events:
				if got != want {
					t.Errorf("told %q, want %q", got, want)
				}
			default:
				t.Errorf("%q was not told", want)
			}
		}
	})
}

func TestEventsKeepWhatTheyAreAbout(t *testing.T) {
	recorder := &unhurriedRecorder{scheme: Scheme()}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	kept := recorder.snapshot(pod)
	pod.Name = "another"
	reference, ok := kept.(*corev1.ObjectReference)
	if !ok || reference.Kind != "Pod" || reference.APIVersion != "v1" || reference.Name != "web" || reference.UID != "1" {
		t.Errorf("kept %#v", kept)
	}
	if recorder.snapshot(nil) != nil {
		t.Error("nothing became something")
	}
}
