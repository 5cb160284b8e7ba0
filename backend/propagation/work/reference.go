package work

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// BindingID is the permanent id of the binding that a Work belongs to, "" if to none.
func BindingID(labels map[string]string) string {
	if id := labels[workv1alpha2.ResourceBindingPermanentIDLabel]; id != "" {
		return id
	}
	return labels[workv1alpha2.ClusterResourceBindingPermanentIDLabel]
}

// BindingName is the name of the binding that a Work belongs to; its namespace is
// empty for a ClusterResourceBinding.
func BindingName(annotations map[string]string) (types.NamespacedName, bool) {
	if name := annotations[workv1alpha2.ResourceBindingNameAnnotation]; name != "" {
		return types.NamespacedName{Namespace: annotations[workv1alpha2.ResourceBindingNamespaceAnnotation], Name: name}, true
	}
	name := annotations[workv1alpha2.ClusterResourceBindingNameAnnotation]
	return types.NamespacedName{Name: name}, name != ""
}

// Binding is a binding of either kind, for clients.
type Binding interface {
	client.Object
	workv1alpha2.Binding
}

// NewBinding returns an empty binding of the kind that a name is of: those
// without a namespace are ClusterResourceBindings.
func NewBinding(name types.NamespacedName) Binding {
	if name.Namespace == "" {
		return &workv1alpha2.ClusterResourceBinding{}
	}
	return &workv1alpha2.ResourceBinding{}
}

// Unstructured converts a typed object, whose kind must be set.
func Unstructured(object any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: fields}, nil
}
