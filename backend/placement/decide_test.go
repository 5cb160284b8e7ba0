package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/placement"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// cluster makes a ManagedCluster of the set default with labels k=v.
func cluster(name string, labels ...string) ocmv1.ManagedCluster {
	c := ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ocmv1.ClusterSetLabel: ocmv1.DefaultClusterSet}}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		c.Labels[key] = value
	}
	return c
}

func with(c ocmv1.ManagedCluster, change func(*ocmv1.ManagedCluster)) ocmv1.ManagedCluster {
	change(&c)
	return c
}

func tainted(c ocmv1.ManagedCluster, key string, effect ocmv1.TaintEffect, added time.Time) ocmv1.ManagedCluster {
	c.Spec.Taints = append(c.Spec.Taints, ocmv1.Taint{Key: key, Value: "v", Effect: effect, TimeAdded: metav1.NewTime(added)})
	return c
}

func claiming(c ocmv1.ManagedCluster, name, value string) ocmv1.ManagedCluster {
	c.Status.ClusterClaims = append(c.Status.ClusterClaims, ocmv1.ManagedClusterClaim{Name: name, Value: value})
	return c
}

func sized(c ocmv1.ManagedCluster, cpu, memory string) ocmv1.ManagedCluster {
	c.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return c
}

func scored(cluster, name string, value int32, until *metav1.Time) ocmv1alpha1.AddOnPlacementScore {
	s := ocmv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "usage"}}
	s.Status.Scores = []ocmv1alpha1.AddOnPlacementScoreItem{{Name: name, Value: value}}
	s.Status.ValidUntil = until
	return s
}

// input is a placement in a namespace that the set default is bound to.
func input(spec ocmv1beta1.PlacementSpec, clusters ...ocmv1.ManagedCluster) placement.Input {
	binding := ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "default"}}
	binding.Spec.ClusterSet = "default"
	exclusive := ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	exclusive.Spec.ClusterSelector.SelectorType = ocmv1beta2.ExclusiveClusterSetLabel
	global := ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "global"}}
	global.Spec.ClusterSelector = ocmv1beta2.ManagedClusterSelector{SelectorType: ocmv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}}
	return placement.Input{
		Placement: &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "p"}, Spec: spec},
		Bindings:  []ocmv1beta2.ManagedClusterSetBinding{binding}, Sets: []ocmv1beta2.ManagedClusterSet{exclusive, global},
		Clusters: clusters, Now: noon,
	}
}

func labelled(key string, values ...string) ocmv1beta1.ClusterPredicate {
	var p ocmv1beta1.ClusterPredicate
	p.RequiredClusterSelector.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}}
	return p
}

func claimed(key string, values ...string) ocmv1beta1.ClusterPredicate {
	var p ocmv1beta1.ClusterPredicate
	p.RequiredClusterSelector.ClaimSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}}
	return p
}

func expressed(expressions ...string) ocmv1beta1.ClusterPredicate {
	var p ocmv1beta1.ClusterPredicate
	p.RequiredClusterSelector.CelSelector.CelExpressions = expressions
	return p
}

func builtIn(name string, weight int32) ocmv1beta1.PrioritizerConfig {
	return ocmv1beta1.PrioritizerConfig{ScoreCoordinate: &ocmv1beta1.ScoreCoordinate{Type: ocmv1beta1.ScoreBuiltIn, BuiltIn: name}, Weight: weight}
}

func addOn(name string, weight int32) ocmv1beta1.PrioritizerConfig {
	return ocmv1beta1.PrioritizerConfig{
		ScoreCoordinate: &ocmv1beta1.ScoreCoordinate{Type: ocmv1beta1.ScoreAddOn, AddOn: &ocmv1beta1.AddOnScore{ResourceName: "usage", ScoreName: name}}, Weight: weight,
	}
}

func exactly(configs ...ocmv1beta1.PrioritizerConfig) ocmv1beta1.PrioritizerPolicy {
	return ocmv1beta1.PrioritizerPolicy{Mode: ocmv1beta1.PrioritizerExact, Configurations: configs}
}

func spreadBy(key string, kind ocmv1beta1.TopologyKeyType, skew int32, action ocmv1beta1.UnsatisfiableSpreadConstraintAction) ocmv1beta1.SpreadPolicy {
	return ocmv1beta1.SpreadPolicy{SpreadConstraints: []ocmv1beta1.SpreadConstraintsTerm{{TopologyKey: key, TopologyKeyType: kind, MaxSkew: skew, WhenUnsatisfiable: action}}}
}

// show writes the chosen clusters, then "|" and why the others are left.
func show(o placement.Outcome) string {
	if o.Misconfigured != "" {
		return "misconfigured"
	}
	text := strings.Builder{}
	for _, c := range o.Chosen {
		fmt.Fprintf(&text, "%s ", c.Cluster)
	}
	text.WriteString("|")
	for _, l := range o.Left {
		fmt.Fprintf(&text, " %s:%s", l.Cluster, l.Reason)
	}
	return text.String()
}

func TestDecide(t *testing.T) {
	t.Parallel()
	expired, valid := metav1.NewTime(noon.Add(-time.Second)), metav1.NewTime(noon.Add(time.Hour))
	exists := ocmv1beta1.Toleration{Key: "maintenance", Operator: ocmv1beta1.TolerationOpExists}
	for name, c := range map[string]struct {
		in     placement.Input
		change func(*placement.Input)
		want   string
		reason string // of PlacementSatisfied
	}{
		"all of the bound set": {
			in:   input(ocmv1beta1.PlacementSpec{}, cluster("b"), cluster("a"), cluster("other", ocmv1.ClusterSetLabel+"=prod")),
			want: "a b | other:NotInSet", reason: "AllDecisionsScheduled",
		},
		"nothing is bound": {
			in:     input(ocmv1beta1.PlacementSpec{}, cluster("a")),
			change: func(in *placement.Input) { in.Bindings = nil }, want: "| a:NotInSet", reason: "NoManagedClusterSetBindings",
		},
		"the bound set does not exist": {
			in:     input(ocmv1beta1.PlacementSpec{}, cluster("a")),
			change: func(in *placement.Input) { in.Sets = in.Sets[1:] }, want: "| a:NotInSet", reason: "NoManagedClusterSetBindings",
		},
		"the wanted set is not bound": {
			in: input(ocmv1beta1.PlacementSpec{ClusterSets: []string{"global"}}, cluster("a")), want: "| a:NotInSet", reason: "NoIntersection",
		},
		"the bound set is empty": {
			in: input(ocmv1beta1.PlacementSpec{}, cluster("a", ocmv1.ClusterSetLabel+"=prod")), want: "| a:NotInSet", reason: "AllManagedClusterSetsEmpty",
		},
		"a set by labels": {
			in: input(ocmv1beta1.PlacementSpec{}, cluster("a", ocmv1.ClusterSetLabel+"=prod")),
			change: func(in *placement.Input) {
				in.Bindings[0].Spec.ClusterSet = "global"
			}, want: "a |", reason: "AllDecisionsScheduled",
		},
		"one that is being deleted": {
			in: input(ocmv1beta1.PlacementSpec{}, cluster("a"), with(cluster("b"), func(c *ocmv1.ManagedCluster) {
				c.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
			})), want: "a | b:Deleting", reason: "AllDecisionsScheduled",
		},
		"predicates are alternatives": {
			in: input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{labelled("region", "eu"), claimed("platform", "Bare")}},
				cluster("a", "region=eu"), claiming(cluster("b"), "platform", "Bare"), cluster("c", "region=us")),
			want: "a b | c:NotMatched", reason: "AllDecisionsScheduled",
		},
		"the parts of a predicate all count": {
			in: input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{func() ocmv1beta1.ClusterPredicate {
				p := labelled("region", "eu")
				p.RequiredClusterSelector.ClaimSelector = claimed("platform", "Bare").RequiredClusterSelector.ClaimSelector
				p.RequiredClusterSelector.CelSelector = expressed(`managedCluster.metadata.name != "c"`).RequiredClusterSelector.CelSelector
				return p
			}()}}, claiming(cluster("a", "region=eu"), "platform", "Bare"), cluster("b", "region=eu"), claiming(cluster("c", "region=eu"), "platform", "Bare")),
			want: "a | b:NotMatched c:NotMatched", reason: "AllDecisionsScheduled",
		},
		"nothing matches": {
			in:   input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{labelled("region", "eu")}}, cluster("a")),
			want: "| a:NotMatched", reason: "NoManagedClusterMatched",
		},
		"expressions": {
			in: input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{expressed(
				`managedCluster.metadata.labels["tier"].matches("^g")`, `semver(managedCluster.status.version.kubernetes, true).isGreaterThan(semver("1.35.0"))`)}},
				with(cluster("a", "tier=gold"), func(c *ocmv1.ManagedCluster) { c.Status.Version.Kubernetes = "v1.36.3" }),
				with(cluster("b", "tier=gold"), func(c *ocmv1.ManagedCluster) { c.Status.Version.Kubernetes = "v1.34.1" }),
				cluster("c")),
			want: "a | b:NotMatched c:NotMatched", reason: "AllDecisionsScheduled",
		},
		"an expression over scores": {
			in: input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{expressed(
				`managedCluster.scores("usage").exists(s, s.name == "cpu" && s.value > 40)`)}}, cluster("a"), cluster("b"), cluster("c")),
			change: func(in *placement.Input) {
				in.Scores = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 50, nil), scored("b", "cpu", 30, nil), scored("c", "cpu", 90, &expired)}
			}, want: "a | b:NotMatched c:NotMatched", reason: "AllDecisionsScheduled",
		},
		"an expression that is none": {
			in:   input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{expressed(`managedCluster.`)}}, cluster("a")),
			want: "misconfigured",
		},
		"an expression that is no truth": {
			in:   input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{expressed(`1 + 1`)}}, cluster("a")),
			want: "misconfigured",
		},
		"a selector that is none": {
			in: input(ocmv1beta1.PlacementSpec{Predicates: []ocmv1beta1.ClusterPredicate{labelled("region")}}, cluster("a")), want: "misconfigured",
		},
		"taints": {
			in: input(ocmv1beta1.PlacementSpec{}, cluster("a"), tainted(cluster("b"), "maintenance", ocmv1.TaintEffectNoSelect, noon),
				tainted(cluster("c"), "maintenance", ocmv1.TaintEffectNoSelectIfNew, noon), tainted(cluster("d"), "maintenance", ocmv1.TaintEffectNoSelectIfNew, noon),
				tainted(cluster("e"), "maintenance", ocmv1.TaintEffectPreferNoSelect, noon)),
			change: func(in *placement.Input) { in.Current = []string{"c", "b"} },
			want:   "a c e | b:Tainted d:Tainted", reason: "AllDecisionsScheduled",
		},
		"what is better avoided comes last": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1)}, tainted(cluster("a"), "maintenance", ocmv1.TaintEffectPreferNoSelect, noon), cluster("b")),
			change: func(in *placement.Input) {
				in.Current = []string{"a"}
			}, want: "b | a:Outranked", reason: "AllDecisionsScheduled",
		},
		"tolerations": {
			in: input(ocmv1beta1.PlacementSpec{Tolerations: []ocmv1beta1.Toleration{exists, {Key: "gpu", Value: "v", Effect: "NoSelect"}}},
				tainted(cluster("a"), "maintenance", ocmv1.TaintEffectNoSelect, noon), tainted(cluster("b"), "gpu", ocmv1.TaintEffectNoSelect, noon),
				tainted(cluster("c"), "gpu", ocmv1.TaintEffectNoSelectIfNew, noon), tainted(cluster("d"), "other", ocmv1.TaintEffectNoSelect, noon)),
			want: "a b | c:Tainted d:Tainted", reason: "AllDecisionsScheduled",
		},
		"tolerated for a while": {
			in: input(ocmv1beta1.PlacementSpec{Tolerations: []ocmv1beta1.Toleration{{Key: "maintenance", Operator: "Exists", TolerationSeconds: ptr.To[int64](60)}}},
				tainted(cluster("a"), "maintenance", ocmv1.TaintEffectNoSelect, noon.Add(-30*time.Second)),
				tainted(cluster("b"), "maintenance", ocmv1.TaintEffectNoSelect, noon.Add(-time.Minute))),
			want: "a | b:Tainted", reason: "AllDecisionsScheduled",
		},
		"a toleration without a key needs Exists": {
			in: input(ocmv1beta1.PlacementSpec{Tolerations: []ocmv1beta1.Toleration{{Value: "v"}}}, cluster("a")), want: "misconfigured",
		},
		"fewer than wanted": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](3)}, cluster("a"), cluster("b")), want: "a b |", reason: "NotAllDecisionsScheduled",
		},
		"none wanted": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](0)}, cluster("a")), want: "| a:Outranked", reason: "AllDecisionsScheduled",
		},
		"steady": {
			in:     input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1)}, cluster("a"), cluster("b")),
			change: func(in *placement.Input) { in.Current = []string{"b"} }, want: "b | a:Outranked", reason: "AllDecisionsScheduled",
		},
		"balance": {
			in:     input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1)}, cluster("a"), cluster("b")),
			change: func(in *placement.Input) { in.Elsewhere = map[string]int{"a": 2, "b": 1} }, want: "b | a:Outranked", reason: "AllDecisionsScheduled",
		},
		"much CPU": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: exactly(builtIn("ResourceAllocatableCPU", 2), builtIn("ResourceAllocatableMemory", 1))},
				sized(cluster("a"), "2", "64Gi"), sized(cluster("b"), "16", "8Gi"), sized(cluster("c"), "8", "16Gi")),
			want: "b | a:Outranked c:Outranked", reason: "AllDecisionsScheduled",
		},
		"little memory": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: exactly(builtIn("ResourceAllocatableMemory", -1))},
				sized(cluster("a"), "2", "64Gi"), sized(cluster("b"), "16", "8Gi")),
			want: "b | a:Outranked", reason: "AllDecisionsScheduled",
		},
		"an add-on's score": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: exactly(addOn("cpu", 3))}, cluster("a"), cluster("b"), cluster("c")),
			change: func(in *placement.Input) {
				in.Scores = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 10, nil), scored("b", "cpu", 20, &valid), scored("c", "cpu", 90, &expired)}
			}, want: "b | a:Outranked c:Outranked", reason: "AllDecisionsScheduled",
		},
		"additive keeps the others": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: ocmv1beta1.PrioritizerPolicy{
				Mode: ocmv1beta1.PrioritizerAdditive, Configurations: []ocmv1beta1.PrioritizerConfig{addOn("cpu", 1)}}}, cluster("a"), cluster("b")),
			change: func(in *placement.Input) {
				in.Scores, in.Current = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 90, nil)}, []string{"b"}
			}, want: "b | a:Outranked", reason: "AllDecisionsScheduled",
		},
		"additive changes a weight": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: ocmv1beta1.PrioritizerPolicy{
				Configurations: []ocmv1beta1.PrioritizerConfig{addOn("cpu", 1), builtIn("Steady", 0)}}}, cluster("a"), cluster("b")),
			change: func(in *placement.Input) {
				in.Scores, in.Current = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 90, nil)}, []string{"b"}
			}, want: "a | b:Outranked", reason: "AllDecisionsScheduled",
		},
		"a prioritizer that is none": {
			in: input(ocmv1beta1.PlacementSpec{PrioritizerPolicy: exactly(builtIn("Cheapest", 1))}, cluster("a")), want: "misconfigured",
		},
		"sorted by score": {
			in: input(ocmv1beta1.PlacementSpec{SortBy: ocmv1beta1.SortByScore, PrioritizerPolicy: exactly(addOn("cpu", 1))}, cluster("a"), cluster("b"), cluster("c")),
			change: func(in *placement.Input) {
				in.Scores = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 10, nil), scored("b", "cpu", 90, nil), scored("c", "cpu", 10, nil)}
			}, want: "b a c |", reason: "AllDecisionsScheduled",
		},
		"spread evenly": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](2), SpreadPolicy: spreadBy("zone", "Label", 1, "ScheduleAnyway")},
				cluster("a", "zone=1"), cluster("b", "zone=1"), cluster("c", "zone=2")),
			want: "a c | b:Outranked", reason: "AllDecisionsScheduled",
		},
		"spread as far as possible": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](4), SpreadPolicy: spreadBy("zone", "Label", 1, "ScheduleAnyway")},
				cluster("a", "zone=1"), cluster("b", "zone=1"), cluster("c", "zone=1"), cluster("d", "zone=2")),
			want: "a b c d |", reason: "AllDecisionsScheduled",
		},
		"spread or not at all": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](4), SpreadPolicy: spreadBy("zone", "Claim", 1, "DoNotSchedule")},
				claiming(cluster("a"), "zone", "1"), claiming(cluster("b"), "zone", "1"), claiming(cluster("c"), "zone", "1"), claiming(cluster("d"), "zone", "2"), cluster("e")),
			want: "a b d | c:Uneven e:Uneven", reason: "NotAllDecisionsScheduled",
		},
		"KeepCurrent goes before scores": {
			in: input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: exactly(addOn("cpu", 10))}, cluster("a"), cluster("b")),
			change: func(in *placement.Input) {
				in.Scores, in.Current, in.KeepCurrent = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 90, nil)}, []string{"b"}, true
			}, want: "b | a:Outranked", reason: "AllDecisionsScheduled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.change != nil {
				c.change(&c.in)
			}
			out := placement.Decide(c.in)
			if got := show(out); got != c.want {
				t.Errorf("got  %s\nwant %s\n%+v", got, c.want, out)
			}
			if out.Satisfied.Reason != c.reason || out.Satisfied.OK != (c.reason == "AllDecisionsScheduled") {
				t.Errorf("satisfied is %+v, want reason %q", out.Satisfied, c.reason)
			}
			for _, left := range out.Left {
				if left.Message == "" {
					t.Errorf("%s is left out without a word", left.Cluster)
				}
			}
		})
	}
}

// TestMessagesOfTheField are those that the recordings show (clusteradm-placement, delete-managedcluster).
func TestMessagesOfTheField(t *testing.T) {
	t.Parallel()
	spec := ocmv1beta1.PlacementSpec{ClusterSets: []string{"default"}}
	if got := placement.Decide(input(spec, cluster("cluster1"))).Satisfied.Message; got != "All cluster decisions scheduled" {
		t.Errorf("got %q", got)
	}
	if got := placement.Decide(input(spec)).Satisfied.Message; got != "All ManagedClusterSets [default] have no member ManagedCluster" {
		t.Errorf("got %q", got)
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	until := metav1.NewTime(noon.Add(20 * time.Second))
	in := input(ocmv1beta1.PlacementSpec{
		PrioritizerPolicy: exactly(addOn("cpu", 1)),
		Tolerations:       []ocmv1beta1.Toleration{{Key: "maintenance", Operator: "Exists", TolerationSeconds: ptr.To[int64](60)}},
	}, tainted(cluster("a"), "maintenance", ocmv1.TaintEffectNoSelect, noon.Add(-30*time.Second)))
	if got := placement.Decide(in).Again; !got.Equal(noon.Add(30 * time.Second)) {
		t.Errorf("again at %s, want when the toleration ends", got)
	}
	in.Scores = []ocmv1alpha1.AddOnPlacementScore{scored("a", "cpu", 1, &until)}
	if got := placement.Decide(in).Again; !got.Equal(until.Time) {
		t.Errorf("again at %s, want when the score ends", got)
	}
	if got := placement.Decide(input(ocmv1beta1.PlacementSpec{}, cluster("a"))).Again; !got.IsZero() {
		t.Errorf("again at %s, want never", got)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	var clusters []ocmv1.ManagedCluster
	for i := range 250 {
		clusters = append(clusters, cluster(fmt.Sprintf("c%03d", i), fmt.Sprintf("canary=%t", i < 5)))
	}
	canary := ocmv1beta1.DecisionGroup{GroupName: "canary"}
	canary.ClusterSelector.LabelSelector.MatchLabels = map[string]string{"canary": "true"}
	absent := ocmv1beta1.DecisionGroup{GroupName: "absent"}
	absent.ClusterSelector.LabelSelector.MatchLabels = map[string]string{"canary": "maybe"}
	for name, c := range map[string]struct {
		groups []ocmv1beta1.DecisionGroup
		limit  intstr.IntOrString
		number int32
		want   []string // name/clusters/slices
	}{
		"one group":              {limit: intstr.FromString("100%"), number: 250, want: []string{"/250/3"}},
		"no limit":               {number: 250, want: []string{"/250/3"}},
		"no cluster":             {number: 0, want: []string{"/0/1"}},
		"by number":              {limit: intstr.FromInt32(120), number: 250, want: []string{"/120/2", "/120/2", "/10/1"}},
		"by percentage":          {limit: intstr.FromString("30%"), number: 10, want: []string{"/3/1", "/3/1", "/3/1", "/1/1"}},
		"a small percentage":     {limit: intstr.FromString("1%"), number: 3, want: []string{"/1/1", "/1/1", "/1/1"}},
		"named first":            {groups: []ocmv1beta1.DecisionGroup{absent, canary}, number: 105, want: []string{"canary/5/1", "/100/1"}},
		"named ones are limited": {groups: []ocmv1beta1.DecisionGroup{canary}, limit: intstr.FromInt32(3), number: 7, want: []string{"canary/3/1", "canary/2/1", "/2/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := ocmv1beta1.PlacementSpec{NumberOfClusters: &c.number}
			spec.DecisionStrategy.GroupStrategy = ocmv1beta1.GroupStrategy{DecisionGroups: c.groups, ClustersPerDecisionGroup: c.limit}
			out := placement.Decide(input(spec, clusters...))
			var got []string
			for i, group := range out.Groups {
				if group.Index != i {
					t.Errorf("group %d has the index %d", i, group.Index)
				}
				got = append(got, fmt.Sprintf("%s/%d/%d", group.Name, len(group.Chosen), len(group.Slices())))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	bad := input(ocmv1beta1.PlacementSpec{}, clusters...)
	bad.Placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromString("0%")
	if placement.Decide(bad).Misconfigured == "" {
		t.Error("a group of 0% makes sense")
	}
}

// TestDecideChangesNothing runs a decision that reads everything twice.
func TestDecideChangesNothing(t *testing.T) {
	t.Parallel()
	in := input(ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](2), Predicates: []ocmv1beta1.ClusterPredicate{expressed(`managedCluster.metadata.name != "c"`)}},
		tainted(cluster("b"), "x", ocmv1.TaintEffectPreferNoSelect, noon), cluster("a"), cluster("c"))
	in.Current = []string{"b"}
	before := in.Clusters[0].DeepCopy()
	first, second := placement.Decide(in), placement.Decide(in)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the same input gives another outcome:\n%s", diff)
	}
	if diff := cmp.Diff(*before, in.Clusters[0]); diff != "" || !slices.Equal(in.Current, []string{"b"}) {
		t.Errorf("the input is changed:\n%s", diff)
	}
}
