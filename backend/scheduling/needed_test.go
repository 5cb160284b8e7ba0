package scheduling_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/scheduling"
)

// scheduled is a binding whose present placement was scheduled at noon.
func scheduled(spec *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ResourceBinding {
	noon := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{policyv1alpha1.AppliedPlacementAnnotation: scheduling.AppliedPlacement(spec.Placement)}},
		Spec:       *spec, Status: workv1alpha2.ResourceBindingStatus{LastScheduledTime: &noon},
	}
}

// TestNeeded is contract section 9.1.
func TestNeeded(t *testing.T) {
	s := snapshot(cluster("a"), cluster("b"), cluster("z", terminating))
	split := &policyv1alpha1.Placement{ReplicaScheduling: static()}
	everywhere := &policyv1alpha1.Placement{}
	settled := func() *workv1alpha2.ResourceBinding {
		return scheduled(deployment(3, split, target("a", 2), target("b", 1)))
	}
	terms := func(first string) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ReplicaScheduling: static(), ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
			{AffinityName: "one", ClusterAffinity: *names(first)}, {AffinityName: "two", ClusterAffinity: *names("b")},
		}}
	}
	for name, row := range map[string]struct {
		binding *workv1alpha2.ResourceBinding
		change  func(*workv1alpha2.ResourceBinding)
		why     string
		fresh   bool
	}{
		"settled":             {binding: settled()},
		"never placed":        {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) { b.Annotations = nil }, why: "the placement changed"},
		"not the scheduler's": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) { b.Annotations[policyv1alpha1.AppliedPlacementAnnotation] = "{" }, why: "the placement changed"},
		"another placement": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: names("a"), ReplicaScheduling: static()}
		}, why: "the placement changed"},
		"other workload groups": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: static(), WorkloadAffinity: &policyv1alpha1.WorkloadAffinity{}}
		}},
		"same placement, other text": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) {
			b.Annotations[policyv1alpha1.AppliedPlacementAnnotation] = `{"replicaScheduling": {"replicaDivisionPreference":"Weighted","replicaSchedulingType":"Divided"}}`
		}},
		"more replicas":       {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = 4 }, why: "the number of replicas changed"},
		"a target went":       {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = b.Spec.Clusters[1:] }, why: "the number of replicas changed"},
		"a target is removed": {binding: scheduled(deployment(3, split, target("a", 2), target("z", 1))), why: "a target cluster is being removed"},
		"a target is gone":    {binding: scheduled(deployment(3, split, target("a", 2), target("y", 1))), why: "a target cluster is being removed"},
		"asked for before": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) {
			earlier := metav1.NewTime(b.Status.LastScheduledTime.Add(-time.Second))
			b.Spec.RescheduleTriggeredAt = &earlier
		}},
		"asked for in the same second": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) { b.Spec.RescheduleTriggeredAt = b.Status.LastScheduledTime },
			why: "rescheduling was asked for", fresh: true},
		"asked for afterwards": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) {
			later := metav1.NewTime(b.Status.LastScheduledTime.Add(time.Second))
			b.Spec.RescheduleTriggeredAt = &later
		}, why: "rescheduling was asked for", fresh: true},
		"asked for, with more replicas": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) {
			later := metav1.NewTime(b.Status.LastScheduledTime.Add(time.Second))
			b.Spec.RescheduleTriggeredAt, b.Spec.Replicas = &later, 4
		}, why: "the number of replicas changed", fresh: true},
		"a new binding in place": {binding: settled(), change: func(b *workv1alpha2.ResourceBinding) { b.Status = workv1alpha2.ResourceBindingStatus{} }, why: "it was never scheduled"},
		"no workload":            {binding: scheduled(configMap(split)), why: "every change of the clusters or the template counts"},
		"no strategy":            {binding: scheduled(deployment(3, everywhere, target("a", 2))), why: "every change of the clusters or the template counts"},
		"Duplicated":             {binding: scheduled(deployment(3, &policyv1alpha1.Placement{ReplicaScheduling: duplicated()}, target("a", 3))), why: "every change of the clusters or the template counts"},
		"Duplicated and more":    {binding: scheduled(deployment(4, &policyv1alpha1.Placement{ReplicaScheduling: duplicated()}, target("a", 3))), why: "the number of replicas changed"},
		"the term in use changed": {binding: scheduled(deployment(1, terms("a"), target("a", 1))), change: func(b *workv1alpha2.ResourceBinding) {
			b.Status.SchedulerObservedAffinityName, b.Spec.Placement = "one", terms("z")
		}, why: "the placement changed"},
		"another term changed": {binding: scheduled(deployment(1, terms("a"), target("b", 1))), change: func(b *workv1alpha2.ResourceBinding) {
			b.Status.SchedulerObservedAffinityName, b.Spec.Placement = "two", terms("z")
		}},
		"the term in use is gone": {binding: scheduled(deployment(1, terms("a"), target("b", 1))), change: func(b *workv1alpha2.ResourceBinding) {
			b.Status.SchedulerObservedAffinityName, b.Spec.Placement = "two", &policyv1alpha1.Placement{ReplicaScheduling: static(), ClusterAffinities: terms("a").ClusterAffinities[:1]}
		}, why: "the placement changed"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.change != nil {
				row.change(row.binding)
			}
			why, fresh, needed := scheduling.Needed(row.binding, s)
			if why != row.why || fresh != row.fresh || needed != (row.why != "") {
				t.Errorf("got %q fresh %t needed %t, want %q fresh %t", why, fresh, needed, row.why, row.fresh)
			}
		})
	}
}

func TestAppliedPlacement(t *testing.T) {
	for want, placement := range map[string]*policyv1alpha1.Placement{
		`{}`: nil,
		// As recorded in no-cluster-fit and in propagation-divided.
		`{"clusterAffinity":{"clusterNames":["nowhere"]}}`: {ClusterAffinity: names("nowhere")},
		`{"clusterAffinity":{"clusterNames":["member1","member2","member3"]},"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"staticWeightList":[{"targetCluster":{"clusterNames":["member1"]},"weight":2},{"targetCluster":{"clusterNames":["member2"]},"weight":1}]}}}`: {
			ClusterAffinity: names("member1", "member2", "member3"), ReplicaScheduling: static("member1=2", "member2=1"),
		},
	} {
		if got := scheduling.AppliedPlacement(placement); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
