package openapi_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/apis/openapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// A reference that no server knows makes the API server refuse to start.
func TestDefinitionsReferOnlyToKnownModels(t *testing.T) {
	known := map[string]bool{}
	for _, model := range []interface{ OpenAPIModelName() string }{
		corev1.Taint{}, corev1.Toleration{}, corev1.NodeSelector{}, corev1.NodeSelectorRequirement{}, resource.Quantity{},
		metav1.ObjectMeta{}, metav1.ListMeta{}, metav1.LabelSelector{}, metav1.Condition{}, metav1.Time{},
		runtime.RawExtension{}, apiextensionsv1.JSON{},
	} {
		known[model.OpenAPIModelName()] = true
	}
	var referred []string
	definitions := openapi.Definitions(func(name string) spec.Ref {
		referred = append(referred, name)
		return spec.MustCreateRef("#/definitions/" + name)
	})
	for name, definition := range definitions {
		known[name] = true
		referred = append(referred, definition.Dependencies...)
	}
	for _, name := range referred {
		if !known[name] {
			t.Errorf("reference to %s, which nobody defines", name)
		}
	}
	for _, kind := range []interface{ OpenAPIModelName() string }{
		clusterv1alpha1.Cluster{}, clusterv1alpha1.ClusterList{}, clusterv1alpha1.ClusterProxyOptions{}, workv1alpha1.Work{}, workv1alpha1.WorkList{},
		workv1alpha2.ResourceBinding{}, workv1alpha2.ResourceBindingList{}, workv1alpha2.ClusterResourceBinding{}, workv1alpha2.ClusterResourceBindingList{},
		workv1alpha1.ResourceBinding{}, workv1alpha1.ResourceBindingList{}, workv1alpha1.ClusterResourceBinding{}, workv1alpha1.ClusterResourceBindingList{},
	} {
		if definitions[kind.OpenAPIModelName()].Schema.Description == "" {
			t.Errorf("%s has no documented definition", kind.OpenAPIModelName())
		}
	}
}
