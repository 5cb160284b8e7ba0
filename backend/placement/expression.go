package placement

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// clusterVariable is what expressions call the cluster, scoresKey where its
// scores are in it for the function scores.
const (
	clusterVariable = "managedCluster"
	scoresKey       = "$scores"
)

// expression is a compiled expression.
type expression struct {
	text    string
	program cel.Program
}

// environment has what Kubernetes' own expressions have, as far as it is about
// data, and managedCluster.scores(name): the scores of an AddOnPlacementScore as
// a list of {name, value}.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(clusterVariable, cel.MapType(cel.StringType, cel.DynType)),
		cel.Function("scores", cel.MemberOverload("cluster_scores", []*cel.Type{cel.MapType(cel.StringType, cel.DynType), cel.StringType},
			cel.ListType(cel.MapType(cel.StringType, cel.DynType)), cel.BinaryBinding(scoresOf))),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), cel.OptionalTypes(), cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true),
		library.Quantity(), library.SemverLib(library.SemverVersion(1)), library.Lists(), library.Regex(), library.URLs(),
	)
})

func scoresOf(cluster, name ref.Val) ref.Val {
	document, ok := cluster.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(cluster)
	}
	all, found := document.Find(types.String(scoresKey))
	if !found {
		return types.DefaultTypeAdapter.NativeToValue([]any{})
	}
	if scores, found := all.(traits.Mapper).Find(name); found {
		return scores
	}
	return types.DefaultTypeAdapter.NativeToValue([]any{})
}

// compiled keeps expressions, for they are compiled at each decision: compiling
// takes longer than everything else about most decisions.
var compiled = struct {
	sync.Mutex
	byText map[string]*expression
}{byText: map[string]*expression{}}

// maxCompiled bounds what is kept; beyond it, all is forgotten.
const maxCompiled = 1024

func compileExpression(text string) (*expression, error) {
	compiled.Lock()
	defer compiled.Unlock()
	if e, ok := compiled.byText[text]; ok {
		return e, nil
	}
	e, err := newExpression(text)
	if err != nil {
		return nil, err
	}
	if len(compiled.byText) >= maxCompiled {
		clear(compiled.byText)
	}
	compiled.byText[text] = e
	return e, nil
}

func newExpression(text string) (*expression, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("build expressions' environment: %w", err)
	}
	tree, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if out := tree.OutputType(); out != cel.BoolType && out != cel.DynType {
		return nil, fmt.Errorf("it is a %s and must be true or false", out)
	}
	program, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostTracking(&library.CostEstimator{}),
		cel.CostLimit(celconfig.PerCallLimit), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, err
	}
	return &expression{text: text, program: program}, nil
}

var (
	errNotBool   = errors.New("the result is neither true nor false")
	errExpensive = errors.New("the expressions of the placement cost too much for so many clusters")
)

// evaluate evaluates an expression for a cluster.
func (d *decision) evaluate(e *expression, c *candidate) (bool, error) {
	if d.cost > celconfig.RuntimeCELCostBudget {
		return false, errExpensive
	}
	document, err := d.document(c)
	if err != nil {
		return false, err
	}
	out, details, err := e.program.Eval(map[string]any{clusterVariable: document})
	if details != nil && details.ActualCost() != nil {
		d.cost += *details.ActualCost()
	}
	if err != nil {
		return false, err
	}
	result, ok := out.Value().(bool)
	if !ok {
		return false, errNotBool
	}
	return result, nil
}

// document is a cluster as expressions see it.
func (d *decision) document(c *candidate) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.cluster)
	if err != nil {
		return nil, fmt.Errorf("show cluster %s to expressions: %w", c.cluster.Name, err)
	}
	object["apiVersion"], object["kind"] = ocmv1.GroupVersion.String(), "ManagedCluster"
	scores := map[string]any{}
	for i := range d.in.Scores {
		s := &d.in.Scores[i]
		if s.Namespace != c.cluster.Name || s.Status.ValidUntil != nil && !s.Status.ValidUntil.After(d.in.Now) {
			continue
		}
		items := []any{}
		for _, item := range s.Status.Scores {
			items = append(items, map[string]any{"name": item.Name, "value": int64(item.Value)})
		}
		scores[s.Name] = items
	}
	object[scoresKey] = scores
	return object, nil
}
