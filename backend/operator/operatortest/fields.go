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

// FieldCase changes one field of a spec of ours.
type FieldCase[T any] struct {
	// Path is the field's, as people write it.
	Path string
	// Given is what the spec is like before, if it is not empty; Change makes the change on top of that.
	Given, Change func(*T)
	// Said is part of what NotSupported has to say; empty: the field is acted on.
	Said string
}

// CheckActedOn fails the test if a field is neither acted on nor said to be without effect. outcome is what runs for a spec on which changes
// were made, nil ones left out, and what is said about it.
func CheckActedOn[T any](t *testing.T, c FieldCase[T], outcome func(t *testing.T, changes ...func(*T)) (runs, said string)) {
	t.Helper()
	runsBefore, saidBefore := outcome(t, c.Given)
	runs, said := outcome(t, c.Given, c.Change)
	switch {
	case c.Said == "" && runs == runsBefore:
		t.Errorf("spec.%s changes nothing of what runs (said: %q)", c.Path, said)
	case c.Said == "" && said != saidBefore:
		t.Errorf("spec.%s is acted on and not supported: %q", c.Path, said)
	case !strings.Contains(said, c.Said) || c.Said != "" && strings.Contains(saidBefore, c.Said):
		t.Errorf("spec.%s is not said to be without effect, only %q", c.Path, said)
	}
}
