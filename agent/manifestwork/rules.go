package manifestwork

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

const (
	// costLimit bounds what one expression may compute.
	costLimit = 1_000_000
	// mostPrograms bounds how many compiled expressions are kept.
	mostPrograms = 1000

	reasonRuleEvaluated = "ConditionRuleEvaluated"
	reasonRuleError     = "ConditionRuleExpressionError"
	reasonRuleInvalid   = "ConditionRuleInvalid"
)

// expressions compiles and evaluates the expressions of condition rules.
type expressions struct {
	env func() (*cel.Env, error)

	mu       sync.Mutex
	programs map[string]cel.Program
}

func newExpressions() *expressions {
	return &expressions{programs: map[string]cel.Program{}, env: sync.OnceValues(func() (*cel.Env, error) {
		return cel.NewEnv(
			cel.Variable("object", cel.DynType), cel.Variable("result", cel.BoolType),
			cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true),
			ext.Strings(), ext.Sets(), ext.Lists(), ext.Math(),
			cel.Function("hasConditions", cel.Overload("has_conditions_dyn", []*cel.Type{cel.DynType}, cel.BoolType, cel.UnaryBinding(hasConditions))),
		)
	})}
}

// hasConditions says whether a status has a list of conditions.
func hasConditions(status ref.Val) ref.Val {
	value, err := status.ConvertToNative(reflect.TypeFor[map[string]any]())
	if err != nil {
		return types.False
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return types.False
	}
	_, ok = fields["conditions"]
	return types.Bool(ok)
}

func (e *expressions) program(text string) (cel.Program, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p, ok := e.programs[text]; ok {
		return p, nil
	}
	env, err := e.env()
	if err != nil {
		return nil, fmt.Errorf("prepare expressions: %w", err)
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	p, err := env.Program(ast, cel.CostLimit(costLimit), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, err
	}
	if len(e.programs) >= mostPrograms {
		clear(e.programs)
	}
	e.programs[text] = p
	return p, nil
}

func (e *expressions) evaluate(text string, o *unstructured.Unstructured, result bool) (ref.Val, error) {
	p, err := e.program(text)
	if err != nil {
		return nil, err
	}
	value, _, err := p.Eval(map[string]any{"object": o.Object, "result": result})
	return value, err
}

// judge makes the condition that a rule asks for. ok is false if the rule makes
// none of the object.
func (e *expressions) judge(rule ocmworkv1.ConditionRule, o *unstructured.Unstructured) (c metav1.Condition, ok bool) {
	c = metav1.Condition{Type: rule.Condition, Status: metav1.ConditionFalse, Reason: reasonRuleEvaluated}
	switch rule.Type {
	case ocmworkv1.WellKnownConditions:
		known, ok := wellKnownConditions[o.GroupVersionKind().GroupKind()][rule.Condition]
		if !ok {
			return c, false
		}
		holds, message := known(o)
		if holds {
			c.Status = metav1.ConditionTrue
		}
		c.Message = message
		return c, true
	case ocmworkv1.CelConditionExpressions:
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonRuleInvalid, fmt.Sprintf("Rules of type %s are not known", rule.Type)
		return c, true
	}
	holds, err := e.all(rule.CelExpressions, o)
	if err != nil {
		c.Reason, c.Message = reasonRuleError, brief(err.Error())
		return c, true
	}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	c.Message = rule.Message
	if rule.MessageExpression == "" {
		return c, true
	}
	switch text, err := e.evaluate(rule.MessageExpression, o, holds); {
	case err != nil:
		c.Message = brief("message expression: " + err.Error())
	default:
		if message, ok := text.Value().(string); ok && message != "" {
			c.Message = brief(message)
		}
	}
	return c, true
}

func (e *expressions) all(texts []string, o *unstructured.Unstructured) (bool, error) {
	if len(texts) == 0 {
		return false, errors.New("the rule has no expression")
	}
	for _, text := range texts {
		value, err := e.evaluate(text, o, false)
		if err != nil {
			return false, err
		}
		holds, ok := value.Value().(bool)
		if !ok {
			return false, fmt.Errorf("expression %q is no yes or no", text)
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

// wellKnownConditions are rules for kinds that every member has.
var wellKnownConditions = map[schema.GroupKind]map[string]func(*unstructured.Unstructured) (bool, string){
	{Group: "batch", Kind: "Job"}: {ocmworkv1.ConditionComplete: func(o *unstructured.Unstructured) (bool, string) {
		if hasCondition(o, "Complete") || hasCondition(o, "Failed") {
			return true, "Job is finished"
		}
		return false, "Job is not finished"
	}},
	{Kind: "Pod"}: {ocmworkv1.ConditionComplete: func(o *unstructured.Unstructured) (bool, string) {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		if phase == "Succeeded" || phase == "Failed" {
			return true, "Pod is finished"
		}
		return false, "Pod is not finished"
	}},
}

// hasCondition says whether the object's status has a condition that is true.
func hasCondition(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind && fields["status"] == "True" {
			return true
		}
	}
	return false
}

// brief bounds what goes into a condition.
func brief(text string) string {
	const limit = 4096
	text = strings.TrimSpace(text)
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}
