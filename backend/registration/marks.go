package registration

import clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"

// Annotation on a Cluster names the registration that made it.
const Annotation = "muster.dev/registration"

const (
	// AnnotationAgent on a Cluster names the agent that serves it: AgentMuster, or
	// nothing for a karmada-agent.
	AnnotationAgent = "muster.dev/agent"
	// AgentMuster is the value of AnnotationAgent for our own agent.
	AgentMuster = "muster"
)

// HasOwnAgent tells that a Cluster is served by our agent over its link.
func HasOwnAgent(c *clusterv1alpha1.Cluster) bool {
	return c.Spec.SyncMode == clusterv1alpha1.Pull && c.Annotations[AnnotationAgent] == AgentMuster
}

// HasForeignAgent tells that a Cluster is served by the unmodified agent, which
// works through the hub API.
func HasForeignAgent(c *clusterv1alpha1.Cluster) bool {
	return c.Spec.SyncMode == clusterv1alpha1.Pull && !HasOwnAgent(c)
}
