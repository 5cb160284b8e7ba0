package aim

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template/catalog"
)

// Settle is how long a policy may select nothing before that is told: its objects
// may be on their way, applied just after it or replaced.
const Settle = 5 * time.Second

// selectorsOf are the selectors of a policy of any kind, those of a namespaced one
// with its namespace. An override policy that means everything has none.
func selectorsOf(object client.Object) []policyv1alpha1.ResourceSelector {
	var selectors []policyv1alpha1.ResourceSelector
	switch p := object.(type) {
	case *policyv1alpha1.PropagationPolicy:
		selectors = p.Spec.ResourceSelectors
	case *policyv1alpha1.ClusterPropagationPolicy:
		return p.Spec.ResourceSelectors
	case *policyv1alpha1.OverridePolicy:
		selectors = p.Spec.ResourceSelectors
	case *policyv1alpha1.ClusterOverridePolicy:
		return p.Spec.ResourceSelectors
	}
	selectors = slices.Clone(selectors)
	for i := range selectors {
		selectors[i].Namespace = object.GetNamespace()
	}
	return selectors
}

// verdict is what one look at a policy gives.
type verdict struct {
	// lost: it is known to select nothing.
	lost bool
	// unsure: a kind that it means cannot be read now.
	unsure bool
}

// event is what is to be told of a policy.
type event int

const (
	tellNothing event = iota
	tellLost
	tellFound
)

// state is what is known of one policy.
type state struct {
	uid types.UID
	// since is when it was first seen to select nothing; zero: it selects something.
	since time.Time
	// told: its Event was made.
	told bool
}

// outcome is what follows from a look at a policy.
type outcome struct {
	tell event
	// told: it is known to all that the policy selects nothing.
	told bool
	// again is when to look again; zero leaves that to events.
	again time.Duration
}

// next takes in a look at a policy.
func (s *state) next(uid types.UID, seen verdict, now time.Time) outcome {
	if s.uid != uid {
		*s = state{uid: uid}
	}
	if seen.unsure {
		return outcome{told: s.told, again: Settle}
	}
	if !seen.lost {
		told := s.told
		s.since, s.told = time.Time{}, false
		if told {
			return outcome{tell: tellFound}
		}
		return outcome{}
	}
	if s.since.IsZero() {
		s.since = now
	}
	if left := s.since.Add(Settle).Sub(now); left > 0 && !s.told {
		return outcome{again: left}
	}
	if s.told {
		return outcome{told: true, again: lookAgain}
	}
	s.told = true
	return outcome{tell: tellLost, told: true, again: lookAgain}
}

// templates are the templates of the hub and their kinds; *catalog.Cache is one.
type templates interface {
	Get(ref catalog.Ref) (*unstructured.Unstructured, bool)
	List(apiVersion, kind, namespace string) []*unstructured.Unstructured
	Readable(apiVersion, kind string) bool
	// Served is the version in which a kind is propagated, empty if it is not;
	// known says whether the hub serves it at all.
	Served(kind schema.GroupKind) (apiVersion string, known bool)
}

// judge says whether selectors mean any template.
func judge(from templates, selectors []policyv1alpha1.ResourceSelector) verdict {
	if len(selectors) == 0 {
		return verdict{}
	}
	seen := verdict{lost: true}
	for i := range selectors {
		s := &selectors[i]
		if meansAny(from, s) {
			return verdict{}
		}
		if served, _ := from.Served(kindOf(s)); served == s.APIVersion && !from.Readable(s.APIVersion, s.Kind) {
			seen = verdict{unsure: true}
		}
	}
	return seen
}

func meansAny(from templates, s *policyv1alpha1.ResourceSelector) bool {
	if s.Name != "" && s.Namespace != "" {
		_, ok := from.Get(catalog.Ref{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name})
		return ok
	}
	return slices.ContainsFunc(from.List(s.APIVersion, s.Kind, s.Namespace), func(o *unstructured.Unstructured) bool {
		return policy.Match(s, o) != policy.MatchNone
	})
}

// explain says of selectors that mean nothing what each misses.
func explain(from templates, scope *catalog.Scope, selectors []policyv1alpha1.ResourceSelector) []policy.Miss {
	misses := make([]policy.Miss, 0, len(selectors))
	for i := range selectors {
		miss := policy.Miss{Selector: policy.SelectorOf(&selectors[i])}
		miss.Cause, miss.Instead = causeOf(from, scope, &selectors[i])
		misses = append(misses, miss)
	}
	return misses
}

func causeOf(from templates, scope *catalog.Scope, s *policyv1alpha1.ResourceSelector) (cause, instead string) {
	served, known := from.Served(kindOf(s))
	switch {
	case !known:
		return policy.CauseNoKind, ""
	case served == "":
		return policy.CauseKindKept, ""
	case served != s.APIVersion:
		return policy.CauseOtherVersion, served
	case s.Namespace != "" && scope.SkipsNamespace(s.Namespace):
		return policy.CauseNamespaceKept, ""
	}
	if s.Namespace != "" {
		if _, ok := from.Get(catalog.Ref{APIVersion: "v1", Kind: "Namespace", Name: s.Namespace}); !ok {
			return policy.CauseNoNamespace, ""
		}
	}
	switch {
	case s.Name != "":
		return policy.CauseNoName, elsewhere(from, s)
	case s.LabelSelector != nil && len(from.List(s.APIVersion, s.Kind, s.Namespace)) > 0:
		return policy.CauseNoLabels, ""
	}
	return policy.CauseNoObject, ""
}

// elsewhere is the first namespace that has an object of the name.
func elsewhere(from templates, s *policyv1alpha1.ResourceSelector) string {
	first := ""
	for _, o := range from.List(s.APIVersion, s.Kind, "") {
		if o.GetName() == s.Name && (first == "" || o.GetNamespace() < first) {
			first = o.GetNamespace()
		}
	}
	return first
}

func kindOf(s *policyv1alpha1.ResourceSelector) schema.GroupKind {
	return schema.FromAPIVersionAndKind(s.APIVersion, s.Kind).GroupKind()
}
