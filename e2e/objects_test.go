package e2e_test

import (
	"crypto/x509/pkix"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func groupVersion(text string) schema.GroupVersion {
	gv, err := schema.ParseGroupVersion(text)
	if err != nil {
		panic(err) // a constant of a test, or what a server said of itself
	}
	return gv
}

// manifest is a bare object of one kind.
func manifest(apiVersion, kind, namespace, name string) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

// work creates a Work with one manifest, as the scheduler will.
func work(t testing.TB, h *hub, namespace, name string, object map[string]any) {
	t.Helper()
	w := manifest("work.karmada.io/v1alpha1", "Work", namespace, name)
	w["metadata"].(map[string]any)["finalizers"] = []any{"karmada.io/execution-controller"}
	w["spec"] = map[string]any{"workload": map[string]any{"manifests": []any{object}}}
	_, err := h.dynamic.Resource(worksResource).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: w}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// clusterObject is a Cluster as a pull agent creates it.
func clusterObject(name, id string) *unstructured.Unstructured {
	c := manifest("cluster.karmada.io/v1alpha1", "Cluster", "", name)
	c["spec"] = map[string]any{
		"id": id, "syncMode": "Pull", "apiEndpoint": "https://127.0.0.1:6443",
		"secretRef":             map[string]any{"namespace": "karmada-cluster", "name": name},
		"impersonatorSecretRef": map[string]any{"namespace": "karmada-cluster", "name": name + "-impersonator"},
	}
	return &unstructured.Unstructured{Object: c}
}

func createCluster(t testing.TB, client dynamic.Interface, name, id string) error {
	t.Helper()
	_, err := client.Resource(clustersResource).Create(t.Context(), clusterObject(name, id), metav1.CreateOptions{})
	return err
}

// metaOf is an object's metadata, whatever its kind.
func metaOf(object runtime.Object) (metav1.Object, error) { return meta.Accessor(object) }

func subject(commonName string) pkix.Name { return pkix.Name{CommonName: commonName} }
