package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels of contract section 3.3 and finalizers of section 3.5.
const (
	// MultiClusterServicePermanentIDLabel identifies a MultiClusterService, on itself and on what is made for it.
	MultiClusterServicePermanentIDLabel = "multiclusterservice.karmada.io/permanent-id"
	// MultiClusterServiceNamespaceLabel names the namespace of the MultiClusterService a Work belongs to.
	MultiClusterServiceNamespaceLabel = "multiclusterservice.karmada.io/namespace"
	// MultiClusterServiceNameLabel names the MultiClusterService a Work belongs to.
	MultiClusterServiceNameLabel = "multiclusterservice.karmada.io/name"
	// MultiClusterServiceFinalizer holds a MultiClusterService until what was made for it is gone.
	MultiClusterServiceFinalizer = "karmada.io/multiclusterservice-controller"
)

// MultiClusterService makes a service of one member reachable from others.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=multiclusterservices,scope=Namespaced,shortName=mcs,categories={karmada-io}
type MultiClusterService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired exposure.
	Spec MultiClusterServiceSpec `json:"spec"`

	// Status is the load balancer's.
	// +optional
	Status corev1.ServiceStatus `json:"status,omitempty"`
}

// MultiClusterServiceList is a list of multi-cluster services.
//
// +kubebuilder:object:root=true
type MultiClusterServiceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the services.
	Items []MultiClusterService `json:"items"`
}

// MultiClusterServiceSpec is the desired exposure.
type MultiClusterServiceSpec struct {
	// Types say how the service is exposed.
	Types []ExposureType `json:"types"`

	// Ports are the exposed ports. Without any, all are exposed.
	// +optional
	Ports []ExposurePort `json:"ports,omitempty"`

	// Range is deprecated; use providerClusters and consumerClusters.
	// +optional
	Range ExposureRange `json:"range,omitempty"`

	// ProviderClusters run the service. Without any, all clusters do that have it.
	// +optional
	ProviderClusters []ClusterSelector `json:"providerClusters,omitempty"`

	// ConsumerClusters reach the service. Without any, all clusters do.
	// +optional
	ConsumerClusters []ClusterSelector `json:"consumerClusters,omitempty"`
}

// ExposureType says how a service is exposed.
//
// +kubebuilder:validation:Enum=CrossCluster;LoadBalancer
type ExposureType string

const (
	// ExposureTypeCrossCluster exposes to other members.
	ExposureTypeCrossCluster ExposureType = "CrossCluster"
	// ExposureTypeLoadBalancer exposes by a load balancer.
	ExposureTypeLoadBalancer ExposureType = "LoadBalancer"
)

// ExposurePort is one exposed port.
type ExposurePort struct {
	// Name of the port in the service.
	// +optional
	Name string `json:"name,omitempty"`

	// Port is its number.
	Port int32 `json:"port"`
}

// ExposureRange lists clusters.
type ExposureRange struct {
	// ClusterNames are the names of the clusters.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// ClusterSelector chooses a cluster.
type ClusterSelector struct {
	// Name of the cluster.
	// +optional
	Name string `json:"name,omitempty"`
}
