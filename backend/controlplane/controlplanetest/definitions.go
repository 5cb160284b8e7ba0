package controlplanetest

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

var definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// InstallDefinitions creates the definitions in the files, none of which is there
// yet, and returns once the member serves their kinds. A definition that is in
// several of the sets is made of the first.
func (m *Member) InstallDefinitions(ctx context.Context, sets ...fs.FS) error {
	client, err := dynamic.NewForConfig(m.Config())
	if err != nil {
		return err
	}
	made := map[string]schema.GroupVersionResource{}
	for _, files := range sets {
		paths, err := fs.Glob(files, "*.yaml")
		if err != nil {
			return err
		}
		for _, path := range paths {
			data, err := fs.ReadFile(files, path)
			if err != nil {
				return err
			}
			definition := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(data, &definition.Object); err != nil {
				return fmt.Errorf("read definition %s: %w", path, err)
			}
			name := definition.GetName()
			if _, again := made[name]; again {
				continue
			}
			if _, err := client.Resource(definitionsResource).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create definition %s: %w", name, err)
			}
			made[name] = definedResource(definition)
		}
	}
	for name, resource := range made {
		err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("wait until %s is served: %w", name, err)
		}
	}
	return nil
}

// definedResource is what a definition defines, in its first version that is served.
func definedResource(definition *unstructured.Unstructured) schema.GroupVersionResource {
	resource := schema.GroupVersionResource{}
	resource.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	resource.Resource, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, each := range versions {
		version, _ := each.(map[string]any)
		if version["served"] == true {
			resource.Version, _ = version["name"].(string)
			break
		}
	}
	return resource
}
