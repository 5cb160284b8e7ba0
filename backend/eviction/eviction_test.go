package eviction_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/eviction"
)

const never = time.Duration(-1)

func TestTolerated(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	added := metav1.NewTime(now.Add(-10 * time.Second))
	taint := corev1.Taint{Key: "fire", Value: "big", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}
	mild := corev1.Taint{Key: "fire", Value: "big", Effect: corev1.TaintEffectNoSchedule}
	other := corev1.Taint{Key: "flood", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}
	exists := corev1.Toleration{Key: "fire", Operator: corev1.TolerationOpExists}
	seconds := func(n int64) corev1.Toleration {
		return corev1.Toleration{Key: "fire", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To(n)}
	}
	for name, test := range map[string]struct {
		taints      []corev1.Taint
		tolerations []corev1.Toleration
		want        time.Duration
	}{
		"no taint":               {nil, nil, never},
		"schedules nothing new":  {[]corev1.Taint{mild}, nil, never},
		"not tolerated":          {[]corev1.Taint{taint}, nil, 0},
		"tolerated":              {[]corev1.Taint{taint}, []corev1.Toleration{exists}, never},
		"equal":                  {[]corev1.Taint{taint}, []corev1.Toleration{{Key: "fire", Value: "big"}}, never},
		"other value":            {[]corev1.Taint{taint}, []corev1.Toleration{{Key: "fire", Value: "small"}}, 0},
		"every key":              {[]corev1.Taint{taint}, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, never},
		"other effect":           {[]corev1.Taint{taint}, []corev1.Toleration{{Key: "fire", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, 0},
		"for a while":            {[]corev1.Taint{taint}, []corev1.Toleration{seconds(30)}, 20 * time.Second},
		"no longer":              {[]corev1.Taint{taint}, []corev1.Toleration{seconds(5)}, 0},
		"one of two":             {[]corev1.Taint{taint, other}, []corev1.Toleration{exists}, 0},
		"the earliest end":       {[]corev1.Taint{taint, other}, []corev1.Toleration{seconds(30), {Key: "flood", Operator: corev1.TolerationOpExists}}, 20 * time.Second},
		"the longest toleration": {[]corev1.Taint{taint}, []corev1.Toleration{seconds(12), seconds(60)}, 50 * time.Second},
	} {
		got := eviction.Tolerated(test.taints, test.tolerations, now)
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestEvict(t *testing.T) {
	t.Parallel()
	spec := workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2", Replicas: 1}}}
	if eviction.Evict(&spec, "m3", eviction.TaintTask(&spec)) {
		t.Error("a cluster that is no target was evicted")
	}
	if !eviction.Evict(&spec, "m1", eviction.TaintTask(&spec)) {
		t.Fatal("nothing was evicted")
	}
	want := workv1alpha2.ResourceBindingSpec{
		Clusters: []workv1alpha2.TargetCluster{{Name: "m2", Replicas: 1}},
		GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{{
			FromCluster: "m1", Replicas: ptr.To[int32](2), Reason: "TaintUntolerated", Producer: "TaintManager", PurgeMode: "Gracefully",
			Message: "The cluster has a NoExecute taint that the policy does not tolerate.", ClustersBeforeFailover: []string{"m1", "m2"},
		}},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTasksFollowThePolicy(t *testing.T) {
	t.Parallel()
	spec := &workv1alpha2.ResourceBindingSpec{Failover: &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{PurgeMode: "Directly"}}}
	if task := eviction.TaintTask(spec); task.PurgeMode != "Directly" {
		t.Errorf("purge mode %s", task.PurgeMode)
	}
	behavior := &policyv1alpha1.ApplicationFailoverBehavior{PurgeMode: "Never"}
	if task := eviction.ApplicationTask(behavior); !ptr.Deref(task.SuppressDeletion, false) || task.Reason != "ApplicationFailure" {
		t.Errorf("%+v", task)
	}
	behavior = &policyv1alpha1.ApplicationFailoverBehavior{PurgeMode: "Gracefully", GracePeriodSeconds: ptr.To[int32](7)}
	if task := eviction.ApplicationTask(behavior); task.SuppressDeletion != nil || ptr.Deref(task.GracePeriodSeconds, 0) != 7 {
		t.Errorf("%+v", task)
	}
}

func TestRemaining(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	created := metav1.NewTime(now.Add(-100 * time.Second))
	healthy := workv1alpha2.AggregatedStatusItem{ClusterName: "m2", Health: workv1alpha2.ResourceHealthy}
	binding := func(observed int64, items ...workv1alpha2.AggregatedStatusItem) workv1alpha2.Binding {
		return &workv1alpha2.ResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Spec:       workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m2"}}},
			Status:     workv1alpha2.ResourceBindingStatus{SchedulerObservedGeneration: observed, AggregatedStatus: items},
		}
	}
	for name, test := range map[string]struct {
		binding workv1alpha2.Binding
		task    workv1alpha2.GracefulEvictionTask
		want    time.Duration
	}{
		"replaced":             {binding(2, healthy), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created}, 0},
		"not scheduled yet":    {binding(1, healthy), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created}, 501 * time.Second},
		"not healthy yet":      {binding(2), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created}, 501 * time.Second},
		"own grace period":     {binding(2), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created, GracePeriodSeconds: ptr.To[int32](130)}, 31 * time.Second},
		"the stamp's fraction": {binding(2), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created, GracePeriodSeconds: ptr.To[int32](100)}, time.Second},
		"grace period is over": {binding(2), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created, GracePeriodSeconds: ptr.To[int32](99)}, 0},
		"a user decides":       {binding(2, healthy), workv1alpha2.GracefulEvictionTask{CreationTimestamp: &created, SuppressDeletion: ptr.To(true)}, never},
	} {
		if got := eviction.Remaining(test.binding, &test.task, now, eviction.DefaultTimeout); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestTaints(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	stamp := metav1.NewTime(now)
	own := corev1.Taint{Key: "mine", Effect: corev1.TaintEffectNoSchedule}
	added := corev1.Taint{Key: "sick", Value: "very", Effect: corev1.TaintEffectNoExecute, TimeAdded: &stamp}
	spec := &policyv1alpha1.ClusterTaintPolicySpec{
		Taints:             []policyv1alpha1.Taint{{Key: "sick", Value: "very", Effect: corev1.TaintEffectNoExecute}},
		AddOnConditions:    []policyv1alpha1.MatchCondition{{ConditionType: "Ready", Operator: "NotIn", StatusValues: []metav1.ConditionStatus{"True"}}},
		RemoveOnConditions: []policyv1alpha1.MatchCondition{{ConditionType: "Ready", Operator: "In", StatusValues: []metav1.ConditionStatus{"True"}}},
	}
	for name, test := range map[string]struct {
		status metav1.ConditionStatus
		taints []corev1.Taint
		want   []corev1.Taint
	}{
		"added":               {"False", []corev1.Taint{own}, []corev1.Taint{own, added}},
		"there already":       {"Unknown", []corev1.Taint{added, own}, []corev1.Taint{added, own}},
		"removed":             {"True", []corev1.Taint{own, added}, []corev1.Taint{own}},
		"no such condition":   {"", []corev1.Taint{own}, []corev1.Taint{own}},
		"nothing to take off": {"True", nil, nil},
	} {
		cluster := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{Taints: test.taints}}
		if test.status != "" {
			cluster.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: test.status}}
		}
		got := eviction.Taints(spec, cluster, now)
		if len(got)+len(test.want) > 0 && !cmp.Equal(test.want, got) {
			t.Errorf("%s: %s", name, cmp.Diff(test.want, got))
		}
	}
}
