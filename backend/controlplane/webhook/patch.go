package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// changes is the JSON patch that leads from an object as it was sent to what
// admission made of it; nil: nothing was changed. Lists are replaced whole.
func changes(sent []byte, object runtime.Object) ([]byte, error) {
	if len(sent) == 0 || object == nil {
		return nil, nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode the admitted object: %w", err)
	}
	var before, after map[string]any
	if err := utiljson.Unmarshal(sent, &before); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if err := utiljson.Unmarshal(data, &after); err != nil {
		return nil, fmt.Errorf("read the admitted object: %w", err)
	}
	steps := compare("", before, after)
	if len(steps) == 0 {
		return nil, nil
	}
	return json.Marshal(steps)
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func compare(at string, before, after map[string]any) []operation {
	var steps []operation
	for _, key := range slices.Sorted(maps.Keys(before)) {
		path := at + "/" + pointer.Replace(key)
		was := before[key]
		is, kept := after[key]
		within, wasMap := was.(map[string]any)
		inside, isMap := is.(map[string]any)
		switch {
		case !kept:
			steps = append(steps, operation{Op: "remove", Path: path})
		case wasMap && isMap:
			steps = append(steps, compare(path, within, inside)...)
		case !reflect.DeepEqual(was, is):
			steps = append(steps, operation{Op: "replace", Path: path, Value: value(is)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, known := before[key]; !known {
			steps = append(steps, operation{Op: "add", Path: at + "/" + pointer.Replace(key), Value: value(after[key])})
		}
	}
	return steps
}

// value keeps null in the patch, which omitempty would leave out.
func value(of any) any {
	if of == nil {
		return json.RawMessage("null")
	}
	return of
}
