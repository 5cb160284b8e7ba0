package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of this group on the wire.
const (
	// ResourceKindServiceExport is the kind that offers a service.
	ResourceKindServiceExport = "ServiceExport"
	// ResourceKindServiceImport is the kind that uses a service.
	ResourceKindServiceImport = "ServiceImport"
)

// ServiceExport offers the service of the same name to other members.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=serviceexports,scope=Namespaced,shortName=svcex
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date
type ServiceExport struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Status says whether the offer stands.
	// +optional
	Status ServiceExportStatus `json:"status,omitempty"`
}

// ServiceExportList is a list of exports.
//
// +kubebuilder:object:root=true
type ServiceExportList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the exports.
	Items []ServiceExport `json:"items"`
}

// ServiceExportStatus says whether an offer stands.
type ServiceExportStatus struct {
	// Conditions of the export.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
