package interpret

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"muster.dev/muster/agent/interpret/sandbox"
	"muster.dev/muster/agent/interpret/thirdparty"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// Sandbox says how Lua children are started; the zero value is good.
type Sandbox = sandbox.Options

// OwnSandbox runs scripts in children made of the running binary, whose main
// function must begin with RunSandboxIfAsked.
func OwnSandbox() *Sandbox { return &Sandbox{} }

// RunSandboxIfAsked turns the process into a Lua child if it was started as one,
// and does not return then. It is the first call of main, and of TestMain where
// tests run scripts.
func RunSandboxIfAsked() { sandbox.Main() }

// SetCustomizations replaces the customizations. Without a sandbox they are not
// looked at. The list must not be changed afterwards. If two have a script for one operation on one kind, the first by
// name counts; only what objects need is asked of all.
func (i *Interpreter) SetCustomizations(list []configv1alpha1.ResourceInterpreterCustomization) {
	defer i.fed.got(listCustomizations)
	i.mu.Lock()
	i.lists.customizations = list
	old := i.rules.customizations
	var next scripts
	if i.pool != nil {
		next = i.scripts("customization", list, old)
	}
	i.rules.customizations = next
	i.mu.Unlock()
	changed := map[schema.GroupVersionKind]bool{}
	for _, pair := range [][2]scripts{{old, next}, {next, old}} {
		for kind, operations := range pair[0] {
			for operation, r := range operations {
				changed[kind] = changed[kind] || !slices.Equal(scriptsOf(pair[1][kind][operation]), scriptsOf(r))
			}
		}
	}
	i.tell(func(kind schema.GroupVersionKind) bool { return changed[kind] })
}

// scripts makes the rules of customizations. Those of old that are still the same
// are kept, with what is known of their failures.
func (i *Interpreter) scripts(what string, list []configv1alpha1.ResourceInterpreterCustomization, old scripts) scripts {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b configv1alpha1.ResourceInterpreterCustomization) int { return strings.Compare(a.Name, b.Name) })
	next := scripts{}
	for n := range list {
		c := &list[n]
		kind := schema.FromAPIVersionAndKind(c.Spec.Target.APIVersion, c.Spec.Target.Kind)
		for _, operation := range Operations {
			s := i.script(what, c, operation)
			if s == nil {
				continue
			}
			s = kept(old[kind][operation], s)
			before := scriptsOf(next[kind][operation])
			switch {
			case len(before) == 0:
				if next[kind] == nil {
					next[kind] = map[Operation]rule{}
				}
				next[kind][operation] = s
			case operation == configv1alpha1.InterpreterOperationInterpretDependency:
				next[kind][operation] = &union{scripts: append(slices.Clone(before), s)}
			default:
				i.log.Warn("two customizations for one operation, the first counts", "name", c.Name, "error",
					fmt.Sprintf("%s of %s is also in %s", operation, kind, before[0].source))
			}
		}
	}
	return next
}

// script returns the rule of one operation, nil if the customization has none.
func (i *Interpreter) script(what string, c *configv1alpha1.ResourceInterpreterCustomization, operation Operation) *script {
	code := functions[operation].script(&c.Spec.Customizations)
	if code == "" {
		return nil
	}
	return &script{pool: i.pool, source: what + " " + c.Name, name: c.Name, operation: operation, code: code,
		breaker: &breaker{clock: clock.RealClock{}}}
}

// Finding is what Check says of one operation.
type Finding struct {
	Operation Operation
	// Set says whether the customization has a script for it.
	Set bool
	// Err says why the script cannot be run.
	Err error
}

// Check tries whether the scripts of a customization can be run, in the order of
// Operations. It asks nothing.
func (i *Interpreter) Check(ctx context.Context, c *configv1alpha1.ResourceInterpreterCustomization) []Finding {
	findings := make([]Finding, 0, len(Operations))
	for _, operation := range Operations {
		f := Finding{Operation: operation}
		if s := i.script("customization", c, operation); s != nil {
			f.Set = true
			if i.pool == nil {
				f.Err = fmt.Errorf("there is no sandbox to run it in")
			} else {
				f.Err = s.check(ctx)
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// Try puts a question to the customizations alone. known is false if none has a
// script for it.
func (i *Interpreter) Try(ctx context.Context, q Question) (a *Answer, known bool, err error) {
	i.mu.RLock()
	r := i.rules.customizations[q.Object.GroupVersionKind()][q.Operation]
	i.mu.RUnlock()
	if r == nil {
		return nil, false, nil
	}
	a, err = r.ask(ctx, &q)
	return a, true, err
}

// bundled makes the rules of the third-party kinds that come with Muster.
func (i *Interpreter) bundled() scripts {
	return i.scripts("bundled customization", thirdparty.Customizations(), nil)
}
