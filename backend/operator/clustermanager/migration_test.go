package clustermanager_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/operatortest"
	"muster.dev/muster/deploy"
)

const setsKind = "managedclustersets.cluster.open-cluster-management.io"

// formerSets is the definition of cluster sets as an older hub had it: with a version that ours has not, which stores the objects.
func formerSets(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := fs.ReadFile(deploy.HubCRDs(), "cluster.open-cluster-management.io_managedclustersets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kind := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, kind); err != nil {
		t.Fatal(err)
	}
	former := *kind.Spec.Versions[0].DeepCopy()
	former.Name, former.Storage = "v1beta1", true
	kind.Spec.Versions[0].Storage = false
	kind.Spec.Versions = append([]apiextensionsv1.CustomResourceDefinitionVersion{former}, kind.Spec.Versions...)
	return kind
}

// A hub of an older release has objects stored in a version that our definitions do not have: they are written anew first, and it is said.
func TestObjectsOfFormerVersionsAreMigrated(t *testing.T) {
	p := planes.hub
	before := settled(t, p)
	kind := formerSets(t)
	if err := p.API.Create(t.Context(), kind); err != nil {
		t.Fatal(err)
	}
	old := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClusterSet", "metadata": map[string]any{"name": "old"},
	}}
	operatortest.Eventually(t, "an object in the former version", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(p.API.Create(ctx, old.DeepCopy()))
	})
	operatortest.Eventually(t, "the newer version is stored", func(ctx context.Context) error {
		current := &apiextensionsv1.CustomResourceDefinition{}
		if err := p.API.Get(ctx, client.ObjectKey{Name: setsKind}, current); err != nil {
			return err
		}
		if len(current.Status.StoredVersions) == 2 {
			return nil
		}
		current.Spec.Versions[0].Storage, current.Spec.Versions[1].Storage = false, true
		if err := p.API.Update(ctx, current); err != nil {
			return err
		}
		return fmt.Errorf("stored versions: %v", current.Status.StoredVersions)
	})

	operate(t, p)
	cm := &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster-manager"}}
	if err := p.API.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "migrated and applied", conditions(p, cm.Name, "MigrationSucceeded=True/StorageVersionMigrationSucceed", "Applied=True/ClusterManagerApplied"))
	current := &apiextensionsv1.CustomResourceDefinition{}
	if err := p.API.Get(t.Context(), client.ObjectKey{Name: setsKind}, current); err != nil {
		t.Fatal(err)
	}
	served := slices.ContainsFunc(current.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1beta1" })
	if diff := cmp.Diff([]string{"v1beta2"}, current.Status.StoredVersions); diff != "" || served {
		t.Errorf("the former version is served: %t, stored versions: %s", served, diff)
	}
	old.SetAPIVersion("cluster.open-cluster-management.io/v1beta2")
	if err := p.API.Get(t.Context(), client.ObjectKey{Name: "old"}, old); err != nil {
		t.Errorf("the object of the former version: %v", err)
	}

	if err := p.API.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	p.Gone(t, cm)
	p.AsBefore(t, before)
}
