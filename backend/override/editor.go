package override

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

// The lists of overriders, as a policy names them.
const (
	imageOverrider       = "imageOverrider"
	commandOverrider     = "commandOverrider"
	argsOverrider        = "argsOverrider"
	labelsOverrider      = "labelsOverrider"
	annotationsOverrider = "annotationsOverrider"
	fieldOverrider       = "fieldOverrider"
	plaintextOverrider   = "plaintext"
)

// Error is an overrider that cannot be applied. It says which one it is, what is
// wrong and how to mend it; it shows no value of a Secret.
type Error struct {
	// Policy, Rule, Overrider and Index are as in Change.
	Policy    PolicyRef
	Rule      int
	Overrider string
	Index     int
	// Path is the JSON pointer the overrider is about.
	Path string
	// Reason says what is wrong, Fix how to mend it.
	Reason, Fix string
	// deprecated: the overrider is a top-level one.
	deprecated bool
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("override by %s, %s: %s: %s", e.Policy, e.Field(), e.Reason, e.Fix)
}

// Field is the place in the policy, such as
// spec.overrideRules[0].overriders.imageOverrider[1].
func (e *Error) Field() string {
	if e.deprecated {
		return fmt.Sprintf("spec.overriders.%s[%d]", e.Overrider, e.Index)
	}
	return fmt.Sprintf("spec.overrideRules[%d].overriders.%s[%d]", e.Rule, e.Overrider, e.Index)
}

// editor changes one object for one cluster and keeps the account of it. Its
// position says which overrider is at work.
type editor struct {
	object  *unstructured.Unstructured
	changes []Change

	policy     PolicyRef
	rule       int
	deprecated bool
	overrider  string
	index      int
}

// applyPolicy applies the rules of a policy that hold for the cluster and
// returns what they were.
func (e *editor) applyPolicy(spec *policyv1alpha1.OverrideSpec, cluster *clusterv1alpha1.Cluster) ([]Applied, error) {
	var applied []Applied
	e.deprecated = len(spec.OverrideRules) == 0
	for i, rule := range rulesOf(spec) {
		if !policy.MatchesCluster(rule.TargetCluster, cluster) {
			continue
		}
		e.rule = i
		if err := e.applyRule(&rule.Overriders); err != nil {
			return nil, err
		}
		applied = append(applied, Applied{PolicyName: e.policy.Name, Overriders: rule.Overriders})
	}
	return applied, nil
}

// applyRule applies the overriders of one rule in the order of the contract.
func (e *editor) applyRule(o *policyv1alpha1.Overriders) error {
	steps := []struct {
		overrider string
		count     int
		apply     func(i int) error
	}{
		{imageOverrider, len(o.ImageOverrider), func(i int) error { return e.applyImage(&o.ImageOverrider[i]) }},
		{commandOverrider, len(o.CommandOverrider), func(i int) error { return e.applyWords("command", &o.CommandOverrider[i]) }},
		{argsOverrider, len(o.ArgsOverrider), func(i int) error { return e.applyWords("args", &o.ArgsOverrider[i]) }},
		{labelsOverrider, len(o.LabelsOverrider), func(i int) error { return e.applyMetadata("labels", &o.LabelsOverrider[i]) }},
		{annotationsOverrider, len(o.AnnotationsOverrider), func(i int) error { return e.applyMetadata("annotations", &o.AnnotationsOverrider[i]) }},
		{fieldOverrider, len(o.FieldOverrider), func(i int) error { return e.applyField(&o.FieldOverrider[i]) }},
	}
	for _, step := range steps {
		e.overrider = step.overrider
		for i := range step.count {
			e.index = i
			if err := step.apply(i); err != nil {
				return err
			}
		}
	}
	e.overrider = plaintextOverrider
	return e.applyPlaintext(o.Plaintext)
}

// changed notes that the value at a path is another one; equal values are no
// change. The values are copied: later overriders may change them in place.
func (e *editor) changed(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	e.changes = append(e.changes, Change{
		Policy: e.policy, Rule: e.rule, Overrider: e.overrider, Index: e.index,
		Path: path, Before: runtime.DeepCopyJSONValue(before), After: runtime.DeepCopyJSONValue(after),
	})
}

// refuse is the error of the overrider at work.
func (e *editor) refuse(path, fix, reason string, a ...any) error {
	return &Error{
		Policy: e.policy, Rule: e.rule, Overrider: e.overrider, Index: e.index, deprecated: e.deprecated,
		Path: path, Reason: fmt.Sprintf(reason, a...), Fix: fix,
	}
}

// shown is a value as an error may show it: not that of a Secret, and short.
func (e *editor) shown(value string) string {
	const most = 120
	switch {
	case e.object.GetKind() == "Secret":
		return "(a value of a Secret)"
	case len(value) > most:
		return fmt.Sprintf("%q…", strings.ToValidUTF8(value[:most], ""))
	}
	return fmt.Sprintf("%q", value)
}
