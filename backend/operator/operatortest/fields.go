package operatortest

import (
	"reflect"
	"strings"
	"testing"
)

// Fields are the paths of all fields of a spec of ours, as people write them. Types
// of Kubernetes count as one field each.
func Fields[T any]() []string { return fieldsOf(reflect.TypeFor[T](), "") }

func fieldsOf(t reflect.Type, path string) (paths []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.PkgPath(), "muster.dev/") {
		return []string{path}
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		paths = append(paths, fieldsOf(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return paths
}

// CheckCovered fails the test for each field of a spec that none of paths is, or
// holds.
func CheckCovered[T any](t *testing.T, paths []string) {
	t.Helper()
	for _, field := range Fields[T]() {
		covered := false
		for _, path := range paths {
			covered = covered || field == path || strings.HasPrefix(field, path+".")
		}
		if !covered {
			t.Errorf("nothing is said of spec.%s", field)
		}
	}
}
