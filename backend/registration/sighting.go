package registration

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// sighting is what a Cluster says about the registration it comes from.
type sighting struct {
	name, registration string
	createdAt          time.Time
	mode               clusterv1alpha1.ClusterSyncMode
	ownAgent           bool
	version            string
	ready              bool
	// trouble is set while the member's first status says that it is not well.
	trouble *Failure
}

func observe(cluster *clusterv1alpha1.Cluster) sighting {
	seen := sighting{
		name: cluster.Name, registration: cluster.Annotations[Annotation], createdAt: cluster.CreationTimestamp.Time,
		mode: cluster.Spec.SyncMode, ownAgent: HasOwnAgent(cluster), version: cluster.Status.KubernetesVersion,
	}
	condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	if condition == nil {
		return seen
	}
	seen.ready = condition.Status == metav1.ConditionTrue
	if condition.Status == metav1.ConditionFalse {
		codes := map[string]string{
			clusterv1alpha1.ReasonClusterNotReachable:    CodeTCP,
			clusterv1alpha1.ReasonStatusCollectionFailed: CodeUnauthenticated,
		}
		seen.trouble = &Failure{Code: codes[condition.Reason], Cause: PlainText(condition.Message)}
	}
	return seen
}

// flavour is the way a cluster that appeared without a record has come.
func (s sighting) flavour() Flavour {
	switch {
	case s.mode == clusterv1alpha1.Push:
		return FlavourPush
	case s.ownAgent:
		return FlavourPull
	}
	return FlavourKarmadaAgent
}

// Arrived says whether the cluster itself has come as far as the hub. Until then
// a Cluster of the name is an earlier one, which a new registration is about to
// take over, and its status says nothing about this one.
func (r *Registration) Arrived() bool {
	return r.Passed(StageLink) || r.Passed(StageCluster)
}

// observed advances the registration by what its Cluster shows. It reports
// whether anything changed.
func (r *Registration) observed(seen sighting, now time.Time) bool {
	changed := false
	if r.Flavour != FlavourPush && seen.mode == clusterv1alpha1.Pull && !seen.ownAgent && r.Passed(StageIdentity) && !r.Passed(StageLink) {
		changed = r.Advance(StageCluster, StageEvent{}, now)
	}
	if !r.Arrived() {
		return changed
	}
	switch {
	case seen.ready:
		if seen.version != "" && r.Advance(StageInventory, StageEvent{Detail: "Kubernetes " + seen.version}, now) {
			changed = true
		}
		return r.Advance(StageReady, StageEvent{}, now) || changed
	case seen.trouble != nil:
		return r.Fail(r.Current(), *seen.trouble, now) || changed
	}
	return changed
}
