package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// ResourceInterpreterContext is what an interpreter webhook is sent and what it answers with. It is never stored.
type ResourceInterpreterContext struct {
	metav1.TypeMeta `json:",inline"`

	// Request is the question.
	// +optional
	Request *ResourceInterpreterRequest `json:"request,omitempty"`

	// Response is the answer.
	// +optional
	Response *ResourceInterpreterResponse `json:"response,omitempty"`
}

// ResourceInterpreterRequest is one question about one object.
type ResourceInterpreterRequest struct {
	// UID tells this question from all others; the answer repeats it.
	UID types.UID `json:"uid"`

	// Kind of the object.
	Kind metav1.GroupVersionKind `json:"kind"`

	// Name of the object.
	Name string `json:"name"`

	// Namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Operation is what is asked.
	Operation InterpreterOperation `json:"operation"`

	// Object that the question is about.
	Object runtime.RawExtension `json:"object"`

	// ObservedObject is the member's object, for Retain.
	// +optional
	ObservedObject *runtime.RawExtension `json:"observedObject,omitempty"`

	// DesiredReplicas are to be set, for ReviseReplica.
	// +optional
	DesiredReplicas *int32 `json:"replicas,omitempty"`

	// AggregatedStatus is the members' status, for AggregateStatus.
	// +optional
	AggregatedStatus []workv1alpha2.AggregatedStatusItem `json:"aggregatedStatus,omitempty"`
}

// ResourceInterpreterResponse is the answer to one question.
type ResourceInterpreterResponse struct {
	// UID is that of the question.
	UID types.UID `json:"uid"`

	// Successful says whether the question could be answered.
	Successful bool `json:"successful"`

	// Status says why it could not.
	// +optional
	Status *RequestStatus `json:"status,omitempty"`

	// Patch changes the object of the question, for ReviseReplica, Retain and AggregateStatus.
	// +optional
	Patch []byte `json:"patch,omitempty"`

	// PatchType is the kind of patch.
	// +optional
	PatchType *PatchType `json:"patchType,omitempty"`

	// ReplicaRequirements is what one replica needs, for InterpretReplica.
	// +optional
	ReplicaRequirements *workv1alpha2.ReplicaRequirements `json:"replicaRequirements,omitempty"`

	// Replicas of the object, for InterpretReplica.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Components of the object, for InterpretComponent.
	// +optional
	Components []workv1alpha2.Component `json:"components,omitempty"`

	// Dependencies of the object, for InterpretDependency.
	// +optional
	Dependencies []DependentObjectReference `json:"dependencies,omitempty"`

	// RawStatus is the part of the status to collect, for InterpretStatus.
	// +optional
	RawStatus *runtime.RawExtension `json:"rawStatus,omitempty"`

	// Healthy is the verdict, for InterpretHealth.
	// +optional
	Healthy *bool `json:"healthy,omitempty"`
}

// RequestStatus says why a question was not answered.
type RequestStatus struct {
	// Message for people.
	// +optional
	Message string `json:"message,omitempty"`

	// Code is an HTTP status.
	// +optional
	Code int32 `json:"code,omitempty"`
}

// PatchType is the kind of a patch.
type PatchType string

// PatchTypeJSONPatch is a JSON patch (RFC 6902), the only kind there is.
const PatchTypeJSONPatch PatchType = "JSONPatch"

// DependentObjectReference names an object that another one needs, or all objects that a selector matches.
type DependentObjectReference struct {
	// APIVersion of the object.
	APIVersion string `json:"apiVersion"`

	// Kind of the object.
	Kind string `json:"kind"`

	// Namespace of the object, empty for kinds without namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object; with one, LabelSelector is not looked at.
	// +optional
	Name string `json:"name,omitempty"`

	// LabelSelector matches objects.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}
