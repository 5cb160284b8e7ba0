// Package apis holds the names every Karmada-compatible component must agree on and that belong to no single API group: namespaces,
// name prefixes, ownership marks and identities (contract sections 3.1 to 3.5 and 3.9). Names that belong to one group are in the
// package of that group. It has no dependency, so that agents and tools may import it freely.
package apis

// Namespaces of contract section 3.1.
const (
	// SystemNamespace holds component leases and system secrets on the hub and the agent's Deployment on a member.
	SystemNamespace = "karmada-system"
	// ClusterNamespace holds member credential Secrets and pull heartbeat Leases on the hub, and the service accounts on a member.
	ClusterNamespace = "karmada-cluster"
	// ExecutionSpacePrefix starts the name of the hub namespace that holds the Works of one member.
	ExecutionSpacePrefix = "karmada-es-"
)

// Labels and annotations that mark ownership, whatever the kind (contract sections 3.3 and 3.4).
const (
	// SystemLabel marks objects that our tooling created, with the value "true".
	SystemLabel = "karmada.io/system"
	// ManagedLabel marks every object we put into a member, with the value "true". It is the only proof that we may change or delete it.
	ManagedLabel = "karmada.io/managed"
	// BootstrappingLabel marks RBAC objects that come with the installation; its value is BootstrappingRBACDefaults.
	BootstrappingLabel = "karmada.io/bootstrapping"
	// BootstrappingRBACDefaults is the value of BootstrappingLabel.
	BootstrappingRBACDefaults = "rbac-defaults"
	// LabelTrue is the value of the boolean marks above.
	LabelTrue = "true"

	// RetainReplicasLabel on a template, with the value "true", keeps the replica count that the member has.
	RetainReplicasLabel = "resourcetemplate.karmada.io/retain-replicas"
	// ClaimedByLabel on a template names the component that propagates it instead of a policy.
	ClaimedByLabel = "resourcetemplate.karmada.io/claimed-by"
	// DeletionProtectedLabel on any hub object, with the value DeletionProtectedAlways, refuses its deletion.
	DeletionProtectedLabel = "resourcetemplate.karmada.io/deletion-protected"
	// DeletionProtectedAlways is the only value of DeletionProtectedLabel that protects.
	DeletionProtectedAlways = "Always"
	// SkipAutoPropagationLabel on a Namespace, with the value "true", keeps the namespace from being created in members automatically.
	SkipAutoPropagationLabel = "namespace.karmada.io/skip-auto-propagation"

	// TemplateUIDAnnotation on a manifest is the UID of the hub object it was made from.
	TemplateUIDAnnotation = "resourcetemplate.karmada.io/uid"
	// TemplateGenerationAnnotation on a manifest is the generation of the hub object it was made from, as a decimal number.
	TemplateGenerationAnnotation = "resourcetemplate.karmada.io/generation"
	// ManagedLabelsAnnotation on a manifest lists, sorted and separated by commas, the label keys that we own on the member's object.
	ManagedLabelsAnnotation = "resourcetemplate.karmada.io/managed-labels"
	// ManagedAnnotationsAnnotation on a manifest lists, sorted and separated by commas, the annotation keys that we own on the member's object.
	ManagedAnnotationsAnnotation = "resourcetemplate.karmada.io/managed-annotations"
	// CachedFromClusterAnnotation says which member an object of a list of several members is in.
	CachedFromClusterAnnotation = "resource.karmada.io/cached-from-cluster"
)

// AuditNameAnnotation on an audit event is the name that the API server made for
// an object created by generateName.
const AuditNameAnnotation = "muster.dev/name"

// Certificate identities of contract section 3.9.
const (
	// AgentUserPrefix followed by a cluster name is the common name of that cluster's agent certificate.
	AgentUserPrefix = "system:karmada:agent:"
	// AgentGroup is the organization of every agent certificate.
	AgentGroup = "system:karmada:agents"
	// RBACGeneratorName is the pseudo cluster name of the helper identity that an unmodified client uses while it registers.
	// No cluster may have this name, because its agent would then hold the helper's identity.
	RBACGeneratorName = "rbac-generator"
	// RBACGeneratorUser is the common name of the helper certificate.
	RBACGeneratorUser = AgentUserPrefix + RBACGeneratorName
	// BootstrapTokenGroup is the extra group of join tokens.
	BootstrapTokenGroup = "system:bootstrappers:karmada:default-cluster-token"
)

// Category is the kubectl category that lists the kinds of all Karmada groups (contract section 1).
const Category = "karmada-io"

// ExecutionSpace returns the name of the hub namespace that holds the Works of the named cluster.
func ExecutionSpace(cluster string) string { return ExecutionSpacePrefix + cluster }

// ClusterOfExecutionSpace returns the cluster whose Works live in the namespace, and false when the namespace is no execution space.
func ClusterOfExecutionSpace(namespace string) (string, bool) {
	if len(namespace) <= len(ExecutionSpacePrefix) || namespace[:len(ExecutionSpacePrefix)] != ExecutionSpacePrefix {
		return "", false
	}
	return namespace[len(ExecutionSpacePrefix):], true
}

// ClusterOfAgent returns the cluster that the user name of an agent certificate speaks for. It returns false for other users and for
// the registration helper, which speaks for no cluster.
func ClusterOfAgent(user string) (string, bool) {
	if len(user) <= len(AgentUserPrefix) || user[:len(AgentUserPrefix)] != AgentUserPrefix || user == RBACGeneratorUser {
		return "", false
	}
	return user[len(AgentUserPrefix):], true
}
