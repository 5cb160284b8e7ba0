package eviction

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// ApplicationProducer is the producer of tasks for unhealthy applications.
const ApplicationProducer = "ApplicationFailoverController"

// DefaultTimeout is how long a task without a grace period waits for the new
// copies.
const DefaultTimeout = 10 * time.Minute

// never is the time of what does not happen by itself.
const never = time.Duration(-1)

// Tolerated says how long a workload with these tolerations may stay on a cluster
// with these taints: never if they are tolerated for good, zero if it has to go
// now. Only NoExecute taints move anything. A toleration that ends counts from
// when the taint was added; among several the earliest end counts.
func Tolerated(taints []corev1.Taint, tolerations []corev1.Toleration, now time.Time) time.Duration {
	left := never
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		rest := toleratedOne(taint, tolerations, now)
		if rest != never && (left == never || rest < left) {
			left = rest
		}
	}
	return left
}

func toleratedOne(taint *corev1.Taint, tolerations []corev1.Toleration, now time.Time) time.Duration {
	var rest time.Duration
	for i := range tolerations {
		toleration := &tolerations[i]
		if !tolerates(toleration, taint) {
			continue
		}
		if toleration.TolerationSeconds == nil {
			return never
		}
		added := now
		if taint.TimeAdded != nil {
			added = taint.TimeAdded.Time
		}
		rest = max(rest, added.Add(time.Duration(*toleration.TolerationSeconds)*time.Second).Sub(now))
	}
	return rest
}

func tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	switch {
	case toleration.Effect != "" && toleration.Effect != taint.Effect, toleration.Key != "" && toleration.Key != taint.Key:
		return false
	case toleration.Operator == corev1.TolerationOpExists:
		return true
	}
	return toleration.Value == taint.Value && toleration.Key != ""
}

// Evict moves a target of a binding into an eviction task. It changes the spec
// and says whether it did: a cluster that is no target is left alone.
func Evict(spec *workv1alpha2.ResourceBindingSpec, cluster string, task workv1alpha2.GracefulEvictionTask) bool {
	at := slices.IndexFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == cluster })
	if at < 0 {
		return false
	}
	task.FromCluster = cluster
	if replicas := spec.Clusters[at].Replicas; replicas > 0 {
		task.Replicas = ptr.To(replicas)
	}
	for _, target := range spec.Clusters {
		task.ClustersBeforeFailover = append(task.ClustersBeforeFailover, target.Name)
	}
	spec.Clusters = slices.Delete(slices.Clone(spec.Clusters), at, at+1)
	if evicting(spec, cluster) {
		return true // one task is enough
	}
	spec.GracefulEvictionTasks = append(slices.Clone(spec.GracefulEvictionTasks), task)
	return true
}

func evicting(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	return slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == cluster })
}

// TaintTask is the task of a target whose cluster has a taint that is not
// tolerated.
func TaintTask(spec *workv1alpha2.ResourceBindingSpec) workv1alpha2.GracefulEvictionTask {
	task := workv1alpha2.GracefulEvictionTask{
		Reason: workv1alpha2.EvictionReasonTaintUntolerated, Producer: workv1alpha2.EvictionProducerTaintManager,
		PurgeMode: policyv1alpha1.PurgeModeGracefully, Message: "The cluster has a NoExecute taint that the policy does not tolerate.",
	}
	if spec.Failover != nil && spec.Failover.Cluster != nil && spec.Failover.Cluster.PurgeMode != "" {
		task.PurgeMode = spec.Failover.Cluster.PurgeMode
	}
	return task
}

// ApplicationTask is the task of a target whose application was unhealthy too
// long.
func ApplicationTask(behavior *policyv1alpha1.ApplicationFailoverBehavior) workv1alpha2.GracefulEvictionTask {
	task := workv1alpha2.GracefulEvictionTask{
		Reason: workv1alpha2.EvictionReasonApplicationFailure, Producer: ApplicationProducer,
		PurgeMode: behavior.PurgeMode, GracePeriodSeconds: behavior.GracePeriodSeconds,
		Message: fmt.Sprintf("The application was unhealthy for more than %s.", toleration(behavior)),
	}
	if task.PurgeMode == policyv1alpha1.PurgeModeNever {
		task.SuppressDeletion = ptr.To(true)
	}
	return task
}

// toleration is how long an application may be unhealthy.
func toleration(behavior *policyv1alpha1.ApplicationFailoverBehavior) time.Duration {
	return time.Duration(ptr.Deref(behavior.DecisionConditions.TolerationSeconds, policyv1alpha1.DefaultTolerationSeconds)) * time.Second
}

// Remaining is how long a task of a binding goes on: zero if it is over, never if
// only a user ends it. timeout stands in for a grace period that is not given.
func Remaining(b workv1alpha2.Binding, task *workv1alpha2.GracefulEvictionTask, now time.Time, timeout time.Duration) time.Duration {
	if ptr.Deref(task.SuppressDeletion, false) {
		return never
	}
	if replaced(b) {
		return 0
	}
	if task.GracePeriodSeconds != nil {
		timeout = time.Duration(*task.GracePeriodSeconds) * time.Second
	}
	if task.CreationTimestamp == nil {
		return timeout
	}
	// The stamp has lost its fraction of a second, which is not to shorten the time.
	return max(0, task.CreationTimestamp.Add(timeout+time.Second).Sub(now))
}

// replaced says that the scheduler has answered for the binding as it is and every
// target is healthy.
func replaced(b workv1alpha2.Binding) bool {
	if b.BindingStatus().SchedulerObservedGeneration != b.GetGeneration() {
		return false
	}
	health := map[string]workv1alpha2.ResourceHealth{}
	for _, item := range b.BindingStatus().AggregatedStatus {
		health[item.ClusterName] = item.Health
	}
	return !slices.ContainsFunc(b.BindingSpec().Clusters, func(t workv1alpha2.TargetCluster) bool {
		return health[t.Name] != workv1alpha2.ResourceHealthy
	})
}

// Taints are those of a cluster after a policy had its say; nil conditions add or
// remove nothing. The taints of others stay as they are.
func Taints(spec *policyv1alpha1.ClusterTaintPolicySpec, cluster *clusterv1alpha1.Cluster, now time.Time) []corev1.Taint {
	taints := slices.Clone(cluster.Spec.Taints)
	same := func(wanted policyv1alpha1.Taint) func(corev1.Taint) bool {
		return func(t corev1.Taint) bool { return t.Key == wanted.Key && t.Effect == wanted.Effect }
	}
	if holds(spec.AddOnConditions, cluster.Status.Conditions) {
		for _, wanted := range spec.Taints {
			at := slices.IndexFunc(taints, same(wanted))
			switch {
			case at < 0:
				taints = append(taints, corev1.Taint{Key: wanted.Key, Value: wanted.Value, Effect: wanted.Effect, TimeAdded: ptr.To(metav1.NewTime(now).Rfc3339Copy())})
			case taints[at].Value != wanted.Value:
				taints[at].Value = wanted.Value
			}
		}
	}
	if holds(spec.RemoveOnConditions, cluster.Status.Conditions) {
		for _, wanted := range spec.Taints {
			taints = slices.DeleteFunc(taints, same(wanted))
		}
	}
	return taints
}

// holds says whether all of at least one condition are met. A condition that the
// cluster does not have counts as Unknown only where that is asked for.
func holds(wanted []policyv1alpha1.MatchCondition, conditions []metav1.Condition) bool {
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(m policyv1alpha1.MatchCondition) bool {
		at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == m.ConditionType })
		if at < 0 {
			return true
		}
		return slices.Contains(m.StatusValues, conditions[at].Status) != (m.Operator == policyv1alpha1.MatchConditionOpIn)
	})
}
