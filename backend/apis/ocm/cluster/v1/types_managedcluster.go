package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagedCluster is a cluster that asked to be managed by this hub. Its name is also the name of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName={mcl,mcls}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Hub Accepted",type=boolean,JSONPath=`.spec.hubAcceptsClient`
// +kubebuilder:printcolumn:name="Managed Cluster URLs",type=string,JSONPath=`.spec.managedClusterClientConfigs[*].url`
// +kubebuilder:printcolumn:name="Joined",type=string,JSONPath=`.status.conditions[?(@.type=="ManagedClusterJoined")].status`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says how to reach the cluster and whether the hub accepts it.
	// +optional
	Spec ManagedClusterSpec `json:"spec,omitempty"`

	// Status is what the agent and the hub observed.
	// +optional
	Status ManagedClusterStatus `json:"status,omitempty"`
}

// ManagedClusterList is a list of managed clusters.
//
// +kubebuilder:object:root=true
type ManagedClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the clusters.
	Items []ManagedCluster `json:"items"`
}

// ManagedClusterSpec says how to reach a cluster and whether the hub accepts it.
type ManagedClusterSpec struct {
	// ManagedClusterClientConfigs are the addresses of the cluster's own API.
	// +optional
	// +listType=atomic
	ManagedClusterClientConfigs []ClientConfig `json:"managedClusterClientConfigs,omitempty"`

	// HubAcceptsClient is the hub's consent to the cluster. It is independent of the approval of the agent's certificate, and comes
	// before or after it. Always written: absent and false mean the same.
	// +optional
	HubAcceptsClient bool `json:"hubAcceptsClient"`

	// LeaseDurationSeconds is how often the agent renews its lease. The hub gives up after five times as long; 0 counts as 60.
	// +optional
	// +kubebuilder:default=60
	LeaseDurationSeconds int32 `json:"leaseDurationSeconds,omitempty"`

	// Taints keep placements from choosing the cluster unless they tolerate them.
	// +optional
	// +listType=atomic
	Taints []Taint `json:"taints,omitempty"`
}

// ClientConfig is one address of a cluster's API.
type ClientConfig struct {
	// URL is the https address.
	URL string `json:"url"`

	// CABundle are the PEM certificates that the address is verified with.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
}

// Taint keeps placements away from a cluster.
type Taint struct {
	// Key is a qualified name.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Key string `json:"key"`

	// Value goes with the key.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`

	// Effect is what the taint does to placements that do not tolerate it.
	// +kubebuilder:validation:Enum=NoSelect;PreferNoSelect;NoSelectIfNew
	Effect TaintEffect `json:"effect"`

	// TimeAdded is when the taint came. Admission sets it (contract section 1.2).
	// +optional
	// +nullable
	TimeAdded metav1.Time `json:"timeAdded,omitempty"`
}

// TaintEffect is what a taint does to placements.
type TaintEffect string

// Effects of taints.
const (
	// TaintEffectNoSelect takes the cluster out of every placement that does not tolerate the taint.
	TaintEffectNoSelect TaintEffect = "NoSelect"
	// TaintEffectPreferNoSelect takes the cluster only when there are too few others.
	TaintEffectPreferNoSelect TaintEffect = "PreferNoSelect"
	// TaintEffectNoSelectIfNew leaves the cluster where it was already chosen.
	TaintEffectNoSelectIfNew TaintEffect = "NoSelectIfNew"
)

// ManagedClusterStatus is what was observed of a cluster.
type ManagedClusterStatus struct {
	// Conditions have one writer each (contract section 2.6).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Capacity is the sum over all nodes. The agent keeps keys that others wrote.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// Allocatable is the sum over the nodes that take pods.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Version is the cluster's Kubernetes version.
	// +optional
	Version ManagedClusterVersion `json:"version,omitempty"`

	// ClusterClaims are the claims that the cluster makes about itself.
	// +optional
	// +listType=atomic
	ClusterClaims []ManagedClusterClaim `json:"clusterClaims,omitempty"`

	// ManagedNamespaces are namespaces that sets of the cluster ask for, and whether they are there.
	// +optional
	// +listType=map
	// +listMapKey=clusterSet
	// +listMapKey=name
	ManagedNamespaces []ClusterSetManagedNamespace `json:"managedNamespaces,omitempty"`
}

// ManagedClusterVersion is the version of a cluster.
type ManagedClusterVersion struct {
	// Kubernetes is the gitVersion that the cluster's API tells.
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`
}

// ManagedClusterClaim is one claim of a cluster about itself.
type ManagedClusterClaim struct {
	// Name of the claim.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Value of the claim.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// ClusterSetManagedNamespace is a namespace that a set asks for.
type ClusterSetManagedNamespace struct {
	// Name of the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// ClusterSet is the set that asks for it.
	ClusterSet string `json:"clusterSet"`

	// Conditions holds NamespaceAvailable.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
