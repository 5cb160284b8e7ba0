package scheduling_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
)

// world makes random clusters and bindings.
type world struct{ *rand.Rand }

func (w world) clusters(n int) []*clusterv1alpha1.Cluster {
	list := make([]*clusterv1alpha1.Cluster, 0, n)
	for i := range n {
		options := []option{room(w.Int64N(40)), labelled("tier", w.one("gold", "silver")), labelled("index", fmt.Sprint(i%10))}
		if w.IntN(8) > 0 {
			options = append(options, inRegion(w.one("r1", "r2", "r3", "r4")))
		}
		if w.IntN(4) > 0 {
			options = append(options, inZone(w.one("z1", "z2", "z3")))
		}
		if w.IntN(10) == 0 {
			options = append(options, tainted(w.one("t1", "t2"), corev1.TaintEffectNoSchedule))
		}
		if w.IntN(20) == 0 {
			options = append(options, without("apps/v1"))
		}
		if w.IntN(30) == 0 {
			options = append(options, terminating)
		}
		list = append(list, cluster(fmt.Sprintf("c%04d", i), options...))
	}
	w.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (w world) one(list ...string) string { return list[w.IntN(len(list))] }

func (w world) affinity(clusters []*clusterv1alpha1.Cluster) policyv1alpha1.ClusterAffinity {
	var a policyv1alpha1.ClusterAffinity
	switch w.IntN(5) {
	case 0:
		for range w.IntN(20) + 1 {
			a.ClusterNames = append(a.ClusterNames, clusters[w.IntN(len(clusters))].Name)
		}
	case 1:
		a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": w.one("gold", "silver", "bronze")}}
	case 2:
		a.FieldSelector = &policyv1alpha1.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: w.one("region", "zone"), Operator: corev1.NodeSelectorOperator(w.one("In", "NotIn")), Values: []string{w.one("r1", "r2", "z1", "z2")},
		}}}
	case 3:
		a.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "index", Operator: metav1.LabelSelectorOpIn, Values: []string{"1", "2", w.one("3", "4")}}}}
	}
	if w.IntN(3) == 0 {
		a.ExcludeClusters = []string{clusters[w.IntN(len(clusters))].Name}
	}
	return a
}

func (w world) placement(clusters []*clusterv1alpha1.Cluster) *policyv1alpha1.Placement {
	p := &policyv1alpha1.Placement{}
	switch w.IntN(5) {
	case 0:
		p.ReplicaScheduling = duplicated()
	case 1:
		p.ReplicaScheduling = dynamic()
	case 2:
		p.ReplicaScheduling = aggregated()
	case 3:
		p.ReplicaScheduling = static()
		p.ReplicaScheduling.WeightPreference = &policyv1alpha1.ClusterPreferences{}
		for range w.IntN(4) {
			p.ReplicaScheduling.WeightPreference.StaticWeightList = append(p.ReplicaScheduling.WeightPreference.StaticWeightList, policyv1alpha1.StaticClusterWeight{
				TargetCluster: w.affinity(clusters), Weight: w.Int64N(9) + 1,
			})
		}
	}
	if w.IntN(3) == 0 {
		for i := range w.IntN(3) + 1 {
			t := policyv1alpha1.ClusterAffinityTerm{AffinityName: fmt.Sprintf("term%d", i), ClusterAffinity: w.affinity(clusters)}
			for j := range w.IntN(3) {
				t.OverflowAffinities = append(t.OverflowAffinities, policyv1alpha1.OverflowAffinity{AffinityName: fmt.Sprintf("more%d-%d", i, j), ClusterAffinity: w.affinity(clusters)})
			}
			p.ClusterAffinities = append(p.ClusterAffinities, t)
		}
	} else {
		a := w.affinity(clusters)
		p.ClusterAffinity = &a
	}
	if w.IntN(2) == 0 {
		p.SpreadConstraints = append(p.SpreadConstraints, spreadBy(byCluster, w.IntN(4), w.IntN(12)))
		if w.IntN(2) == 0 {
			p.SpreadConstraints = append(p.SpreadConstraints, spreadBy(byRegion, w.IntN(4), w.IntN(5)))
		}
	}
	if w.IntN(2) == 0 {
		p.ClusterTolerations = []corev1.Toleration{{Key: "t1", Operator: corev1.TolerationOpExists}}
	}
	return p
}

func (w world) spec(clusters []*clusterv1alpha1.Cluster) *workv1alpha2.ResourceBindingSpec {
	p := w.placement(clusters)
	if w.IntN(4) == 0 {
		return configMap(p, target(clusters[w.IntN(len(clusters))].Name, 0))
	}
	spec := deployment(w.Int32N(100), p)
	spec.Resource.UID = types.UID(w.one("a", "b"))
	if w.IntN(2) == 0 {
		spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
	}
	for _, at := range w.Perm(len(clusters))[:w.IntN(min(4, len(clusters)+1))] {
		spec.Clusters = append(spec.Clusters, target(clusters[at].Name, w.Int32N(20)))
	}
	if w.IntN(5) == 0 {
		spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: clusters[w.IntN(len(clusters))].Name}}
	}
	return spec
}

// TestDecideProperties looks at many random bindings: a decision depends on
// nothing but its input, tells of every cluster once, and places all replicas
// where there is room.
func TestDecideProperties(t *testing.T) {
	placed, failed := 0, 0
	for seed := range uint64(400) {
		w := world{rand.New(rand.NewPCG(seed, 4))}
		clusters := w.clusters(w.IntN(60) + 1)
		spec := w.spec(clusters)
		in := scheduling.Input{Spec: spec, Status: &workv1alpha2.ResourceBindingStatus{SchedulerObservedAffinityName: w.one("", "term1")}, Fresh: w.IntN(3) == 0}
		before := spec.DeepCopy()
		s := snapshot(clusters...)
		got := scheduling.Decide(in, s)
		w.Shuffle(len(clusters), func(i, j int) { clusters[i], clusters[j] = clusters[j], clusters[i] })
		again := scheduling.Decide(in, grown(clusters))
		if diff := gocmp.Diff(got, again); diff != "" {
			t.Fatalf("seed %d: another decision for the same clusters:\n%s", seed, diff)
		}
		if !equal(before, spec) {
			t.Fatalf("seed %d: the binding was changed", seed)
		}
		complete(t, got, s)
		if got.Failure != nil {
			failed++
			continue
		}
		placed++
		checkReplicas(t, in, s, got)
		if t.Failed() {
			t.Fatalf("seed %d: %+v\n%s", seed, spec, result(got))
		}
	}
	t.Logf("%d placed, %d not", placed, failed)
	if placed < 100 || failed < 20 {
		t.Errorf("the bindings are not varied: %d placed, %d not", placed, failed)
	}
}

// grown is a snapshot that came to be cluster by cluster.
func grown(clusters []*clusterv1alpha1.Cluster) *scheduling.Snapshot {
	s := snapshot()
	for _, c := range clusters {
		s = s.With(cluster(c.Name)).With(c)
	}
	return s.With(cluster("gone")).Without("gone").Without("never")
}

func checkReplicas(t *testing.T, in scheduling.Input, s *scheduling.Snapshot, got scheduling.Decision) {
	t.Helper()
	sum, scheduling := int32(0), in.Spec.Placement.ReplicaScheduling
	divided := scheduling != nil && scheduling.ReplicaSchedulingType == policyv1alpha1.ReplicaSchedulingTypeDivided
	byRoom := divided && (scheduling.ReplicaDivisionPreference == policyv1alpha1.ReplicaDivisionPreferenceAggregated ||
		scheduling.WeightPreference != nil && scheduling.WeightPreference.DynamicWeight != "")
	workload := in.Spec.Replicas > 0 || in.Spec.ReplicaRequirements != nil
	for _, c := range got.Clusters {
		sum += c.Replicas
		switch {
		case !workload && c.Replicas != 0, workload && !divided && c.Replicas != in.Spec.Replicas, workload && c.Replicas <= 0:
			t.Errorf("%s gets %d of %d replicas", c.Name, c.Replicas, in.Spec.Replicas)
		case byRoom && workload && c.Replicas > got.Available[c.Name]:
			t.Errorf("%s gets %d replicas and has room for %d", c.Name, c.Replicas, got.Available[c.Name])
		case s.Get(c.Name).DeletionTimestamp != nil:
			t.Errorf("%s is being removed", c.Name)
		}
	}
	if workload && divided && sum != in.Spec.Replicas {
		t.Errorf("%d replicas are placed, %d wanted", sum, in.Spec.Replicas)
	}
}

// TestSettled checks that a placement stays as it is when it is decided again.
func TestSettled(t *testing.T) {
	for seed := range uint64(300) {
		w := world{rand.New(rand.NewPCG(seed, 5))}
		clusters := w.clusters(w.IntN(60) + 1)
		s := snapshot(clusters...)
		in := scheduling.Input{Spec: w.spec(clusters), Status: &workv1alpha2.ResourceBindingStatus{}}
		in.Spec.Clusters = nil
		first := scheduling.Decide(in, s)
		if first.Failure != nil {
			continue
		}
		in.Spec.Clusters, in.Status.SchedulerObservedAffinityName = first.Clusters, first.AffinityName
		second := scheduling.Decide(in, s)
		byName := func(a, b workv1alpha2.TargetCluster) int { return cmp.Compare(a.Name, b.Name) }
		slices.SortFunc(first.Clusters, byName)
		slices.SortFunc(second.Clusters, byName)
		if diff := gocmp.Diff(first.Clusters, second.Clusters); diff != "" || second.Failure != nil {
			t.Fatalf("seed %d: %+v moves: %+v\n%s", seed, in.Spec.Placement, second.Failure, diff)
		}
	}
}

// TestAffinityAsPolicy checks that the scheduler and package policy understand
// affinities alike.
func TestAffinityAsPolicy(t *testing.T) {
	for seed := range uint64(100) {
		w := world{rand.New(rand.NewPCG(seed, 6))}
		var clusters []*clusterv1alpha1.Cluster
		for i := range 30 {
			clusters = append(clusters, cluster(fmt.Sprint("c", i), labelled("tier", w.one("gold", "silver")), labelled("index", fmt.Sprint(i%10)), inRegion(w.one("r1", "r2", "")), inZone(w.one("z1", "z2"))))
		}
		affinity := w.affinity(clusters)
		got := scheduling.Decide(scheduling.Input{Spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: &affinity})}, snapshot(clusters...))
		for _, c := range clusters {
			if chosen := why(got, c.Name) == ""; chosen != policy.MatchesCluster(&affinity, c) {
				t.Errorf("seed %d: %s chosen: %t for %+v", seed, c.Name, chosen, affinity)
			}
		}
	}
}

// TestEstimate is the estimator of contract section 9.5.
func TestEstimate(t *testing.T) {
	list := func(pairs ...string) corev1.ResourceList {
		made := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			made[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return made
	}
	models := func(counts ...int) option {
		return func(c *clusterv1alpha1.Cluster) {
			bound := func(cpu, memory string) []clusterv1alpha1.ResourceModelRange {
				return []clusterv1alpha1.ResourceModelRange{{Name: "cpu", Min: resource.MustParse(cpu)}, {Name: "memory", Min: resource.MustParse(memory)}}
			}
			for grade, ranges := range [][]clusterv1alpha1.ResourceModelRange{bound("0", "0"), bound("1", "4Gi"), bound("2", "16Gi"), bound("4", "32Gi")} {
				c.Spec.ResourceModels = append(c.Spec.ResourceModels, clusterv1alpha1.ResourceModel{Grade: uint(grade), Ranges: ranges})
				c.Status.ResourceSummary.AllocatableModelings = append(c.Status.ResourceSummary.AllocatableModelings, clusterv1alpha1.AllocatableModeling{Grade: uint(grade), Count: counts[grade]})
			}
		}
	}
	summary := func(allocatable, allocated, allocating corev1.ResourceList) option {
		return func(c *clusterv1alpha1.Cluster) {
			c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: allocatable, Allocated: allocated, Allocating: allocating}
		}
	}
	big := list("pods", "1000", "cpu", "64", "memory", "256Gi", "gpu", "3")
	for name, row := range map[string]struct {
		cluster *clusterv1alpha1.Cluster
		request corev1.ResourceList
		want    int32
	}{
		"nothing is told":                  {cluster: cluster("c"), request: list("cpu", "1")},
		"pods bound":                       {cluster: cluster("c", summary(list("pods", "110"), list("pods", "50"), list("pods", "10"))), want: 50},
		"pods bound what asks for little":  {cluster: cluster("c", summary(list("pods", "5", "cpu", "8"), nil, nil)), request: list("cpu", "1m"), want: 5},
		"no pods are told":                 {cluster: cluster("c", summary(list("cpu", "8"), nil, nil)), request: list("cpu", "1")},
		"cpu bounds":                       {cluster: cluster("c", summary(list("pods", "110", "cpu", "4", "memory", "8Gi"), list("cpu", "1500m"), list("cpu", "500m"))), request: list("cpu", "300m", "memory", "1Gi"), want: 6},
		"memory bounds":                    {cluster: cluster("c", summary(list("pods", "110", "cpu", "4", "memory", "8Gi"), list("memory", "3Gi"), nil)), request: list("cpu", "300m", "memory", "1Gi"), want: 5},
		"a resource nobody has":            {cluster: cluster("c", summary(list("pods", "110", "cpu", "4"), nil, nil)), request: list("gpu", "1")},
		"more is used than there is":       {cluster: cluster("c", summary(list("pods", "110", "cpu", "4"), list("cpu", "5"), nil)), request: list("cpu", "1")},
		"a request of nothing":             {cluster: cluster("c", summary(list("pods", "110"), nil, nil)), request: list("cpu", "0"), want: 110},
		"nodes by size":                    {cluster: cluster("c", summary(big, nil, nil), models(5, 0, 3, 1)), request: list("cpu", "1", "memory", "1Gi"), want: 3*2 + 4},
		"nodes by size, memory bounds":     {cluster: cluster("c", summary(big, nil, nil), models(5, 4, 3, 1)), request: list("cpu", "500m", "memory", "4Gi"), want: 4*1 + 3*4 + 8},
		"nodes by size and what they lack": {cluster: cluster("c", summary(big, nil, nil), models(0, 0, 9, 0)), request: list("cpu", "1", "gpu", "1"), want: 3},
		"nodes that are too small":         {cluster: cluster("c", summary(big, nil, nil), models(9, 9, 0, 0)), request: list("cpu", "2")},
	} {
		t.Run(name, func(t *testing.T) {
			spec := deployment(1, nil)
			spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: row.request}
			got := scheduling.Decide(scheduling.Input{Spec: spec}, snapshot(row.cluster))
			if got.Available["c"] != row.want {
				t.Errorf("room for %d, want %d", got.Available["c"], row.want)
			}
		})
	}
}
