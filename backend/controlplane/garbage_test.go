package controlplane_test

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// What a cluster owns goes with it, of kinds that the collector reads where they are
// stored, too.
func TestGarbageOfClusters(t *testing.T) {
	plane := embeddedPlane(t)
	api := kubernetes.NewForConfigOrDie(plane.Config())
	client, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": clusterv1alpha1.GroupVersion.String(), "kind": "Cluster", "metadata": map[string]any{"name": "owner"},
		"spec": map[string]any{"syncMode": "Pull"},
	}}
	resource := client.Resource(clusterv1alpha1.GroupVersion.WithResource("clusters"))
	made, err := resource.Create(t.Context(), cluster, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := metav1.OwnerReference{APIVersion: made.GetAPIVersion(), Kind: made.GetKind(), Name: made.GetName(), UID: made.GetUID()}
	for _, name := range []string{"owned", "free"} {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if name == "owned" {
			role.OwnerReferences = []metav1.OwnerReference{owner}
		}
		if _, err := api.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := resource.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the role goes with its cluster", func(ctx context.Context) bool {
		_, err := api.RbacV1().Roles("default").Get(ctx, "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if _, err := api.RbacV1().Roles("default").Get(t.Context(), "free", metav1.GetOptions{}); err != nil {
		t.Errorf("a role that nobody owns: %v", err)
	}
}
