package v1alpha1

// Labels and annotations that link policies, templates, bindings and manifests (contract sections 3.3 and 3.4).
const (
	// PropagationPolicyPermanentIDLabel identifies a PropagationPolicy, on itself and on everything it claims.
	PropagationPolicyPermanentIDLabel = "propagationpolicy.karmada.io/permanent-id"
	// PropagationPolicyNamespaceAnnotation names the namespace of the claiming PropagationPolicy.
	PropagationPolicyNamespaceAnnotation = "propagationpolicy.karmada.io/namespace"
	// PropagationPolicyNameAnnotation names the claiming PropagationPolicy.
	PropagationPolicyNameAnnotation = "propagationpolicy.karmada.io/name"
	// ClusterPropagationPolicyPermanentIDLabel identifies a ClusterPropagationPolicy, on itself and on everything it claims.
	ClusterPropagationPolicyPermanentIDLabel = "clusterpropagationpolicy.karmada.io/permanent-id"
	// ClusterPropagationPolicyNameAnnotation names the claiming ClusterPropagationPolicy.
	ClusterPropagationPolicyNameAnnotation = "clusterpropagationpolicy.karmada.io/name"
	// AppliedPlacementAnnotation on a binding is the placement that was last scheduled, as JSON.
	AppliedPlacementAnnotation = "policy.karmada.io/applied-placement"
	// AppliedOverridesAnnotation on a Work lists the applied OverridePolicies, as JSON.
	AppliedOverridesAnnotation = "policy.karmada.io/applied-overrides"
	// AppliedClusterOverridesAnnotation on a Work lists the applied ClusterOverridePolicies, as JSON.
	AppliedClusterOverridesAnnotation = "policy.karmada.io/applied-cluster-overrides"
	// FederatedResourceQuotaNamespaceLabel on a Work names the namespace of the quota it belongs to.
	FederatedResourceQuotaNamespaceLabel = "federatedresourcequota.karmada.io/namespace"
	// FederatedResourceQuotaNameLabel on a Work names the quota it belongs to.
	FederatedResourceQuotaNameLabel = "federatedresourcequota.karmada.io/name"
)

// Finalizers of contract section 3.5.
const (
	// PropagationPolicyFinalizer holds a PropagationPolicy until its claims are released.
	PropagationPolicyFinalizer = "karmada.io/propagation-policy-controller"
	// ClusterPropagationPolicyFinalizer holds a ClusterPropagationPolicy until its claims are released.
	ClusterPropagationPolicyFinalizer = "karmada.io/cluster-propagation-policy-controller"
)

// Defaults that the API promises.
const (
	// DefaultSchedulerName is the scheduler of policies that name none.
	DefaultSchedulerName = "default-scheduler"
	// DefaultTolerationSeconds is how long an unhealthy application is tolerated before it fails over, in seconds.
	DefaultTolerationSeconds int32 = 300
	// DefaultGracePeriodSeconds is how long a graceful purge waits for the replacement, in seconds.
	DefaultGracePeriodSeconds int32 = 600
	// MaxAffinityNameLength is the longest allowed affinityName.
	MaxAffinityNameLength = 32
)
