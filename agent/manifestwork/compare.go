package manifestwork

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/agent/interpret/native"
)

// hash identifies what an object says.
type hash [sha256.Size]byte

// memo remembers a pair of which nothing is left to do: what was wanted, and what
// the member made of it. Servers fill in defaults, so that the two seldom look
// equal.
type memo struct{ wanted, content hash }

func sum(value any) hash {
	data, err := json.Marshal(value) // keys are sorted
	if err != nil {
		return hash{}
	}
	return sha256.Sum256(data)
}

// contentOf is what somebody may have changed of an object: all but its status and
// its metadata, of which only the labels and annotations count that wanted names.
func contentOf(o, wanted *unstructured.Unstructured) hash {
	content := make(map[string]any, len(o.Object)+1)
	for key, value := range o.Object {
		if key != "metadata" && key != "status" {
			content[key] = value
		}
	}
	content["metadata"] = []map[string]string{
		named(o.GetLabels(), wanted.GetLabels()), named(o.GetAnnotations(), wanted.GetAnnotations()),
	}
	return sum(content)
}

// named returns those of all whose keys some has.
func named(all, some map[string]string) map[string]string {
	picked := map[string]string{}
	for key := range some {
		if value, ok := all[key]; ok {
			picked[key] = value
		}
	}
	return picked
}

// merge returns the object with which to replace observed: what is wanted, and
// what belongs to the member. owners are the references it shall have.
func merge(wanted, observed *unstructured.Unstructured, owners []metav1.OwnerReference) *unstructured.Unstructured {
	o := native.Retain(wanted, observed)
	delete(o.Object, "status")
	o.SetResourceVersion(observed.GetResourceVersion())
	o.SetUID("")
	o.SetLabels(union(observed.GetLabels(), wanted.GetLabels()))
	o.SetAnnotations(union(observed.GetAnnotations(), wanted.GetAnnotations()))
	o.SetFinalizers(observed.GetFinalizers())
	o.SetOwnerReferences(owners)
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	return o
}

func union(base, more map[string]string) map[string]string {
	all := maps.Clone(base)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	if len(all) == 0 {
		return nil
	}
	return all
}

// marked says whether an object has the labels, annotations and owners it shall.
func marked(wanted, observed *unstructured.Unstructured, owners []metav1.OwnerReference) bool {
	return includes(observed.GetLabels(), wanted.GetLabels()) && includes(observed.GetAnnotations(), wanted.GetAnnotations()) &&
		sameOwners(observed.GetOwnerReferences(), owners)
}

func includes(all, some map[string]string) bool {
	for key, value := range some {
		if got, ok := all[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].UID != b[i].UID {
			return false
		}
	}
	return true
}

// covers says whether observed says all that wanted does, and perhaps more.
func covers(observed, wanted any) bool {
	switch w := wanted.(type) {
	case map[string]any:
		o, ok := observed.(map[string]any)
		if !ok {
			return len(w) == 0 && observed == nil
		}
		for key, value := range w {
			if !covers(o[key], value) {
				return false
			}
		}
		return true
	case []any:
		o, ok := observed.([]any)
		if !ok || len(o) != len(w) {
			return len(w) == 0 && observed == nil
		}
		for i := range w {
			if !covers(o[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(observed, wanted) || sameNumber(observed, wanted)
}

func sameNumber(a, b any) bool {
	x, okX := number(a)
	y, okY := number(b)
	return okX && okY && x == y
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// says reports whether observed says, outside of status and metadata, what wanted
// does.
func says(observed, wanted *unstructured.Unstructured) bool {
	for key, value := range wanted.Object {
		if key != "metadata" && key != "status" && !covers(observed.Object[key], value) {
			return false
		}
	}
	return true
}
