package eviction

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

const clusterLabel = "member_cluster"

// The metrics of contract section 14 about evictions. The label name tells
// ResourceBindings and ClusterResourceBindings apart.
var (
	evictions = kube.NewGauges("eviction_kind_total", "Evictions so far, by cluster and kind.", clusterLabel, "resource_kind")
	waiting   = kube.NewGauges("eviction_queue_depth", "Targets whose eviction is due and waits for its turn.", "name")
	latency   = kube.NewDurations("eviction_processing_latency_seconds", "How long evicting from a binding took.", 15, "name")
	processed = kube.NewCounters("eviction_processing_total", "Evictions from bindings, by what came of them.", "name", "result")
)

func queueName(key types.NamespacedName) string {
	if key.Namespace == "" {
		return "cluster-binding-eviction"
	}
	return "binding-eviction"
}

// wait notes how many targets of a binding wait for their turn.
func (r *BindingReconciler) wait(key types.NamespacedName, targets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if more := targets - r.waiting[key]; more != 0 {
		waiting.Add(more, queueName(key))
	}
	if targets == 0 {
		delete(r.waiting, key)
		return
	}
	r.waiting[key] = targets
}

// count notes evictions from a binding.
func (r *BindingReconciler) count(key types.NamespacedName, tasks []workv1alpha2.GracefulEvictionTask, kind string, took time.Duration, err error) {
	if len(tasks) == 0 {
		return
	}
	latency.Observe(took, queueName(key))
	processed.Add(len(tasks), queueName(key), kube.Outcome(err))
	if err != nil {
		return
	}
	for i := range tasks {
		evictions.Add(1, tasks[i].FromCluster, kind)
	}
}
