package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceInterpreterCustomization teaches the control plane a kind by Lua scripts.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=resourceinterpretercustomizations,scope=Cluster,shortName=ric,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.spec.target.apiVersion`,name="TARGET-API-VERSION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.target.kind`,name="TARGET-KIND",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type ResourceInterpreterCustomization struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the kind and the scripts.
	Spec ResourceInterpreterCustomizationSpec `json:"spec"`
}

// ResourceInterpreterCustomizationList is a list of customizations.
//
// +kubebuilder:object:root=true
type ResourceInterpreterCustomizationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the customizations.
	Items []ResourceInterpreterCustomization `json:"items"`
}

// ResourceInterpreterCustomizationSpec holds a kind and its scripts.
type ResourceInterpreterCustomizationSpec struct {
	// Target is the kind.
	Target CustomizationTarget `json:"target"`

	// Customizations are the scripts.
	Customizations CustomizationRules `json:"customizations"`
}

// CustomizationTarget names a kind.
type CustomizationTarget struct {
	// APIVersion of the kind.
	APIVersion string `json:"apiVersion"`
	// Kind is the name of the kind.
	Kind string `json:"kind"`
}

// CustomizationRules are scripts; what has none is interpreted as if there were no customization.
type CustomizationRules struct {
	// Retention keeps values of the member's object. Function Retain(desiredObj, observedObj) returns the object to write.
	// +optional
	Retention *LocalValueRetention `json:"retention,omitempty"`

	// ReplicaResource finds replicas. Function GetReplicas(obj) returns their number and what one of them needs.
	// +optional
	ReplicaResource *ReplicaResourceRequirement `json:"replicaResource,omitempty"`

	// ReplicaRevision sets replicas. Function ReviseReplica(obj, desiredReplica) returns the changed object.
	// +optional
	ReplicaRevision *ReplicaRevision `json:"replicaRevision,omitempty"`

	// ComponentResource finds the parts of a kind that has several pod templates.
	// +optional
	ComponentResource *ComponentResourceRequirement `json:"componentResource,omitempty"`

	// StatusReflection collects status. Function ReflectStatus(observedObj) returns it.
	// +optional
	StatusReflection *StatusReflection `json:"statusReflection,omitempty"`

	// StatusAggregation adds the members' status up. Function AggregateStatus(desiredObj, statusItems) returns the hub object.
	// +optional
	StatusAggregation *StatusAggregation `json:"statusAggregation,omitempty"`

	// HealthInterpretation judges health. Function InterpretHealth(observedObj) returns true for healthy.
	// +optional
	HealthInterpretation *HealthInterpretation `json:"healthInterpretation,omitempty"`

	// DependencyInterpretation finds referenced objects. Function GetDependencies(desiredObj) returns them.
	// +optional
	DependencyInterpretation *DependencyInterpretation `json:"dependencyInterpretation,omitempty"`
}

// LocalValueRetention keeps values of the member's object.
type LocalValueRetention struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// ReplicaResourceRequirement finds replicas.
type ReplicaResourceRequirement struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// ReplicaRevision sets replicas.
type ReplicaRevision struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// ComponentResourceRequirement finds parts.
type ComponentResourceRequirement struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// StatusReflection collects status.
type StatusReflection struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// StatusAggregation adds status up.
type StatusAggregation struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// HealthInterpretation judges health.
type HealthInterpretation struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}

// DependencyInterpretation finds referenced objects.
type DependencyInterpretation struct {
	// LuaScript is the script.
	LuaScript string `json:"luaScript"`
}
