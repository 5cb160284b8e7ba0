package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// Trial runs customizations.
type Trial struct {
	// Interpreter runs the scripts; its customizations are replaced.
	Interpreter *interpret.Interpreter
	Sources     Sources
	// Out takes results, Log what scripts print.
	Out, Log io.Writer
}

// Check tries whether all scripts can be run, and prints one line a rule. The
// error says how many cannot.
func (t *Trial) Check(ctx context.Context) error {
	list, err := t.Sources.customizations(ctx)
	if err != nil {
		return err
	}
	bad := 0
	for i := range list {
		c := &list[i]
		fmt.Fprintf(t.Out, "%s\nSOURCE: %s\nTARGET: %s %s   \nRULERS:\n", strings.Repeat("-", 35), c.Name, c.Spec.Target.APIVersion, c.Spec.Target.Kind)
		for _, f := range t.Interpreter.Check(ctx, c) {
			verdict := "UNSET"
			switch {
			case f.Err != nil:
				verdict = "ERROR: " + f.Err.Error()
				bad++
			case f.Set:
				verdict = "PASS"
			}
			fmt.Fprintf(t.Out, "    %-25s%s\n", string(f.Operation)+":", verdict)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of the scripts cannot be run", bad)
	}
	return nil
}

// Execute runs the rule of one operation and prints what it returns. The name of
// the operation is taken in any case.
func (t *Trial) Execute(ctx context.Context, operation string, replicas int32) error {
	q, err := t.question(ctx, operation, replicas)
	if err != nil {
		return err
	}
	list, err := t.Sources.customizations(ctx)
	if err != nil {
		return err
	}
	t.Interpreter.SetCustomizations(list)
	a, known, err := t.Interpreter.Try(ctx, *q)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("none of the customizations has a rule for %s of %s %s", q.Operation, q.Object.GetAPIVersion(), q.Object.GetKind())
	}
	if a.Printed != "" {
		fmt.Fprint(t.Log, a.Printed)
	}
	values := valuesOf(q.Operation, a)
	for i, v := range values {
		text, err := yaml.Marshal(v.value)
		if err != nil {
			return fmt.Errorf("print %s: %w", v.name, err)
		}
		fmt.Fprintf(t.Out, "---\n# [%d/%d] %s:\n%s", i+1, len(values), v.name, text)
	}
	return nil
}

func (t *Trial) question(ctx context.Context, operation string, replicas int32) (*interpret.Question, error) {
	i := slices.IndexFunc(interpret.Operations, func(o interpret.Operation) bool { return strings.EqualFold(string(o), operation) })
	if i < 0 {
		names := make([]string, 0, len(interpret.Operations))
		for _, o := range interpret.Operations {
			names = append(names, string(o))
		}
		return nil, fmt.Errorf("there is no operation %q; there are %s", operation, strings.Join(names, ", "))
	}
	q := &interpret.Question{Operation: interpret.Operations[i], Replicas: replicas}
	desired, err := t.Sources.object(ctx, t.Sources.Desired, "--desired-file")
	if err != nil {
		return nil, err
	}
	observed, err := t.Sources.object(ctx, t.Sources.Observed, "--observed-file")
	if err != nil {
		return nil, err
	}
	if q.Operation == configv1alpha1.InterpreterOperationRetain {
		if desired == nil || observed == nil {
			return nil, errors.New("the operation Retain needs both --desired-file and --observed-file")
		}
		q.Object, q.Observed = desired, observed
		return q, nil
	}
	if q.Object, err = only(desired, observed); err != nil {
		return nil, fmt.Errorf("%s: %w", q.Operation, err)
	}
	if q.Operation == configv1alpha1.InterpreterOperationAggregateStatus {
		q.Items, err = t.Sources.items(ctx)
	}
	return q, err
}

// only returns the one object that is given: it does not matter by which flag.
func only(desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch {
	case desired == nil && observed == nil:
		return nil, errors.New("give the object with --desired-file or --observed-file")
	case desired != nil && observed != nil:
		return nil, errors.New("give one of --desired-file and --observed-file")
	case desired != nil:
		return desired, nil
	}
	return observed, nil
}

// value is one result as it is printed.
type value struct {
	name  string
	value any
}

func valuesOf(operation interpret.Operation, a *interpret.Answer) []value {
	switch operation {
	case configv1alpha1.InterpreterOperationRetain:
		return []value{{"retained", a.Object.Object}}
	case configv1alpha1.InterpreterOperationInterpretReplica:
		return []value{{"replica", a.Replicas}, {"requires", a.Need}}
	case configv1alpha1.InterpreterOperationInterpretComponent:
		return []value{{"components", a.Components}}
	case configv1alpha1.InterpreterOperationReviseReplica:
		return []value{{"revised", a.Object.Object}}
	case configv1alpha1.InterpreterOperationInterpretStatus:
		return []value{{"status", a.Status}}
	case configv1alpha1.InterpreterOperationAggregateStatus:
		return []value{{"aggregatedStatus", a.Object.Object}}
	case configv1alpha1.InterpreterOperationInterpretHealth:
		return []value{{"healthy", a.Healthy}}
	}
	return []value{{"dependencies", a.Dependencies}}
}
