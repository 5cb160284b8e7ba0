package v1alpha1

// DefaultInstallNamespace is where an add-on's agent runs when nothing else is said.
const DefaultInstallNamespace = "open-cluster-management-agent-addon"

// Types of conditions of ManagedClusterAddOn.
const (
	// ConditionAvailable is written by the agent; the hub only sets it to Unknown.
	ConditionAvailable = "Available"
	// ConditionDegraded is written by the add-on.
	ConditionDegraded = "Degraded"
	// ConditionProgressing is written by the add-on manager.
	ConditionProgressing = "Progressing"
	// ConditionRegistrationApplied is written by the add-on manager.
	ConditionRegistrationApplied = "RegistrationApplied"
	// ConditionCertificateRotated is written by the agent.
	ConditionCertificateRotated = "ClusterCertificateRotated"
)
