package registration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Annotation on a Cluster names the registration that made it.
const Annotation = "muster.dev/registration"

const (
	// AnnotationAgent on a Cluster names the agent that serves it: AgentMuster, or
	// nothing for a karmada-agent.
	AnnotationAgent = "muster.dev/agent"
	// AgentMuster is the value of AnnotationAgent for our own agent.
	AgentMuster = "muster"
)

const (
	// AnnotationOrigin marks the mirror of a member in the other dialect, and
	// names the dialect that the member was registered in: OriginOCM on a Cluster,
	// OriginKarmada on a ManagedCluster. An object without it speaks for itself.
	AnnotationOrigin = "muster.dev/origin"
	// OriginOCM is on the Cluster of a member that a ManagedCluster stands for.
	OriginOCM = "ocm"
	// OriginKarmada is on the ManagedCluster of a member that a Cluster stands for.
	// Nobody renews its lease, and no agent acts by its acceptance.
	OriginKarmada = "karmada"
	// TaintOtherDialect, with the effect NoSchedule, keeps workloads of policies off
	// the Clusters of OCM members. A policy that tolerates it means these members
	// too.
	TaintOtherDialect = "muster.dev/open-cluster-management"
	// FinalizerFleet keeps a mirror until the member it stands for is gone: to
	// delete either object removes the member.
	FinalizerFleet = "muster.dev/fleet"
)

// Mirrored tells that a Cluster or a ManagedCluster is the mirror of a member
// that is registered in the other dialect.
func Mirrored(object metav1.Object) bool { return object.GetAnnotations()[AnnotationOrigin] != "" }

// HasOwnAgent tells that a Cluster is served by our agent over its link.
func HasOwnAgent(c *clusterv1alpha1.Cluster) bool {
	return c.Spec.SyncMode == clusterv1alpha1.Pull && c.Annotations[AnnotationAgent] == AgentMuster
}

// HasForeignAgent tells that a Cluster is served by the unmodified agent, which
// works through the hub API.
func HasForeignAgent(c *clusterv1alpha1.Cluster) bool {
	return c.Spec.SyncMode == clusterv1alpha1.Pull && !HasOwnAgent(c) && !Mirrored(c)
}
