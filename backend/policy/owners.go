package policy

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldManager is whom the hub API takes writes of the dashboard for.
const FieldManager = "muster-dashboard"

// A server-side apply removes a field only from those who applied it: one that
// somebody else owns stays when it is left out, without a word. What the
// document leaves out is therefore looked for here.

// removal is a field that a document leaves out and an apply would leave in
// place.
type removal struct {
	path []string
	// owners are the other managers that own it or parts of it.
	owners []string
}

// removals finds what applying desired would not remove of live.
func removals(kind Kind, schema *kindSchema, live, desired *unstructured.Unstructured) []removal {
	given, defaulted := desired.Object, schema.withDefaults(desired.Object)
	var found []removal
	collect := func(path []string, granular bool) {
		last := path[len(path)-1]
		if path[0] == "metadata" && (last == kind.idLabel || last == lastApplied) {
			return
		}
		if owners, alone := ownersOf(live.GetManagedFields(), path, granular); !alone {
			found = append(found, removal{path: path, owners: owners})
		}
	}
	spec := structural{schema.structural}.below("spec")
	missing(mapAt(live.Object, "spec"), mapAt(given, "spec"), mapAt(defaulted, "spec"), spec, []string{"spec"}, collect)
	for _, key := range []string{"labels", "annotations"} {
		values := mapAt(given, "metadata", key)
		missing(mapAt(live.Object, "metadata", key), values, values, structural{}, []string{"metadata", key}, collect)
	}
	return found
}

// missing collects the keys of live that given lacks, unless live holds what
// defaulting will put there. Lists, and maps that are replaced whole, are
// values: an apply settles them.
func missing(live, given, defaulted map[string]any, schema structural, path []string, collect func(path []string, granular bool)) {
	for _, key := range slices.Sorted(maps.Keys(live)) {
		at := append(path[:len(path):len(path)], key)
		value, kept := given[key]
		inner, isMap := live[key].(map[string]any)
		below := schema.below(key)
		granular := isMap && !below.atomic()
		if !kept {
			if usual, has := defaulted[key]; !isEmptyValue(live[key]) && (!has || !equalJSON(usual, live[key])) {
				collect(at, granular)
			}
			continue
		}
		if !granular {
			continue
		}
		other, _ := value.(map[string]any)
		usual, _ := defaulted[key].(map[string]any)
		missing(inner, other, usual, below, at, collect)
	}
}

// structural is a part of a schema; the empty one knows nothing.
type structural struct{ *structuralschema.Structural }

func (s structural) below(key string) structural {
	if s.Structural == nil {
		return s
	}
	property, ok := s.Properties[key]
	if !ok {
		return structural{}
	}
	return structural{&property}
}

func (s structural) atomic() bool {
	return s.Structural != nil && s.XMapType != nil && *s.XMapType == "atomic"
}

func isEmptyValue(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func mapAt(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// ownersOf returns the managers, but for the dashboard, that own a value at a
// path or below it, and whether the dashboard applied it alone, so that an apply
// takes it away. Others may own that there is a map, and nothing in it: they are
// no owners, but an apply would leave the empty map.
func ownersOf(entries []metav1.ManagedFieldsEntry, path []string, granular bool) (owners []string, alone bool) {
	applied, held := false, false
	for _, entry := range entries {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			continue
		}
		there, value := holds(&set, path, granular)
		switch {
		case !there:
		case entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply:
			applied = true
		default:
			held = true
			if value && entry.Manager != FieldManager && !slices.Contains(owners, entry.Manager) {
				owners = append(owners, entry.Manager)
			}
		}
	}
	return owners, applied && !held
}

// holds says whether a set has a path or something below it, and whether that is
// more than the existence of a granular map.
func holds(set *fieldpath.Set, path []string, granular bool) (there, value bool) {
	for _, key := range path[:len(path)-1] {
		set = set.WithPrefix(fieldpath.PathElement{FieldName: &key})
	}
	last := fieldpath.PathElement{FieldName: &path[len(path)-1]}
	below, at := !set.WithPrefix(last).Empty(), set.Members.Has(last)
	return below || at, below || at && !granular
}

// conflicts reads who owns which field from the API server's refusal of an
// apply.
func conflicts(status metav1.Status) map[string][]string {
	owners := map[string][]string{}
	if status.Details == nil {
		return owners
	}
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			name := strings.TrimPrefix(cause.Field, ".")
			owners[name] = append(owners[name], quotedIn(cause.Message))
		}
	}
	return owners
}

// quotedIn is the name in: conflict with "kubectl" using policy.karmada.io/v1alpha1.
func quotedIn(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	name, _, found := strings.Cut(rest, `"`)
	if !found {
		return "another manager"
	}
	return name
}

// dotted writes a path as problems name fields.
func dotted(path []string) string {
	var b strings.Builder
	for i, key := range path {
		switch {
		case strings.ContainsAny(key, "./"):
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// equalJSON compares JSON values, whatever Go types hold the numbers.
func equalJSON(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
