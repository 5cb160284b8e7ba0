package workloadtest

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/template"
)

// Templates are the world's templates as template.Cache gives them.
type Templates struct{ world *World }

// Templates returns the templates of the world.
func (w *World) Templates() *Templates { return &Templates{w} }

// Synced says that all are known.
func (t *Templates) Synced() bool { return true }

// Get returns a template.
func (t *Templates) Get(ref template.Ref) (*unstructured.Unstructured, bool) {
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	found, ok := t.world.templates[ref]
	return found, ok
}

// List returns the templates of a kind.
func (t *Templates) List(apiVersion, kind, namespace string) []*unstructured.Unstructured {
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	var found []*unstructured.Unstructured
	for ref, object := range t.world.templates {
		if ref.APIVersion == apiVersion && ref.Kind == kind && (namespace == "" || ref.Namespace == namespace) {
			found = append(found, object)
		}
	}
	return found
}

// Subscribe has changed called for every template that is there, and for every
// later change.
func (t *Templates) Subscribe(changed func(ref template.Ref, old, current *unstructured.Unstructured)) {
	t.world.mu.Lock()
	t.world.told = append(t.world.told, changed)
	known := make(map[template.Ref]*unstructured.Unstructured, len(t.world.templates))
	for ref, object := range t.world.templates {
		known[ref] = object
	}
	t.world.mu.Unlock()
	for ref, object := range known {
		changed(ref, nil, object)
	}
}

// Mapper knows the kinds of the templates that are there.
func (t *Templates) Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, known := range []struct {
		gvk   schema.GroupVersionKind
		scope meta.RESTScope
	}{
		{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace},
		{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace},
		{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, meta.RESTScopeNamespace},
		{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot},
	} {
		mapper.Add(known.gvk, known.scope)
	}
	return mapper
}
