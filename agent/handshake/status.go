package handshake

import (
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// report returns the status that the agent makes of a ManagedCluster's and of
// what it sees (contract 2.5, 2.6). Each step presumes the one before: accepted,
// joined, available, resources, claims, namespaces.
func report(cluster *ocmv1.ManagedCluster, seen observation, turned *rotation, now time.Time) *ocmv1.ManagedClusterStatus {
	status := cluster.Status.DeepCopy()
	if !meta.IsStatusConditionTrue(status.Conditions, ocmv1.ConditionHubAccepted) ||
		meta.IsStatusConditionFalse(status.Conditions, ocmv1.ConditionClockSynced) {
		return status // the hub sets the clock's condition after the next lease
	}
	set := func(c metav1.Condition) {
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		meta.SetStatusCondition(&status.Conditions, c)
	}
	set(metav1.Condition{Type: ocmv1.ConditionJoined, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonJoined, Message: "Managed cluster joined"})
	if turned != nil {
		set(turned.condition())
	}
	if seen.healthy == nil {
		return status
	}
	if !*seen.healthy {
		set(metav1.Condition{Type: ocmv1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonKubeAPIServerUnavailable, Message: brief("The kube-apiserver is not ok, " + seen.problem)})
		return status
	}
	set(metav1.Condition{Type: ocmv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonAvailable, Message: "Managed cluster is available"})
	if seen.version != "" {
		status.Version.Kubernetes = seen.version
	}
	if seen.capacity != nil {
		if status.Capacity == nil && len(seen.capacity) > 0 {
			status.Capacity = corev1.ResourceList{}
		}
		for name, amount := range seen.capacity { // others may write keys of theirs
			if old, ok := status.Capacity[name]; !ok || old.Cmp(amount) != 0 {
				status.Capacity[name] = amount
			}
		}
		if !sameResources(status.Allocatable, seen.allocatable) {
			status.Allocatable = seen.allocatable
		}
	}
	if seen.claims != nil && !slices.Equal(status.ClusterClaims, seen.claims) {
		status.ClusterClaims = seen.claims
	}
	for i := range status.ManagedNamespaces {
		entry := &status.ManagedNamespaces[i]
		problem, known := seen.namespaces[entry.Name]
		if !known {
			continue
		}
		c := metav1.Condition{Type: ocmv1.ConditionNamespaceAvailable, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonNamespaceApplied,
			Message: "Namespace successfully applied and managed", LastTransitionTime: metav1.NewTime(now).Rfc3339Copy()}
		if problem != "" {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, ocmv1.ReasonNamespaceApplyFailed, brief(problem)
		}
		meta.SetStatusCondition(&entry.Conditions, c)
	}
	return status
}

// brief bounds what goes into a condition.
func brief(text string) string {
	const limit = 2048
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}

// sumNodes adds up capacity over all nodes and what can be allocated over those
// that take pods.
func sumNodes(nodes iter.Seq[*corev1.Node]) (capacity, allocatable corev1.ResourceList) {
	capacity, allocatable = corev1.ResourceList{}, corev1.ResourceList{}
	for node := range nodes {
		add(capacity, node.Status.Capacity)
		if !node.Spec.Unschedulable {
			add(allocatable, node.Status.Allocatable)
		}
	}
	return capacity, allocatable
}

func add(sum, more corev1.ResourceList) {
	for name, amount := range more {
		total := sum[name]
		total.Add(amount)
		sum[name] = total
	}
}

func sameResources(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, amount := range a {
		other, ok := b[name]
		if !ok || amount.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

// claim is one claim of the member about itself.
type claim struct {
	value     string
	spokeOnly bool
}

// reservedClaims come first and are always told.
var reservedClaims = []string{"id.k8s.io", "kubeversion.open-cluster-management.io", "platform.open-cluster-management.io", "product.open-cluster-management.io"}

// tell picks and orders the claims that the hub is told: the reserved ones first,
// then custom ones in the order of their names, as many as may be.
func (c Claims) tell(all map[string]claim) []ocmv1.ManagedClusterClaim {
	var reserved, custom []ocmv1.ManagedClusterClaim
	for name, one := range all {
		if one.spokeOnly || one.value == "" {
			continue
		}
		told := ocmv1.ManagedClusterClaim{Name: name, Value: one.value}
		if c.reserved(name) {
			reserved = append(reserved, told)
		} else {
			custom = append(custom, told)
		}
	}
	byName := func(a, b ocmv1.ManagedClusterClaim) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(reserved, byName)
	slices.SortFunc(custom, byName)
	if len(custom) > c.Max {
		custom = custom[:max(c.Max, 0)]
	}
	return append(append([]ocmv1.ManagedClusterClaim{}, reserved...), custom...)
}

func (c Claims) reserved(name string) bool {
	return slices.Contains(reservedClaims, name) ||
		slices.ContainsFunc(c.ReservedSuffixes, func(suffix string) bool { return suffix != "" && strings.HasSuffix(name, suffix) })
}
