package preview_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/policy/admission"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/backend/workload/preview"
	"muster.dev/muster/backend/workload/workloadtest"
)

// fixture previews over a hub in memory.
type fixture struct {
	*workloadtest.World
	t       testing.TB
	service *workload.Service
	ctx     context.Context // of a viewer
}

func newFixture(t testing.TB, gates policy.Gates, prepare func(*workloadtest.World)) *fixture {
	t.Helper()
	f := &fixture{World: workloadtest.New(t), t: t}
	prepare(f.World)
	quotas := admission.New()
	if gates.FederatedQuotaEnforcement {
		quotas.EnforceQuotas(f.World)
	}
	f.service = workload.NewService(workload.ServiceOptions{
		Quotas: quotas,
		Cache:  f.World, Templates: f.World.Templates(), Scheduler: f.World, Interpreter: interpret.Native(), Clients: f.World.Clients,
		Live: live.NewHub(), CRDs: os.DirFS("../../../deploy/crds"), Gates: gates,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := f.service.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); parts.Wait() })
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 90*time.Second, true, func(context.Context) (bool, error) { return f.service.Ready() == nil, nil })
	if err != nil {
		t.Fatal("the domain is not ready")
	}
	f.ctx = access.WithActor(ctx, access.Actor{Name: "ada", Role: access.RoleViewer})
	return f
}

// preview asks what a policy would do, which must be valid.
func (f *fixture) preview(asked preview.Draft) preview.Preview {
	f.t.Helper()
	got, err := f.service.Preview(f.ctx, asked)
	if err != nil {
		f.t.Fatal(err)
	}
	if !got.Valid || len(got.Problems) > 0 {
		f.t.Fatalf("%s\nis not valid: %+v", asked.YAML, got.Problems)
	}
	return got
}

// random makes clusters and policies.
type random struct{ *rand.Rand }

func (r random) one(list ...string) string { return list[r.IntN(len(list))] }

// clusters are n clusters of all sorts: regions, zones, labels, taints, capacity,
// some without Deployments, some on their way out.
func (r random) clusters(n int) []*clusterv1alpha1.Cluster {
	list := make([]*clusterv1alpha1.Cluster, 0, n)
	for i := range n {
		name := fmt.Sprintf("c%04d", i)
		c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Generation: 1, Labels: map[string]string{"tier": r.one("gold", "silver", "bronze"), "index": fmt.Sprint(i % 10)},
		}}
		c.Spec.Region, c.Spec.Provider = r.one("", "r1", "r2", "r3", "r4"), r.one("", "p1", "p2", "p3")
		for _, zone := range []string{"z1", "z2", "z3"}[:r.IntN(4)] {
			if r.IntN(2) == 0 {
				c.Spec.Zones = append(c.Spec.Zones, zone)
			}
		}
		c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}}}}
		if r.IntN(20) > 0 {
			c.Status.APIEnablements = append(c.Status.APIEnablements, clusterv1alpha1.APIEnablement{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}})
		}
		if r.IntN(10) == 0 {
			c.Spec.Taints = []corev1.Taint{{Key: r.one("t1", "t2"), Effect: corev1.TaintEffectNoSchedule}}
		}
		if r.IntN(50) == 0 {
			now := metav1.Unix(1, 0)
			c.DeletionTimestamp = &now
		}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(r.Int64N(60), resource.DecimalSI), corev1.ResourceCPU: *resource.NewQuantity(r.Int64N(16), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(r.Int64N(64)<<30, resource.BinarySI),
		}}
		list = append(list, c)
	}
	return list
}

func (r random) affinity() policyv1alpha1.ClusterAffinity {
	var a policyv1alpha1.ClusterAffinity
	switch r.IntN(5) {
	case 0:
		for range r.IntN(30) + 1 {
			a.ClusterNames = append(a.ClusterNames, fmt.Sprintf("c%04d", r.IntN(1000)))
		}
	case 1:
		a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": r.one("gold", "silver", "none")}}
	case 2:
		a.FieldSelector = &policyv1alpha1.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: r.one("region", "zone", "provider"), Operator: corev1.NodeSelectorOperator(r.one("In", "NotIn")), Values: []string{r.one("r1", "r2", "z1", "p1"), "r3"},
		}}}
	case 3:
		a.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "index", Operator: metav1.LabelSelectorOpIn, Values: []string{"1", r.one("3", "4")}}}}
	}
	if r.IntN(3) == 0 {
		a.ExcludeClusters = []string{fmt.Sprintf("c%04d", r.IntN(1000))}
	}
	return a
}

func (r random) replicas() *policyv1alpha1.ReplicaSchedulingStrategy {
	strategy := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		strategy.ReplicaSchedulingType = policyv1alpha1.ReplicaSchedulingTypeDuplicated
	case 2:
		strategy.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceAggregated
	case 3:
		strategy.WeightPreference = &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
	case 4:
		strategy.WeightPreference = &policyv1alpha1.ClusterPreferences{}
		for range r.IntN(4) + 1 {
			strategy.WeightPreference.StaticWeightList = append(strategy.WeightPreference.StaticWeightList,
				policyv1alpha1.StaticClusterWeight{TargetCluster: r.affinity(), Weight: r.Int64N(9) + 1})
		}
	}
	return strategy
}

// placement is a valid one.
func (r random) placement() policyv1alpha1.Placement {
	p := policyv1alpha1.Placement{ReplicaScheduling: r.replicas()}
	if r.IntN(4) == 0 {
		for i := range r.IntN(3) + 1 {
			term := policyv1alpha1.ClusterAffinityTerm{AffinityName: fmt.Sprintf("term%d", i), ClusterAffinity: r.affinity()}
			for j := range r.IntN(3) {
				if s := p.ReplicaScheduling; s == nil || s.ReplicaDivisionPreference != policyv1alpha1.ReplicaDivisionPreferenceAggregated && (s.WeightPreference == nil || s.WeightPreference.DynamicWeight == "") {
					break // nothing flows over unless room counts
				}
				overflow := policyv1alpha1.OverflowAffinity{AffinityName: fmt.Sprintf("over%d-%d", i, j), ClusterAffinity: r.affinity()}
				if overflow.ClusterNames == nil && overflow.LabelSelector == nil && overflow.FieldSelector == nil {
					overflow.ClusterNames = []string{fmt.Sprintf("c%04d", r.IntN(1000))}
				}
				term.OverflowAffinities = append(term.OverflowAffinities, overflow)
			}
			p.ClusterAffinities = append(p.ClusterAffinities, term)
		}
	} else {
		a := r.affinity()
		p.ClusterAffinity = &a
	}
	if r.IntN(2) == 0 {
		least := r.IntN(3) + 1
		p.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: least, MaxGroups: least + r.IntN(9)}}
		if r.IntN(2) == 0 {
			least = r.IntN(2) + 1
			p.SpreadConstraints = append(p.SpreadConstraints, policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadByFieldRegion, MinGroups: least, MaxGroups: least + r.IntN(2)})
		}
		if r.IntN(3) == 0 {
			p.SpreadConstraints = append(p.SpreadConstraints, policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadFieldValue(r.one("zone", "provider")), MinGroups: 1, MaxGroups: 3})
		}
	}
	if r.IntN(2) == 0 {
		p.ClusterTolerations = []corev1.Toleration{{Key: r.one("t1", "t2"), Operator: corev1.TolerationOpExists}}
	}
	return p
}
