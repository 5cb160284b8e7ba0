package manifestwork

import (
	"errors"
	"fmt"
	"path"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// decode reads a manifest.
func decode(m ocmworkv1.Manifest) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(m.Raw); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	if o.GetName() == "" {
		return nil, errors.New("the manifest has no name")
	}
	return o, nil
}

// order returns the indices of manifests in the order of applying: as they are
// listed, but namespaces and definitions before what may need them.
func order(objects []*unstructured.Unstructured) []int {
	indices := make([]int, len(objects))
	for i := range indices {
		indices[i] = i
	}
	class := func(i int) int {
		if objects[i] == nil {
			return 2
		}
		switch objects[i].GroupVersionKind().GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}:
			return 0
		case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(indices, func(a, b int) int { return class(a) - class(b) })
	return indices
}

// identify names an object as configurations and records do.
func identify(resource schema.GroupVersionResource, o *unstructured.Unstructured) ocmworkv1.ResourceIdentifier {
	return ocmworkv1.ResourceIdentifier{Group: resource.Group, Resource: resource.Resource, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// matches says whether a pattern, in which * stands for any text, names a text.
func matches(pattern, text string) bool {
	if pattern == text {
		return true
	}
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}

// optionOf returns the first configuration that names an object. Names without a
// star go first.
func optionOf(options []ocmworkv1.ManifestConfigOption, id ocmworkv1.ResourceIdentifier) *ocmworkv1.ManifestConfigOption {
	for i := range options {
		if options[i].ResourceIdentifier == id {
			return &options[i]
		}
	}
	for i := range options {
		p := options[i].ResourceIdentifier
		if p.Group == id.Group && p.Resource == id.Resource && matches(p.Name, id.Name) && matches(p.Namespace, id.Namespace) {
			return &options[i]
		}
	}
	return nil
}

// strategyOf returns how an object is changed.
func strategyOf(option *ocmworkv1.ManifestConfigOption) ocmworkv1.UpdateStrategy {
	if option == nil || option.UpdateStrategy == nil || option.UpdateStrategy.Type == "" {
		return ocmworkv1.UpdateStrategy{Type: ocmworkv1.UpdateStrategyUpdate}
	}
	return *option.UpdateStrategy
}

// orphaned says whether an object stays when its work goes.
func orphaned(option *ocmworkv1.DeleteOption, id ocmworkv1.ResourceIdentifier) bool {
	if option == nil {
		return false
	}
	switch option.PropagationPolicy {
	case ocmworkv1.DeleteOrphan:
		return true
	case ocmworkv1.DeleteSelectivelyOrphan:
		return option.SelectivelyOrphan != nil && slices.ContainsFunc(option.SelectivelyOrphan.OrphaningRules, func(r ocmworkv1.OrphaningRule) bool {
			return r.Group == id.Group && r.Resource == id.Resource && matches(r.Name, id.Name) && matches(r.Namespace, id.Namespace)
		})
	}
	return false
}

// ownerOf is the reference by which a record owns objects.
func ownerOf(record *ocmworkv1.AppliedManifestWork) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ocmworkv1.GroupVersion.String(), Kind: "AppliedManifestWork", Name: record.Name, UID: record.UID}
}

// withOwner returns references with one put in, or taken out.
func withOwner(references []metav1.OwnerReference, owner metav1.OwnerReference, in bool) []metav1.OwnerReference {
	kept := slices.DeleteFunc(slices.Clone(references), func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
	if in {
		kept = append(kept, owner)
	}
	return kept
}

// owned says whether a record owns an object, and whether others do, too.
func owned(o *unstructured.Unstructured, owner metav1.OwnerReference) (by, byOthers bool) {
	for _, r := range o.GetOwnerReferences() {
		if r.UID == owner.UID {
			by = true
		} else {
			byOthers = true
		}
	}
	return by, byOthers
}
