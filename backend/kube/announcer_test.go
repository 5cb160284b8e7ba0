package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"muster.dev/muster/backend/kube"
)

func TestRoutineIsToldInMeasure(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(5000)
	announcer := kube.NewAnnouncer(recorder)
	for range 1000 {
		announcer.Routine(&corev1.Pod{}, nil, "SyncSucceed", "Sync", "all is well")
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
