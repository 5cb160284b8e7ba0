package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Binding is a ResourceBinding or a ClusterResourceBinding: everything but their
// scope is the same. BindingSpec and BindingStatus return parts of the binding
// itself, not copies.
//
// +kubebuilder:object:generate=false
type Binding interface {
	metav1.Object
	runtime.Object
	BindingSpec() *ResourceBindingSpec
	BindingStatus() *ResourceBindingStatus
	// PermanentID is the label by which the binding's Works are found, and its value.
	PermanentID() (key, value string)
}

// BindingSpec implements Binding.
func (b *ResourceBinding) BindingSpec() *ResourceBindingSpec { return &b.Spec }

// BindingStatus implements Binding.
func (b *ResourceBinding) BindingStatus() *ResourceBindingStatus { return &b.Status }

// PermanentID implements Binding.
func (b *ResourceBinding) PermanentID() (key, value string) {
	return ResourceBindingPermanentIDLabel, b.Labels[ResourceBindingPermanentIDLabel]
}

// BindingSpec implements Binding.
func (b *ClusterResourceBinding) BindingSpec() *ResourceBindingSpec { return &b.Spec }

// BindingStatus implements Binding.
func (b *ClusterResourceBinding) BindingStatus() *ResourceBindingStatus { return &b.Status }

// PermanentID implements Binding.
func (b *ClusterResourceBinding) PermanentID() (key, value string) {
	return ClusterResourceBindingPermanentIDLabel, b.Labels[ClusterResourceBindingPermanentIDLabel]
}

// RescheduleRequested says whether a binding is to be scheduled afresh: somebody asked
// for it and it was not scheduled since (contract section 9.1). Both times have whole
// seconds; a request of the very second of the last scheduling is open, and whoever
// answers it records a later one.
func RescheduleRequested(b Binding) bool {
	asked, last := b.BindingSpec().RescheduleTriggeredAt, b.BindingStatus().LastScheduledTime
	return asked != nil && (last == nil || !asked.Before(last))
}
