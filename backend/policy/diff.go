package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Limits of what an audit entry tells about a change. The audit keeps 16 pairs
// of 64 and 256 bytes; what it would cut off is shortened here where it can
// still be understood.
const (
	diffPaths = 12
	diffPath  = 64
	diffValue = 110
)

// hidden takes the place of a value that may be a secret.
const hidden = "(masked)"

var sensitive = regexp.MustCompile(`(?i)passw|secret|token|credential|private|api-?key|/data(/|$)|/stringData(/|$)`)

// difference tells the audit what a write changed: a path and its values before
// and after for each, with those left out that may be secrets. Either object may
// be nil.
func difference(kind Kind, before, after *unstructured.Unstructured) map[string]string {
	d := differ{masks: mayTouchSecrets(before) || mayTouchSecrets(after), found: map[string]string{}}
	d.compare("", content(kind, before), content(kind, after))
	if d.more > 0 {
		d.found["more"] = fmt.Sprintf("%d further changes", d.more)
	}
	return d.found
}

func content(kind Kind, object *unstructured.Unstructured) any {
	if object == nil {
		return nil
	}
	text := written(kind, object)
	delete(text, "apiVersion")
	delete(text, "kind")
	metadata, _ := text["metadata"].(map[string]any)
	delete(metadata, "name")
	delete(metadata, "namespace")
	return text
}

// mayTouchSecrets says whether an override policy can mean Secrets, so that its
// values may be parts of them.
func mayTouchSecrets(object *unstructured.Unstructured) bool {
	if object == nil || !strings.HasSuffix(object.GetKind(), "OverridePolicy") {
		return false
	}
	selectors, _, _ := unstructured.NestedSlice(object.Object, "spec", "resourceSelectors")
	return len(selectors) == 0 || slices.ContainsFunc(selectors, func(s any) bool {
		selector, _ := s.(map[string]any)
		return selector["kind"] == "Secret"
	})
}

type differ struct {
	masks bool
	found map[string]string
	more  int
}

// compare walks two values side by side; nil is what is not there. Lists are
// compared by position.
func (d *differ) compare(path string, before, after any) {
	if equalJSON(before, after) {
		return
	}
	left, leftMap := before.(map[string]any)
	right, rightMap := after.(map[string]any)
	if (leftMap || before == nil) && (rightMap || after == nil) {
		defer func(masks bool) { d.masks = masks }(d.masks)
		d.masks = d.masks || about(left) || about(right)
		if d.free(path, left, right) {
			d.note(path+".value", hidden)
			left, right = without(left, "value"), without(right, "value")
		}
		keys := slices.Sorted(maps.Keys(left))
		for key := range right {
			if _, both := left[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			d.compare(join(path, key), left[key], right[key])
		}
		return
	}
	from, leftList := before.([]any)
	to, rightList := after.([]any)
	if (leftList || before == nil) && (rightList || after == nil) && (holdsObjects(from) || holdsObjects(to)) {
		for i := range max(len(from), len(to)) {
			d.compare(path+"["+strconv.Itoa(i)+"]", at(from, i), at(to, i))
		}
		return
	}
	d.note(path, shown(before)+" → "+shown(after))
}

// about says whether an overrider is about a place that may hold a secret.
func about(overrider map[string]any) bool {
	return slices.ContainsFunc([]string{"path", "subPath", "fieldPath"}, func(key string) bool {
		text, _ := overrider[key].(string)
		return sensitive.MatchString(text)
	})
}

// free says whether the values of an overrider differ and may be secrets: it
// writes what it likes where it likes.
func (d *differ) free(path string, before, after map[string]any) bool {
	if equalJSON(before["value"], after["value"]) || !strings.Contains(path, "verrid") {
		return false
	}
	return d.masks || slices.ContainsFunc([]any{before["value"], after["value"]}, func(value any) bool {
		text, err := json.Marshal(value)
		return err != nil || sensitive.Match(text)
	})
}

func (d *differ) note(path, text string) {
	if len(d.found) == diffPaths {
		d.more++
		return
	}
	path = strings.TrimPrefix(path, ".")
	if len(path) > diffPath { // the end says most
		path = "…" + strings.ToValidUTF8(path[len(path)-diffPath+len("…"):], "")
	}
	d.found[path] = text
}

func join(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return path + "[" + key + "]"
	}
	return path + "." + key
}

func without(object map[string]any, key string) map[string]any {
	copied := maps.Clone(object)
	delete(copied, key)
	return copied
}

func holdsObjects(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return ok })
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// shown is a value in short.
func shown(value any) string {
	if value == nil {
		return "none"
	}
	text, ok := value.(string)
	if !ok {
		data, err := json.Marshal(value)
		if err != nil {
			return "?"
		}
		text = string(data)
	}
	if sensitive.MatchString(text) {
		return hidden
	}
	if len(text) > diffValue {
		text = strings.ToValidUTF8(text[:diffValue], "") + "…"
	}
	return text
}
