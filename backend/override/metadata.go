package override

import (
	"maps"
	"slices"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// applyMetadata overrides the labels or the annotations: add sets keys, replace
// sets those that are there, remove drops keys whatever their values.
func (e *editor) applyMetadata(field string, o *policyv1alpha1.LabelAnnotationOverrider) error {
	at := pointer{"metadata", field}
	metadata, ok := e.object.Object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	values, _ := metadata[field].(map[string]any)
	if values == nil && metadata[field] != nil {
		return e.refuse(at.String(), "correct the object on the hub", "%s is no map", at)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Value)) {
		before, found := values[key]
		path := at.key(key).String()
		switch o.Operator {
		case policyv1alpha1.OverriderOpAdd:
			if values == nil {
				values = map[string]any{}
				metadata[field] = values
				e.object.Object["metadata"] = metadata
			}
			values[key] = o.Value[key]
			e.changed(path, before, o.Value[key])
		case policyv1alpha1.OverriderOpReplace:
			if found {
				values[key] = o.Value[key]
				e.changed(path, before, o.Value[key])
			}
		case policyv1alpha1.OverriderOpRemove:
			if found {
				delete(values, key)
				e.changed(path, before, nil)
			}
		default:
			return e.refuse(path, "use add, remove or replace", "there is no operator %q for %s", o.Operator, field)
		}
	}
	return nil
}
