package author

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/workload/manifest"
)

// Limits of what the audit is told of a change: it keeps 16 pairs of 64 and 256
// bytes.
const (
	toldChanges = 12
	toldPath    = 64
	toldValue   = 110
)

// hidden takes the place of a value that may be a secret.
const hidden = "(masked)"

// sensitive finds places and texts that may be secrets; an environment variable's
// value may always be one.
var sensitive = regexp.MustCompile(`(?i)passw|secret|token|credential|private|api-?key|\.env\[\d+\]\.value$`)

// tell adds to the audit entry under way what a write changed: each path with
// its value before and after. Either object may be nil. Of a Secret's values only
// their length is told, which is all that is compared.
func tell(ctx context.Context, before, after *unstructured.Unstructured) {
	found := map[string]string{}
	compare("", content(before), content(after), found)
	paths := slices.Sorted(maps.Keys(found))
	for i, path := range paths {
		if i == toldChanges {
			audit.SetDetail(ctx, "more", fmt.Sprintf("%d further changes", len(paths)-toldChanges))
			return
		}
		told := path
		if len(told) > toldPath { // the end says most
			told = "…" + strings.ToValidUTF8(told[len(told)-toldPath+len("…"):], "")
		}
		audit.SetDetail(ctx, told, found[path])
	}
}

// content is what of an object may change.
func content(object *unstructured.Unstructured) any {
	if object == nil {
		return nil
	}
	shown := manifest.Cleaned(object)
	for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		unstructured.RemoveNestedField(shown.Object, path...)
	}
	return shown.Object
}

// compare notes each value that differs; nil is what is not there. Lists of
// objects are compared by position.
func compare(path string, before, after any, found map[string]string) {
	if reflect.DeepEqual(before, after) {
		return
	}
	left, leftMap := before.(map[string]any)
	right, rightMap := after.(map[string]any)
	if (leftMap || before == nil) && (rightMap || after == nil) {
		keys := maps.Clone(left)
		if keys == nil {
			keys = map[string]any{}
		}
		maps.Copy(keys, right)
		for key := range keys {
			compare(strings.TrimPrefix(path+"."+key, "."), left[key], right[key], found)
		}
		return
	}
	from, leftList := before.([]any)
	to, rightList := after.([]any)
	if (leftList || before == nil) && (rightList || after == nil) && (holdsObjects(from) || holdsObjects(to)) {
		for i := range max(len(from), len(to)) {
			compare(path+"["+strconv.Itoa(i)+"]", at(from, i), at(to, i), found)
		}
		return
	}
	found[path] = short(path, before) + " → " + short(path, after)
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

// short is a value in short.
func short(path string, value any) string {
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
	if sensitive.MatchString(path) || sensitive.MatchString(text) {
		return hidden
	}
	if len(text) > toldValue {
		text = strings.ToValidUTF8(text[:toldValue], "") + "…"
	}
	return text
}
