package interpret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// function is how a script is asked (contract 11.7).
type function struct {
	name    string
	results int
	lean    bool // the results have a fixed shape
	args    func(q *Question) []any
	read    func(q *Question, results []json.RawMessage) (*Answer, error)
	script  func(r *configv1alpha1.CustomizationRules) string
}

// functions holds one entry an operation.
var functions = map[Operation]*function{
	configv1alpha1.InterpreterOperationRetain: {name: "Retain", results: 1, read: readObject,
		args: func(q *Question) []any { return []any{q.Object.Object, q.Observed.Object} },
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.Retention == nil {
				return ""
			}
			return r.Retention.LuaScript
		}},
	configv1alpha1.InterpreterOperationInterpretReplica: {name: "GetReplicas", results: 2, lean: true, read: readReplicas, args: onlyObject,
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.ReplicaResource == nil {
				return ""
			}
			return r.ReplicaResource.LuaScript
		}},
	configv1alpha1.InterpreterOperationInterpretComponent: {name: "GetComponents", results: 1, lean: true, read: readComponents, args: onlyObject,
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.ComponentResource == nil {
				return ""
			}
			return r.ComponentResource.LuaScript
		}},
	configv1alpha1.InterpreterOperationReviseReplica: {name: "ReviseReplica", results: 1, read: readObject,
		args: func(q *Question) []any { return []any{q.Object.Object, q.Replicas} },
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.ReplicaRevision == nil {
				return ""
			}
			return r.ReplicaRevision.LuaScript
		}},
	configv1alpha1.InterpreterOperationInterpretStatus: {name: "ReflectStatus", results: 1, read: readStatus, args: onlyObject,
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.StatusReflection == nil {
				return ""
			}
			return r.StatusReflection.LuaScript
		}},
	configv1alpha1.InterpreterOperationAggregateStatus: {name: "AggregateStatus", results: 1, read: readObject,
		args: func(q *Question) []any {
			return []any{q.Object.Object, append([]workv1alpha2.AggregatedStatusItem{}, q.Items...)}
		},
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.StatusAggregation == nil {
				return ""
			}
			return r.StatusAggregation.LuaScript
		}},
	configv1alpha1.InterpreterOperationInterpretHealth: {name: "InterpretHealth", results: 1, read: readHealth, args: onlyObject,
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.HealthInterpretation == nil {
				return ""
			}
			return r.HealthInterpretation.LuaScript
		}},
	configv1alpha1.InterpreterOperationInterpretDependency: {name: "GetDependencies", results: 1, lean: true, read: readDependencies, args: onlyObject,
		script: func(r *configv1alpha1.CustomizationRules) string {
			if r.DependencyInterpretation == nil {
				return ""
			}
			return r.DependencyInterpretation.LuaScript
		}},
}

// Operations are all questions, in the order in which they are shown.
var Operations = []Operation{
	configv1alpha1.InterpreterOperationRetain, configv1alpha1.InterpreterOperationInterpretReplica,
	configv1alpha1.InterpreterOperationInterpretComponent, configv1alpha1.InterpreterOperationReviseReplica,
	configv1alpha1.InterpreterOperationInterpretStatus, configv1alpha1.InterpreterOperationAggregateStatus,
	configv1alpha1.InterpreterOperationInterpretHealth, configv1alpha1.InterpreterOperationInterpretDependency,
}

func onlyObject(q *Question) []any { return []any{q.Object.Object} }

// nothing says whether a result is nil, or empty in any form.
func nothing(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", "[]":
		return true
	}
	return false
}

func readObject(q *Question, results []json.RawMessage) (*Answer, error) {
	o, err := decodeObject(results[0])
	if err != nil {
		return nil, fmt.Errorf("the function must return the object: %w", err)
	}
	if err := sameObject(q.Object, o); err != nil {
		return nil, err
	}
	return &Answer{Object: o}, nil
}

func decodeObject(raw json.RawMessage) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if nothing(raw) {
		return nil, errors.New("it returned nothing")
	}
	if err := o.UnmarshalJSON(raw); err != nil {
		return nil, errors.New("what it returned has no apiVersion and kind")
	}
	return o, nil
}

// sameObject makes sure that an object was changed, not replaced by another one.
func sameObject(before, after *unstructured.Unstructured) error {
	if before.GroupVersionKind() != after.GroupVersionKind() || before.GetName() != after.GetName() || before.GetNamespace() != after.GetNamespace() {
		return fmt.Errorf("it made another object of it: %s", describe(after))
	}
	return nil
}

func readReplicas(_ *Question, results []json.RawMessage) (*Answer, error) {
	a := &Answer{}
	if err := json.Unmarshal(results[0], &a.Replicas); err != nil || nothing(results[0]) || a.Replicas < 0 {
		return nil, fmt.Errorf("GetReplicas must first return a whole number, not %s", clip(results[0]))
	}
	if nothing(results[1]) {
		return a, nil
	}
	a.Need = &workv1alpha2.ReplicaRequirements{}
	if err := json.Unmarshal(results[1], a.Need); err != nil {
		return nil, fmt.Errorf("the second value of GetReplicas has not the shape of replicaRequirements: %w", err)
	}
	return a, nil
}

func readComponents(_ *Question, results []json.RawMessage) (*Answer, error) {
	a := &Answer{}
	if nothing(results[0]) {
		return a, nil
	}
	if err := json.Unmarshal(results[0], &a.Components); err != nil {
		return nil, fmt.Errorf("GetComponents must return a list of components: %w", err)
	}
	return a, nil
}

func readStatus(_ *Question, results []json.RawMessage) (*Answer, error) {
	if nothing(results[0]) {
		return &Answer{}, nil
	}
	if results[0][0] != '{' {
		return nil, fmt.Errorf("ReflectStatus must return a status, not %s", clip(results[0]))
	}
	return &Answer{Status: &runtime.RawExtension{Raw: results[0]}}, nil
}

func readHealth(_ *Question, results []json.RawMessage) (*Answer, error) {
	switch string(results[0]) {
	case "true":
		return &Answer{Healthy: true}, nil
	case "false":
		return &Answer{}, nil
	}
	return nil, fmt.Errorf("InterpretHealth must return true or false, not %s", clip(results[0]))
}

func readDependencies(_ *Question, results []json.RawMessage) (*Answer, error) {
	a := &Answer{}
	if nothing(results[0]) {
		return a, nil
	}
	if err := json.Unmarshal(results[0], &a.Dependencies); err != nil {
		return nil, fmt.Errorf("GetDependencies must return a list of references: %w", err)
	}
	return a, checkDependencies(a)
}

// checkDependencies makes sure that references are complete, and drops doubles.
func checkDependencies(a *Answer) error {
	seen := map[string]bool{}
	kept := a.Dependencies[:0]
	for i, d := range a.Dependencies {
		if d.APIVersion == "" || d.Kind == "" || d.Name == "" && d.LabelSelector == nil {
			return fmt.Errorf("dependency %d needs apiVersion, kind, and a name or a labelSelector", i+1)
		}
		key, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("dependency %d: %w", i+1, err)
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			kept = append(kept, d)
		}
	}
	a.Dependencies = kept
	return nil
}

// clip shortens a value for a message.
func clip(raw json.RawMessage) string {
	const most = 60
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}
