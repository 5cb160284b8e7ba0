package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/fault"
)

// noNamespace stands for the namespace of a cluster-scoped policy in paths and
// keys.
const noNamespace = "-"

// Kind is one of the four kinds of policies.
type Kind struct {
	// Resource is its name in paths, Name its kind in manifests.
	Resource, Name string
	Namespaced     bool

	empty func() client.Object
	list  func() client.ObjectList
	// idLabel is set by the hub; empty for override policies.
	idLabel, finalizer string
}

// New returns an empty policy of the kind.
func (k *Kind) New() client.Object { return k.empty() }

// Kinds are the four kinds of policies.
var Kinds = []Kind{
	{
		Resource: "propagationpolicies", Name: policyv1alpha1.ResourceKindPropagationPolicy, Namespaced: true,
		empty:   func() client.Object { return &policyv1alpha1.PropagationPolicy{} },
		list:    func() client.ObjectList { return &policyv1alpha1.PropagationPolicyList{} },
		idLabel: policyv1alpha1.PropagationPolicyPermanentIDLabel, finalizer: policyv1alpha1.PropagationPolicyFinalizer,
	},
	{
		Resource: "clusterpropagationpolicies", Name: policyv1alpha1.ResourceKindClusterPropagationPolicy,
		empty:   func() client.Object { return &policyv1alpha1.ClusterPropagationPolicy{} },
		list:    func() client.ObjectList { return &policyv1alpha1.ClusterPropagationPolicyList{} },
		idLabel: policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, finalizer: policyv1alpha1.ClusterPropagationPolicyFinalizer,
	},
	{
		Resource: "overridepolicies", Name: policyv1alpha1.ResourceKindOverridePolicy, Namespaced: true,
		empty: func() client.Object { return &policyv1alpha1.OverridePolicy{} },
		list:  func() client.ObjectList { return &policyv1alpha1.OverridePolicyList{} },
	},
	{
		Resource: "clusteroverridepolicies", Name: policyv1alpha1.ResourceKindClusterOverridePolicy,
		empty: func() client.Object { return &policyv1alpha1.ClusterOverridePolicy{} },
		list:  func() client.ObjectList { return &policyv1alpha1.ClusterOverridePolicyList{} },
	},
}

// KindOf finds a kind by its name in paths.
func KindOf(resource string) (Kind, error) {
	if i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Resource == resource }); i >= 0 {
		return Kinds[i], nil
	}
	return Kind{}, fault.NotFound("there is no kind of policy called %q", resource).
		WithFix("use propagationpolicies, clusterpropagationpolicies, overridepolicies or clusteroverridepolicies")
}

// Ref names one policy.
type Ref struct {
	Kind            Kind
	Namespace, Name string
}

// NewRef reads the parts of a path, where "-" stands for no namespace.
func NewRef(resource, namespace, name string) (Ref, error) {
	kind, err := KindOf(resource)
	if err != nil {
		return Ref{}, err
	}
	if namespace == noNamespace {
		namespace = ""
	}
	switch {
	case name == "":
		return Ref{}, fault.Invalid("a policy has a name").WithField("metadata.name", "is missing")
	case kind.Namespaced && namespace == "":
		return Ref{}, fault.Invalid("a %s has a namespace", kind.Name).WithField("metadata.namespace", "is missing")
	case !kind.Namespaced && namespace != "":
		return Ref{}, fault.Invalid("a %s has no namespace", kind.Name).WithField("metadata.namespace", "must be left out; use - in the path")
	}
	return Ref{Kind: kind, Namespace: namespace, Name: name}, nil
}

// String is the policy as messages name it.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind.Name + " " + r.Name
	}
	return r.Kind.Name + " " + r.Namespace + "/" + r.Name
}

// Row is a policy in a list.
type Row struct {
	// Kind is as in the manifest, Resource as in paths.
	Kind      string     `json:"kind"`
	Resource  string     `json:"resource" enums:"propagationpolicies,clusterpropagationpolicies,overridepolicies,clusteroverridepolicies"`
	Namespace string     `json:"namespace,omitempty" validate:"optional"`
	Name      string     `json:"name"`
	UID       string     `json:"uid"`
	Priority  *int32     `json:"priority,omitempty" validate:"optional"`
	Selectors []Selector `json:"selectors"`
	// Misses is set where the policy has selected nothing for some seconds: why,
	// selector by selector.
	Misses []Miss `json:"misses,omitempty" validate:"optional"`
	// Clusters are the names in the affinity.
	Clusters []string `json:"clusters,omitempty" validate:"optional"`
	// MissingClusters are those of Clusters that the hub does not have.
	MissingClusters []string `json:"missingClusters,omitempty" validate:"optional"`
	// Affinity is the rest of the affinity in a few words.
	Affinity string `json:"affinity,omitempty" validate:"optional"`
	// Replicas says what happens to the replicas; empty for an override policy.
	Replicas string `json:"replicas" enums:"duplicated,divided,"`
	// Suspended: it is not carried out, in some clusters or in all.
	Suspended bool `json:"suspended"`
	// Lazy: a change of it waits for a change of the object.
	Lazy bool `json:"lazy"`
	// Rules is how many rules an override policy has.
	Rules           *int      `json:"rules,omitempty" validate:"optional"`
	CreatedAt       time.Time `json:"createdAt"`
	ResourceVersion string    `json:"resourceVersion"`
	Generation      int64     `json:"generation"`
	Removing        bool      `json:"removing"`
}

// Selector says which objects a policy means.
type Selector struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty" validate:"optional"`
	Name       string `json:"name,omitempty" validate:"optional"`
	// LabelSelector is written as kubectl writes it.
	LabelSelector string `json:"labelSelector,omitempty" validate:"optional"`
}

func (r *Row) target() Target { return Target{r.Resource, r.Namespace, r.Name} }

// Key names the row in the live topic: the path below /policies.
func (r *Row) Key() string { return keyOf(r.Resource, r.Namespace, r.Name) }

func keyOf(resource, namespace, name string) string {
	if namespace == "" {
		namespace = noNamespace
	}
	return resource + "/" + namespace + "/" + name
}

// rowOf is how a policy of one of the four kinds is shown.
func rowOf(object client.Object) (Row, bool) {
	switch p := object.(type) {
	case *policyv1alpha1.PropagationPolicy:
		return propagationRow(&Kinds[0], p, &p.Spec), true
	case *policyv1alpha1.ClusterPropagationPolicy:
		return propagationRow(&Kinds[1], p, &p.Spec), true
	case *policyv1alpha1.OverridePolicy:
		return overrideRow(&Kinds[2], p, &p.Spec), true
	case *policyv1alpha1.ClusterOverridePolicy:
		return overrideRow(&Kinds[3], p, &p.Spec), true
	}
	return Row{}, false
}

func newRow(kind *Kind, object client.Object, selectors []policyv1alpha1.ResourceSelector) Row {
	row := Row{
		Kind: kind.Name, Resource: kind.Resource, Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()),
		Selectors: make([]Selector, 0, len(selectors)), CreatedAt: object.GetCreationTimestamp().UTC(),
		ResourceVersion: object.GetResourceVersion(), Generation: object.GetGeneration(), Removing: !object.GetDeletionTimestamp().IsZero(),
	}
	for i := range selectors {
		row.Selectors = append(row.Selectors, SelectorOf(&selectors[i]))
	}
	return row
}

func propagationRow(kind *Kind, object client.Object, spec *policyv1alpha1.PropagationSpec) Row {
	row := newRow(kind, object, spec.ResourceSelectors)
	row.Priority, row.Replicas = new(int32), "duplicated"
	if spec.Priority != nil {
		*row.Priority = *spec.Priority
	}
	if scheduling := spec.Placement.ReplicaScheduling; scheduling != nil && scheduling.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDuplicated {
		row.Replicas = "divided"
	}
	if s := spec.Suspension; s != nil {
		row.Suspended = s.Dispatching != nil && *s.Dispatching || s.DispatchingOnClusters != nil && len(s.DispatchingOnClusters.ClusterNames) > 0
	}
	row.Lazy = spec.ActivationPreference == policyv1alpha1.LazyActivation
	words := affinityWords{}
	words.add("", spec.Placement.ClusterAffinity)
	for i := range spec.Placement.ClusterAffinities {
		term := &spec.Placement.ClusterAffinities[i]
		words.add(term.AffinityName, &term.ClusterAffinity)
		for j := range term.OverflowAffinities {
			words.add(term.OverflowAffinities[j].AffinityName, &term.OverflowAffinities[j].ClusterAffinity)
		}
	}
	row.Clusters, row.Affinity = words.clusters, strings.Join(words.rest, "; ")
	return row
}

func overrideRow(kind *Kind, object client.Object, spec *policyv1alpha1.OverrideSpec) Row {
	row := newRow(kind, object, spec.ResourceSelectors)
	rules := len(spec.OverrideRules)
	words := affinityWords{}
	for i := range spec.OverrideRules {
		words.add("", spec.OverrideRules[i].TargetCluster)
	}
	if rules == 0 && (overrides(&spec.Overriders) || len(spec.Overriders.FieldOverrider) > 0) {
		rules = 1
		words.add("", spec.TargetCluster)
	}
	row.Rules, row.Clusters, row.Affinity = &rules, words.clusters, strings.Join(words.rest, "; ")
	return row
}

// affinityWords collects the names of clusters, and the rest of affinities in
// words.
type affinityWords struct {
	clusters, rest []string
}

func (w *affinityWords) add(name string, affinity *policyv1alpha1.ClusterAffinity) {
	if affinity == nil {
		return
	}
	for _, cluster := range affinity.ClusterNames {
		if !slices.Contains(w.clusters, cluster) {
			w.clusters = append(w.clusters, cluster)
		}
	}
	var parts []string
	if affinity.LabelSelector != nil {
		parts = append(parts, metav1.FormatLabelSelector(affinity.LabelSelector))
	}
	if affinity.FieldSelector != nil {
		for _, r := range affinity.FieldSelector.MatchExpressions {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", r.Key, strings.ToLower(string(r.Operator)), strings.Join(r.Values, ", ")))
		}
	}
	if len(affinity.ExcludeClusters) > 0 {
		parts = append(parts, "not "+strings.Join(affinity.ExcludeClusters, ", "))
	}
	text := strings.Join(parts, ", ")
	if name != "" && text != "" {
		text = name + ": " + text
	} else if name != "" {
		text = name
	}
	if text != "" && !slices.Contains(w.rest, text) {
		w.rest = append(w.rest, text)
	}
}
