package manifestwork

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// mostRaw bounds a value that is told as JSON.
const mostRaw = 1024

// wellKnownPaths are the values told of kinds that every member has.
var wellKnownPaths = map[schema.GroupKind][]ocmworkv1.JSONPath{
	{Group: "apps", Kind: "Deployment"}:  {{Name: "ReadyReplicas", Path: ".status.readyReplicas"}, {Name: "Replicas", Path: ".status.replicas"}, {Name: "AvailableReplicas", Path: ".status.availableReplicas"}},
	{Group: "apps", Kind: "StatefulSet"}: {{Name: "ReadyReplicas", Path: ".status.readyReplicas"}, {Name: "Replicas", Path: ".status.replicas"}, {Name: "AvailableReplicas", Path: ".status.availableReplicas"}},
	{Group: "apps", Kind: "DaemonSet"}:   {{Name: "NumberReady", Path: ".status.numberReady"}, {Name: "DesiredNumberScheduled", Path: ".status.desiredNumberScheduled"}, {Name: "NumberAvailable", Path: ".status.numberAvailable"}},
	{Group: "batch", Kind: "Job"}:        {{Name: "JobComplete", Path: `.status.conditions[?(@.type=="Complete")].status`}, {Name: "JobSucceeded", Path: ".status.succeeded"}},
	{Kind: "Pod"}:                        {{Name: "PodReady", Path: `.status.conditions[?(@.type=="Ready")].status`}, {Name: "PodPhase", Path: ".status.phase"}},
}

// feedback reads the values that rules ask for. What cannot be read is told in the
// error; the rest is returned all the same.
func feedback(o *unstructured.Unstructured, rules []ocmworkv1.FeedbackRule, raw bool) ([]ocmworkv1.FeedbackValue, error) {
	var values []ocmworkv1.FeedbackValue
	var errs []error
	kind := o.GroupVersionKind()
	for _, rule := range rules {
		paths := rule.JSONPaths
		if rule.Type == ocmworkv1.WellKnownStatus {
			known, ok := wellKnownPaths[kind.GroupKind()]
			if !ok {
				errs = append(errs, fmt.Errorf("there is no well-known status of %s", kind.GroupKind()))
			}
			paths = known
		}
		for _, p := range paths {
			if p.Version != "" && p.Version != kind.Version {
				errs = append(errs, fmt.Errorf("version %s of path %s is not that of the manifest, %s", p.Version, p.Name, kind.Version))
				continue
			}
			value, err := valueAt(o, p.Path, raw)
			if err != nil {
				errs = append(errs, fmt.Errorf("value %s: %w", p.Name, err))
			} else if value != nil {
				values = append(values, ocmworkv1.FeedbackValue{Name: p.Name, Value: *value})
			}
		}
	}
	return values, errors.Join(errs...)
}

// valueAt reads one value, nil if the object has none there.
func valueAt(o *unstructured.Unstructured, path string, raw bool) (*ocmworkv1.FieldValue, error) {
	parser := jsonpath.New("feedback").AllowMissingKeys(true)
	if err := parser.Parse("{" + strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}") + "}"); err != nil {
		return nil, fmt.Errorf("path %s: %w", path, err)
	}
	results, err := parser.FindResults(o.UnstructuredContent())
	if err != nil {
		return nil, fmt.Errorf("path %s: %w", path, err)
	}
	if len(results) == 0 || len(results[0]) == 0 {
		return nil, nil
	}
	if len(results) > 1 || len(results[0]) > 1 {
		return nil, fmt.Errorf("path %s names several values", path)
	}
	found := results[0][0].Interface()
	switch v := found.(type) {
	case nil:
		return nil, nil
	case int64:
		return &ocmworkv1.FieldValue{Type: ocmworkv1.ValueInteger, Integer: &v}, nil
	case string:
		return &ocmworkv1.FieldValue{Type: ocmworkv1.ValueString, String: &v}, nil
	case bool:
		return &ocmworkv1.FieldValue{Type: ocmworkv1.ValueBoolean, Boolean: &v}, nil
	}
	if !raw {
		return nil, fmt.Errorf("the value at path %s is a %T, which is not told unless the gate RawFeedbackJsonString is on", path, found)
	}
	data, err := json.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("path %s: %w", path, err)
	}
	if len(data) > mostRaw {
		return nil, fmt.Errorf("the value at path %s has %d bytes as JSON, more than %d", path, len(data), mostRaw)
	}
	text := string(data)
	return &ocmworkv1.FieldValue{Type: ocmworkv1.ValueJSONRaw, JSONRaw: &text}, nil
}
