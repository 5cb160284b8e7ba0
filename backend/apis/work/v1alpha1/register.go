package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the name of the API group.
const GroupName = "work.karmada.io"

var (
	// GroupVersion is the group and version that all kinds of this package are served under.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the kinds of this package with a scheme, under GroupVersion.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource name with the group of this package.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Work{},
		&WorkList{},
		&ResourceBinding{},
		&ResourceBindingList{},
		&ClusterResourceBinding{},
		&ClusterResourceBindingList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
