package manifest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/workload/fact"
)

// Change is one changed place of a manifest and the rule that changed it.
type Change struct {
	// Path is a JSON pointer.
	Path string `json:"path"`
	// Line is that of the cluster's YAML, from 1; 0 if the change took it away.
	Line int `json:"line"`
	// Before and After are the values there, absent if there was or is none.
	Before any            `json:"before,omitempty" validate:"optional"`
	After  any            `json:"after,omitempty" validate:"optional"`
	Policy fact.PolicyRef `json:"policy"`
	// Rule is the position in overrideRules, from 0.
	Rule int `json:"rule"`
	// Overrider is the list in the rule, such as imageOverrider; "replicas" for
	// what scheduling by the propagation policy changed.
	Overrider string `json:"overrider"`
}

// Differences tells every path at which two trees of objects differ.
func Differences(path string, before, after any, tell func(path string, before, after any)) {
	first, isMap := before.(map[string]any)
	second, alsoMap := after.(map[string]any)
	if !isMap || !alsoMap {
		if !reflect.DeepEqual(before, after) {
			tell(path, before, after)
		}
		return
	}
	keys := slices.Sorted(maps.Keys(first))
	for key := range second {
		if _, known := first[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		Differences(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), first[key], second[key], tell)
	}
}

// Changes adds what overrides changed, and the lines of all changes.
func Changes(changes []Change, overridden []override.Change, text string, secret bool) ([]Change, error) {
	at, err := linesOf(text)
	if err != nil {
		return nil, err
	}
	all := make([]Change, 0, len(changes)+len(overridden))
	all = append(all, changes...)
	for _, change := range overridden {
		all = append(all, Change{
			Path: change.Path, Before: change.Before, After: change.After, Rule: change.Rule, Overrider: change.Overrider,
			Policy: fact.PolicyOf(change.Policy.Kind, change.Policy.Namespace, change.Policy.Name),
		})
	}
	for i := range all {
		all[i].Line = at.at(all[i].Path)
		if secret {
			all[i].Before, all[i].After = maskedChange(all[i].Path, all[i].Before), maskedChange(all[i].Path, all[i].After)
		}
	}
	return all, nil
}
