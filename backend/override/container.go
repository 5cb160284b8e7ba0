package override

import (
	"slices"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// podSpecs says where the kinds that have pods keep the pod's spec. Other kinds
// have no containers as far as overriders go, CronJob included.
var podSpecs = map[string]pointer{
	"Pod":         {"spec"},
	"ReplicaSet":  {"spec", "template", "spec"},
	"Deployment":  {"spec", "template", "spec"},
	"DaemonSet":   {"spec", "template", "spec"},
	"StatefulSet": {"spec", "template", "spec"},
	"Job":         {"spec", "template", "spec"},
}

// containers returns the containers of the object, to be changed in place, and
// where they are. Init containers are not among them.
func (e *editor) containers() ([]map[string]any, pointer, error) {
	spec, known := podSpecs[e.object.GetKind()]
	if !known {
		return nil, nil, nil
	}
	at := spec.key("containers")
	value, found := lookup(e.object.Object, at)
	if !found || value == nil {
		return nil, nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, nil, e.refuse(at.String(), "correct the object on the hub", "%s is no list", at)
	}
	containers := make([]map[string]any, len(list))
	for i := range list {
		if containers[i], ok = list[i].(map[string]any); !ok {
			return nil, nil, e.refuse(at.index(i).String(), "correct the object on the hub", "%s is no container", at.index(i))
		}
	}
	return containers, at, nil
}

// applyWords overrides the command or the args of the containers of a name. An
// object without such a container stays as it is.
func (e *editor) applyWords(field string, o *policyv1alpha1.CommandArgsOverrider) error {
	containers, at, err := e.containers()
	if err != nil {
		return err
	}
	for i, container := range containers {
		if name, _ := container["name"].(string); name != o.ContainerName {
			continue
		}
		path := at.index(i).key(field).String()
		var before []any
		if present := container[field]; present != nil {
			var ok bool
			if before, ok = present.([]any); !ok {
				return e.refuse(path, "correct the object on the hub", "%s is no list", path)
			}
		}
		after, ok := overrideWords(before, o)
		if !ok {
			return e.refuse(path, "use add or remove; to replace words, remove the old ones and add the new ones, or use a plaintext overrider",
				"there is no operator %q for %s", o.Operator, field)
		}
		if len(after) == len(before) {
			continue // nothing added, nothing removed
		}
		container[field] = after
		e.changed(path, orNil(before), after)
	}
	return nil
}

// overrideWords appends words, or drops all that equal one of them.
func overrideWords(words []any, o *policyv1alpha1.CommandArgsOverrider) ([]any, bool) {
	switch o.Operator {
	case policyv1alpha1.OverriderOpAdd:
		added := slices.Clone(words)
		for _, word := range o.Value {
			added = append(added, word)
		}
		return added, true
	case policyv1alpha1.OverriderOpRemove:
		kept := []any{}
		for _, word := range words {
			if text, ok := word.(string); !ok || !slices.Contains(o.Value, text) {
				kept = append(kept, word)
			}
		}
		return kept, true
	}
	return nil, false
}

// orNil makes an absent list an absent value.
func orNil(list []any) any {
	if list == nil {
		return nil
	}
	return list
}
