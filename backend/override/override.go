package override

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

// Policies are override policies of both kinds. The namespaced ones are of the
// object's namespace; those of another are left out by Select.
type Policies struct {
	Cluster    []*policyv1alpha1.ClusterOverridePolicy
	Namespaced []*policyv1alpha1.OverridePolicy
}

// PolicyRef names a policy.
type PolicyRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is "Kind namespace/name", or "Kind name" for a cluster-scoped policy.
func (r PolicyRef) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Change is one path of an object that a policy gave another value. Of a Secret
// it holds the values as they are: who shows it must mask them.
type Change struct {
	// Policy is the policy that did it.
	Policy PolicyRef `json:"policy"`
	// Rule is the position in overrideRules; 0 as well for the deprecated
	// top-level overriders.
	Rule int `json:"rule"`
	// Overrider is the list in overriders, such as imageOverrider.
	Overrider string `json:"overrider"`
	// Index is the position in that list.
	Index int `json:"index"`
	// Path is the JSON pointer to what was changed. An element that was added to
	// a list is at the position it got.
	Path string `json:"path"`
	// Before and After are the values there; nil: there was or is none.
	Before any `json:"before,omitempty" validate:"optional"`
	After  any `json:"after,omitempty" validate:"optional"`
}

// Applied is what one rule applied, as the Work's annotations tell it (contract
// section 3.4).
type Applied struct {
	PolicyName string                    `json:"policyName"`
	Overriders policyv1alpha1.Overriders `json:"overriders"`
}

// Result is an object as one cluster gets it.
type Result struct {
	// Object is a copy, even if nothing was changed.
	Object *unstructured.Unstructured
	// Cluster and Namespaced are what was applied, by policy name.
	Cluster, Namespaced []Applied
	// Changes are in the order in which they were made.
	Changes []Change
}

// Select returns the policies that mean an object, in the order in which they
// are applied: the closest match last, and among equals the last by name, so
// that it has the last word. The arguments stay as they are.
func Select(all Policies, o *unstructured.Unstructured) Policies {
	selected := Policies{Cluster: choose(all.Cluster, o, func(p *policyv1alpha1.ClusterOverridePolicy) *policyv1alpha1.OverrideSpec { return &p.Spec })}
	namespace := o.GetNamespace()
	if namespace == "" {
		return selected
	}
	selected.Namespaced = choose(all.Namespaced, o, func(p *policyv1alpha1.OverridePolicy) *policyv1alpha1.OverrideSpec {
		if p.Namespace != namespace {
			return nil
		}
		return &p.Spec
	})
	return selected
}

// choose keeps the policies that mean an object and puts them in order. A policy
// whose spec is nil does not take part.
func choose[P interface{ GetName() string }](policies []P, o *unstructured.Unstructured, spec func(P) *policyv1alpha1.OverrideSpec) []P {
	type candidate struct {
		policy   P
		strength policy.Strength
	}
	var candidates []candidate
	for _, p := range policies {
		s := spec(p)
		if s == nil {
			continue
		}
		if strength := policy.MatchOverride(s, o); strength != policy.MatchNone {
			candidates = append(candidates, candidate{p, strength})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.strength, b.strength), cmp.Compare(a.policy.GetName(), b.policy.GetName()))
	})
	var chosen []P
	for _, c := range candidates {
		chosen = append(chosen, c.policy)
	}
	return chosen
}

// Apply gives one cluster's form of an object. The policies are those of Select.
// What it refuses is an *Error.
func Apply(o *unstructured.Unstructured, cluster *clusterv1alpha1.Cluster, selected Policies) (Result, error) {
	e := editor{object: o.DeepCopy()}
	var result Result
	for _, p := range selected.Cluster {
		e.policy = refCluster(p)
		applied, err := e.applyPolicy(&p.Spec, cluster)
		if err != nil {
			return Result{}, err
		}
		result.Cluster = append(result.Cluster, applied...)
	}
	for _, p := range selected.Namespaced {
		e.policy = refNamespaced(p)
		applied, err := e.applyPolicy(&p.Spec, cluster)
		if err != nil {
			return Result{}, err
		}
		result.Namespaced = append(result.Namespaced, applied...)
	}
	byName := func(a, b Applied) int { return cmp.Compare(a.PolicyName, b.PolicyName) }
	slices.SortStableFunc(result.Cluster, byName)
	slices.SortStableFunc(result.Namespaced, byName)
	result.Object, result.Changes = e.object, e.changes
	return result, nil
}

// Signature tells clusters apart for which the same selected policies apply
// different rules. Clusters with equal signatures get equal results, so that an
// object is rendered once for all of them.
func Signature(cluster *clusterv1alpha1.Cluster, selected Policies) string {
	var b strings.Builder
	write := func(kind byte, namespace, name string, generation int64, spec *policyv1alpha1.OverrideSpec) {
		first := true
		for i, rule := range rulesOf(spec) {
			if !policy.MatchesCluster(rule.TargetCluster, cluster) {
				continue
			}
			if first {
				fmt.Fprintf(&b, "%c %s/%s@%d", kind, namespace, name, generation)
				first = false
			}
			fmt.Fprintf(&b, " %d", i)
		}
		if !first {
			b.WriteByte('\n')
		}
	}
	for _, p := range selected.Cluster {
		write('c', "", p.Name, p.Generation, &p.Spec)
	}
	for _, p := range selected.Namespaced {
		write('n', p.Namespace, p.Name, p.Generation, &p.Spec)
	}
	return b.String()
}

// rulesOf returns a policy's rules; the deprecated top-level fields are one rule
// where there are no others.
func rulesOf(spec *policyv1alpha1.OverrideSpec) []policyv1alpha1.RuleWithCluster {
	if len(spec.OverrideRules) > 0 {
		return spec.OverrideRules
	}
	if isEmpty(&spec.Overriders) {
		return nil
	}
	return []policyv1alpha1.RuleWithCluster{{TargetCluster: spec.TargetCluster, Overriders: spec.Overriders}}
}

func isEmpty(o *policyv1alpha1.Overriders) bool {
	return len(o.Plaintext)+len(o.ImageOverrider)+len(o.CommandOverrider)+len(o.ArgsOverrider)+len(o.LabelsOverrider)+
		len(o.AnnotationsOverrider)+len(o.FieldOverrider) == 0
}

func refCluster(p *policyv1alpha1.ClusterOverridePolicy) PolicyRef {
	return PolicyRef{Kind: policyv1alpha1.ResourceKindClusterOverridePolicy, Name: p.Name}
}

func refNamespaced(p *policyv1alpha1.OverridePolicy) PolicyRef {
	return PolicyRef{Kind: policyv1alpha1.ResourceKindOverridePolicy, Namespace: p.Namespace, Name: p.Name}
}
