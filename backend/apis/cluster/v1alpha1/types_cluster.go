package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of the kind Cluster on the wire.
const (
	// ResourceKindCluster is the kind.
	ResourceKindCluster = "Cluster"
	// ResourcePluralCluster is the resource name in paths.
	ResourcePluralCluster = "clusters"
	// ResourceSingularCluster is the singular resource name.
	ResourceSingularCluster = "cluster"
)

// Cluster is one registered member cluster: how to reach it and what it last reported.
//
// +kubebuilder:object:root=true
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the registering side declared about the cluster.
	Spec ClusterSpec `json:"spec"`

	// Status is what was last observed in the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSyncMode says which side applies manifests to a member.
type ClusterSyncMode string

const (
	// Push means that the hub connects to the member's API server.
	Push ClusterSyncMode = "Push"
	// Pull means that an agent in the member connects to the hub.
	Pull ClusterSyncMode = "Pull"
)

// ClusterSpec declares a member cluster.
type ClusterSpec struct {
	// ID identifies the physical cluster whatever it is called here. Clients set the UID of the member's kube-system namespace.
	// +optional
	ID string `json:"id,omitempty"`

	// SyncMode says which side applies manifests: Push (the hub) or Pull (the agent).
	SyncMode ClusterSyncMode `json:"syncMode"`

	// APIEndpoint is the URL of the member's API server, for example https://192.0.2.10:6443.
	// +optional
	APIEndpoint string `json:"apiEndpoint,omitempty"`

	// SecretRef names the hub Secret whose keys token and caBundle give access to the member.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`

	// ImpersonatorSecretRef names the hub Secret whose key token lets the cluster proxy act as the requesting user.
	// +optional
	ImpersonatorSecretRef *LocalSecretReference `json:"impersonatorSecretRef,omitempty"`

	// InsecureSkipTLSVerification turns off verification of the member's serving certificate.
	// +optional
	InsecureSkipTLSVerification bool `json:"insecureSkipTLSVerification,omitempty"`

	// ProxyURL is a forward proxy (http, https or socks5) on the way to the member.
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`

	// ProxyHeader holds headers for the CONNECT request to the forward proxy. A value may be a list separated by commas.
	// +optional
	ProxyHeader map[string]string `json:"proxyHeader,omitempty"`

	// Provider names who runs the cluster, for example a cloud.
	// +optional
	Provider string `json:"provider,omitempty"`

	// Region names where the cluster runs.
	// +optional
	Region string `json:"region,omitempty"`

	// Zone is the former single-valued form of Zones; a value given here is moved there.
	// +optional
	Zone string `json:"zone,omitempty"`

	// Zones lists the failure domains that the cluster spans within its region.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// Taints keep workloads away unless they tolerate them. The effects are NoSchedule and NoExecute.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// ResourceModels sorts the member's nodes into grades by free resources, for capacity estimates. A default of nine grades is
	// filled in when a cluster is created without any.
	// +optional
	ResourceModels []ResourceModel `json:"resourceModels,omitempty"`
}

// LocalSecretReference names a Secret on the hub.
type LocalSecretReference struct {
	// Namespace of the Secret.
	Namespace string `json:"namespace"`
	// Name of the Secret.
	Name string `json:"name"`
}

// ResourceModel is one grade of nodes.
type ResourceModel struct {
	// Grade orders the models, from the smallest nodes (0) up.
	Grade uint `json:"grade"`
	// Ranges bounds the free resources of the nodes of this grade.
	Ranges []ResourceModelRange `json:"ranges"`
}

// ResourceModelRange is the half-open interval [Min, Max) of one resource.
type ResourceModelRange struct {
	// Name of the resource, for example cpu.
	Name corev1.ResourceName `json:"name"`
	// Min is the smallest amount in the grade.
	Min resource.Quantity `json:"min"`
	// Max is the smallest amount above the grade.
	Max resource.Quantity `json:"max"`
}

// ClusterStatus is what was last observed in a member.
type ClusterStatus struct {
	// KubernetesVersion is the gitVersion that the member reports.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// APIEnablements lists what the member serves, sorted by group and version.
	// +optional
	APIEnablements []APIEnablement `json:"apiEnablements,omitempty"`

	// Conditions holds Ready, CompleteAPIEnablements and whatever users add.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// NodeSummary counts the nodes.
	// +optional
	NodeSummary *NodeSummary `json:"nodeSummary,omitempty"`

	// ResourceSummary adds up the resources of all nodes.
	// +optional
	ResourceSummary *ResourceSummary `json:"resourceSummary,omitempty"`

	// RemedyActions lists actions that remedies ask of whoever acts on this cluster, for example TrafficControl.
	// +optional
	RemedyActions []string `json:"remedyActions,omitempty"`
}

// APIEnablement is one group and version that a member serves.
type APIEnablement struct {
	// GroupVersion as in apiVersion, for example apps/v1.
	GroupVersion string `json:"groupVersion"`
	// Resources of the group and version, sorted by name, without subresources.
	// +optional
	Resources []APIResource `json:"resources,omitempty"`
}

// APIResource is one resource that a member serves.
type APIResource struct {
	// Name is the plural name, as in paths.
	Name string `json:"name"`
	// Kind of the objects.
	Kind string `json:"kind"`
}

// NodeSummary counts nodes.
type NodeSummary struct {
	// TotalNum counts all nodes.
	// +optional
	TotalNum int32 `json:"totalNum,omitempty"`
	// ReadyNum counts the nodes whose condition Ready is True.
	// +optional
	ReadyNum int32 `json:"readyNum,omitempty"`
}

// ResourceSummary adds up the resources of a member.
type ResourceSummary struct {
	// Allocatable is the sum over all nodes of what pods may use.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Allocating is the sum of the requests of pods that have no node yet.
	// +optional
	Allocating corev1.ResourceList `json:"allocating,omitempty"`
	// Allocated is the sum of the requests of pods that have a node and are not finished.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
	// AllocatableModelings counts the nodes of each grade of spec.resourceModels.
	// +optional
	AllocatableModelings []AllocatableModeling `json:"allocatableModelings,omitempty"`
}

// AllocatableModeling counts the nodes of one grade.
type AllocatableModeling struct {
	// Grade is the grade of a resource model.
	Grade uint `json:"grade"`
	// Count is the number of nodes that fall into it.
	Count int `json:"count"`
}

// ClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the clusters.
	Items []Cluster `json:"items"`
}

// ClusterProxyOptions are the options of a request to clusters/{name}/proxy.
//
// +kubebuilder:object:root=true
type ClusterProxyOptions struct {
	metav1.TypeMeta `json:",inline"`

	// Path is the path, with query, to ask the member's API server for.
	// +optional
	Path string `json:"path,omitempty"`
}
