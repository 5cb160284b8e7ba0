package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceImport uses a service that other members offer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=serviceimports,scope=Namespaced,shortName=svcim
// +kubebuilder:printcolumn:JSONPath=`.spec.type`,name="Type",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.ips`,name="IP",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date
type ServiceImport struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the imported service.
	// +optional
	Spec ServiceImportSpec `json:"spec,omitempty"`

	// Status says who offers it.
	// +optional
	Status ServiceImportStatus `json:"status,omitempty"`
}

// ServiceImportList is a list of imports.
//
// +kubebuilder:object:root=true
type ServiceImportList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the imports.
	Items []ServiceImport `json:"items"`
}

// ServiceImportType says how an imported service is reached.
//
// +kubebuilder:validation:Enum=ClusterSetIP;Headless
type ServiceImportType string

const (
	// ClusterSetIP reaches it by one address for all members.
	ClusterSetIP ServiceImportType = "ClusterSetIP"
	// Headless reaches its pods directly.
	Headless ServiceImportType = "Headless"
)

// ServiceImportSpec is an imported service.
type ServiceImportSpec struct {
	// Ports of the service.
	// +listType=atomic
	Ports []ServicePort `json:"ports"`

	// IPs of the service, when its type is ClusterSetIP.
	// +kubebuilder:validation:MaxItems=1
	// +optional
	IPs []string `json:"ips,omitempty"`

	// Type says how it is reached.
	Type ServiceImportType `json:"type"`

	// SessionAffinity keeps a client with one backend: None or ClientIP.
	// +optional
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// SessionAffinityConfig tunes the session affinity.
	// +optional
	SessionAffinityConfig *corev1.SessionAffinityConfig `json:"sessionAffinityConfig,omitempty"`
}

// ServicePort is one port of an imported service.
type ServicePort struct {
	// Name of the port; needed when there are several.
	// +optional
	Name string `json:"name,omitempty"`

	// Protocol of the port: TCP, UDP or SCTP; TCP by default.
	// +optional
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// AppProtocol is what is spoken on the port, for example http.
	// +optional
	AppProtocol *string `json:"appProtocol,omitempty"`

	// Port is its number.
	Port int32 `json:"port"`
}

// ServiceImportStatus says who offers a service.
type ServiceImportStatus struct {
	// Clusters that offer it.
	// +listType=map
	// +listMapKey=cluster
	// +optional
	Clusters []ClusterStatus `json:"clusters,omitempty"`
}

// ClusterStatus is one cluster that offers a service.
type ClusterStatus struct {
	// Cluster is its name.
	Cluster string `json:"cluster"`
}
