package placement

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// SetRow is one set of clusters as the REST API shows it.
type SetRow struct {
	Name string `json:"name"`
	// Type is how the set chooses clusters; Selector is what a LabelSelector chooses,
	// as kubectl writes it, empty for every cluster.
	Type     string `json:"type" enums:"ExclusiveClusterSetLabel,LabelSelector"`
	Selector string `json:"selector,omitempty" validate:"optional"`
	// Clusters counts those in it; Names are the first of them.
	Clusters int      `json:"clusters"`
	Names    []string `json:"names"`
	// Namespaces are those that the set is bound to.
	Namespaces []string `json:"namespaces"`
	// ManagedNamespaces are made in each cluster of the set.
	ManagedNamespaces []string `json:"managedNamespaces"`
	// Standing tells that the hub keeps the set: deleted, it comes back.
	Standing        bool      `json:"standing"`
	Removing        bool      `json:"removing"`
	CreatedAt       time.Time `json:"createdAt"`
	ResourceVersion string    `json:"resourceVersion"`
}

// setNames bounds the names of clusters in a row.
const setNames = 20

// Row is one placement as lists show it.
type Row struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Sets are those that the placement is limited to; none: all that are bound.
	Sets []string `json:"sets"`
	// Wanted is how many clusters it wants; absent: all that qualify.
	Wanted   *int32 `json:"wanted,omitempty" validate:"optional"`
	Selected int32  `json:"selected"`
	Groups   int    `json:"groups"`
	// State is satisfied, partly (fewer than wanted), none, misconfigured, or pending
	// as long as nothing was decided.
	State     string    `json:"state" enums:"satisfied,partly,none,misconfigured,pending"`
	Reason    string    `json:"reason,omitempty" validate:"optional"`
	Message   string    `json:"message,omitempty" validate:"optional"`
	CreatedAt time.Time `json:"createdAt"`
}

// Key is the row's key in the live topic.
func (r *Row) Key() string { return r.Namespace + "/" + r.Name }

// PlacementDetail is a placement with its decisions, and why each other cluster is
// left out.
type PlacementDetail struct {
	Row
	// BoundSets are the sets that are bound to the namespace and count.
	BoundSets []string         `json:"boundSets"`
	Chosen    []ChosenCluster  `json:"chosen"`
	Left      []LeftOutCluster `json:"left"`
	// Spec is the placement's own, as YAML.
	Spec string `json:"spec"`
}

// ChosenCluster is a cluster of the decisions.
type ChosenCluster struct {
	Cluster string `json:"cluster"`
	Score   int64  `json:"score"`
	// Group is the name of its decision group, or its number.
	Group string `json:"group"`
}

// LeftOutCluster is a cluster that was not chosen.
type LeftOutCluster struct {
	Cluster string `json:"cluster"`
	Reason  string `json:"reason" enums:"Deleting,NotInSet,NotMatched,Tainted,Uneven,Outranked"`
	Message string `json:"message"`
}

// states of placements.
const (
	stateSatisfied     = "satisfied"
	statePartly        = "partly"
	stateNone          = "none"
	stateMisconfigured = "misconfigured"
	statePending       = "pending"
)

// rowOf is a Placement as a row.
func rowOf(object *ocmv1beta1.Placement) Row {
	row := Row{
		Namespace: object.Namespace, Name: object.Name, Sets: append([]string{}, object.Spec.ClusterSets...), Wanted: object.Spec.NumberOfClusters,
		Selected: object.Status.NumberOfSelectedClusters, Groups: len(object.Status.DecisionGroups), State: statePending, CreatedAt: object.CreationTimestamp.UTC(),
	}
	satisfied := meta.FindStatusCondition(object.Status.Conditions, ocmv1beta1.ConditionSatisfied)
	wrong := meta.FindStatusCondition(object.Status.Conditions, ocmv1beta1.ConditionMisconfigured)
	switch {
	case wrong != nil && wrong.Status == metav1.ConditionTrue:
		row.State, row.Reason, row.Message = stateMisconfigured, wrong.Reason, wrong.Message
	case satisfied == nil:
	case satisfied.Status == metav1.ConditionTrue:
		row.State = stateSatisfied
	default:
		row.State, row.Reason, row.Message = stateNone, satisfied.Reason, satisfied.Message
		if row.Selected > 0 {
			row.State = statePartly
		}
	}
	return row
}

// setRowOf is a set as a row, with its clusters and the namespaces it is bound to.
func setRowOf(set *ocmv1beta2.ManagedClusterSet, clusters []ocmv1.ManagedCluster, bindings []ocmv1beta2.ManagedClusterSetBinding) SetRow {
	row := SetRow{
		Name: set.Name, Type: string(set.Spec.ClusterSelector.SelectorType), Names: []string{}, Namespaces: []string{}, ManagedNamespaces: []string{},
		Standing: set.Name == ocmv1.DefaultClusterSet || set.Name == ocmv1.GlobalClusterSet, Removing: set.DeletionTimestamp != nil,
		CreatedAt: set.CreationTimestamp.UTC(), ResourceVersion: set.ResourceVersion,
	}
	if row.Type == "" {
		row.Type = string(ocmv1beta2.ExclusiveClusterSetLabel)
	}
	if chooser := set.Spec.ClusterSelector; chooser.SelectorType == ocmv1beta2.LabelSelector && chooser.LabelSelector != nil {
		row.Selector = metav1.FormatLabelSelector(chooser.LabelSelector)
		if row.Selector == "<none>" {
			row.Selector = ""
		}
	}
	for _, namespace := range set.Spec.ManagedNamespaces {
		row.ManagedNamespaces = append(row.ManagedNamespaces, namespace.Name)
	}
	for i := range bindings {
		if bindings[i].Spec.ClusterSet == set.Name && bindings[i].DeletionTimestamp == nil {
			row.Namespaces = append(row.Namespaces, bindings[i].Namespace)
		}
	}
	slices.Sort(row.Namespaces)
	row.Clusters, row.Names = membersOf(set, clusters)
	return row
}

// membersOf counts the clusters of a set and names the first.
func membersOf(set *ocmv1beta2.ManagedClusterSet, clusters []ocmv1.ManagedCluster) (int, []string) {
	names := []string{}
	selector, err := set.Members()
	if err != nil {
		return 0, names
	}
	for i := range clusters {
		if selector.Matches(labels.Set(clusters[i].Labels)) {
			names = append(names, clusters[i].Name)
		}
	}
	slices.Sort(names)
	return len(names), names[:min(len(names), setNames)]
}

// chosenBy are the clusters of a placement's decisions.
func chosenBy(decisions []ocmv1beta1.PlacementDecision) []ChosenCluster {
	chosen := []ChosenCluster{}
	for i := range decisions {
		group := decisions[i].Labels[ocmv1beta1.DecisionGroupNameLabel]
		if group == "" {
			group = decisions[i].Labels[ocmv1beta1.DecisionGroupIndexLabel]
		}
		for _, decision := range decisions[i].Status.Decisions {
			one := ChosenCluster{Cluster: decision.ClusterName, Group: group}
			if decision.Score != nil {
				one.Score = *decision.Score
			}
			chosen = append(chosen, one)
		}
	}
	slices.SortFunc(chosen, func(a, b ChosenCluster) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Cluster, b.Cluster))
	})
	return chosen
}
