package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// kind is a kind of templates.
type kind struct {
	apiVersion, name string
	resource         schema.GroupVersionResource
}

// served is what the hub serves.
type served struct {
	kinds map[kind]struct{}
	// names are all kinds that are served, in any version.
	names map[schema.GroupKind]struct{}
	// silent are the groups whose server did not say what it serves.
	silent map[string]struct{}
	mapper meta.RESTMapper
}

// readKinds asks the hub what it serves.
func readKinds(from discovery.DiscoveryInterface, scope *Scope) (*served, error) {
	groups, lists, err := from.ServerGroupsAndResources()
	s := &served{kinds: map[kind]struct{}{}, names: map[schema.GroupKind]struct{}{}, silent: map[string]struct{}{}}
	var partly *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partly):
		for version := range partly.Groups {
			s.silent[version.Group] = struct{}{}
		}
	case err != nil:
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	byVersion := map[string][]metav1.APIResource{}
	for _, list := range lists {
		byVersion[list.GroupVersion] = append(byVersion[list.GroupVersion], list.APIResources...)
	}
	var mapped []*restmapper.APIGroupResources
	for _, group := range groups {
		s.add(group, byVersion, scope)
		resources := &restmapper.APIGroupResources{Group: *group, VersionedResources: map[string][]metav1.APIResource{}}
		for _, version := range group.Versions {
			resources.VersionedResources[version.Version] = byVersion[version.GroupVersion]
		}
		mapped = append(mapped, resources)
	}
	s.mapper = restmapper.NewDiscoveryRESTMapper(mapped)
	return s, nil
}

// add takes the kinds of a group, each in the version that the group prefers, or
// else the first that has it.
func (s *served) add(group *metav1.APIGroup, byVersion map[string][]metav1.APIResource, scope *Scope) {
	versions := []metav1.GroupVersionForDiscovery{group.PreferredVersion}
	versions = append(versions, group.Versions...)
	taken := map[string]bool{}
	for _, version := range versions {
		for _, resource := range byVersion[version.GroupVersion] {
			name := schema.GroupKind{Group: group.Name, Kind: resource.Kind}
			s.names[name] = struct{}{}
			if taken[resource.Name] || strings.Contains(resource.Name, "/") || scope.SkipsKind(name) || !isTemplate(resource.Verbs) {
				continue
			}
			taken[resource.Name] = true
			s.kinds[kind{
				apiVersion: version.GroupVersion, name: resource.Kind,
				resource: schema.GroupVersionResource{Group: group.Name, Version: version.Version, Resource: resource.Name},
			}] = struct{}{}
		}
	}
}

func isTemplate(verbs metav1.Verbs) bool {
	return slices.Contains(verbs, "list") && slices.Contains(verbs, "watch") && slices.Contains(verbs, "delete")
}

// missing says whether a kind that somebody has installed is not among those that
// are served: the hub tells of new kinds a moment after they are established.
func (s *served) missing(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	established := slices.ContainsFunc(conditions, func(condition any) bool {
		c, _ := condition.(map[string]any)
		return c["type"] == "Established" && c["status"] == "True"
	})
	if !established || definition.GetDeletionTimestamp() != nil {
		return false
	}
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(definition.Object, "status", "acceptedNames", "kind")
	return !contains(s.silent, group) && !contains(s.names, schema.GroupKind{Group: group, Kind: name})
}

// mapper is a RESTMapper that can be replaced as a whole.
type mapper struct {
	current atomic.Pointer[meta.RESTMapper]
}

func (m *mapper) replace(with meta.RESTMapper) { m.current.Store(&with) }

func (m *mapper) get() meta.RESTMapper {
	if current := m.current.Load(); current != nil {
		return *current
	}
	return meta.MultiRESTMapper{}
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return m.get().KindFor(resource)
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return m.get().KindsFor(resource)
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return m.get().ResourceFor(input)
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return m.get().ResourcesFor(input)
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return m.get().RESTMapping(gk, versions...)
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return m.get().RESTMappings(gk, versions...)
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return m.get().ResourceSingularizer(resource)
}
