package kubetest

import (
	"context"
	"io/fs"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"
)

// InstallDefinitions creates the custom resource definitions of a directory, such
// as deploy.HubCRDs(), and returns once all of their versions are served.
func (h *Hub) InstallDefinitions(t testing.TB, files fs.FS) {
	t.Helper()
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string][]string{} // plural names by group version
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			t.Fatalf("read definition %s: %v", name, err)
		}
		h.Create(t, definition)
		for _, version := range definition.Spec.Versions {
			at := definition.Spec.Group + "/" + version.Name
			served[at] = append(served[at], definition.Spec.Names.Plural)
		}
	}
	client, err := discovery.NewDiscoveryClientForConfig(h.Config())
	if err != nil {
		t.Fatal(err)
	}
	h.Await(t, "definitions to be served", func(context.Context) bool { return allServed(client, served) })
}

func allServed(client discovery.DiscoveryInterface, served map[string][]string) bool {
	for at, plurals := range served {
		list, err := client.ServerResourcesForGroupVersion(at)
		if err != nil {
			return false
		}
		found := map[string]bool{}
		for i := range list.APIResources {
			found[list.APIResources[i].Name] = true
		}
		for _, plural := range plurals {
			if !found[plural] {
				return false
			}
		}
	}
	return true
}
