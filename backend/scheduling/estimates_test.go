package scheduling_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/estimator"
	"muster.dev/muster/backend/estimator/estimatortest"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
)

// spilling prefers one cluster and takes the next where that has no room.
func spilling(first, next string) *policyv1alpha1.Placement {
	return &policyv1alpha1.Placement{ReplicaScheduling: aggregated(), ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{{
		AffinityName: "primary", ClusterAffinity: *names(first),
		OverflowAffinities: []policyv1alpha1.OverflowAffinity{{AffinityName: "secondary", ClusterAffinity: *names(next)}},
	}}}
}

// TestEstimates: the least that is said of a cluster's room counts, and who is not
// known is taken at what the Cluster says.
func TestEstimates(t *testing.T) {
	s := snapshot(cluster("a", room(100)), cluster("b", room(3)), cluster("c"))
	for name, test := range map[string]struct {
		spec      *workv1alpha2.ResourceBindingSpec
		estimates map[string]int32
		want      string
	}{
		"nobody knows":            {spec: deployment(4, spilling("a", "b")), want: "a:4"},
		"less than the Cluster":   {spec: deployment(4, spilling("a", "b")), estimates: map[string]int32{"a": 2}, want: "a:2 b:2"},
		"more than the Cluster":   {spec: deployment(4, spilling("b", "a")), estimates: map[string]int32{"b": 100}, want: "a:1 b:3"},
		"no room at all":          {spec: deployment(3, spilling("a", "b")), estimates: map[string]int32{"a": 0}, want: "b:3"},
		"a Cluster without room":  {spec: deployment(1, spilling("c", "b")), estimates: map[string]int32{"c": 5}, want: "b:1"},
		"what runs counts beside": {spec: deployment(4, spilling("a", "b"), target("a", 2)), estimates: map[string]int32{"a": 0, "b": 2}, want: "a:2 b:2"},
		"too little": {spec: deployment(5, spilling("a", "b"), target("a", 2), target("b", 2)), estimates: map[string]int32{"a": 0, "b": 0},
			want: "Unschedulable: 5 replicas are wanted, but the clusters that can be used have room for 4"},
		"the last tier shrinks first": {spec: deployment(2, spilling("a", "b"), target("a", 2), target("b", 2)), estimates: map[string]int32{"a": 0, "b": 0}, want: "a:2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := scheduling.Decide(scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}, Estimates: test.estimates}, s)
			targets := slices.Clone(got.Clusters)
			slices.SortFunc(targets, func(a, b workv1alpha2.TargetCluster) int { return strings.Compare(a.Name, b.Name) })
			got.Clusters = targets
			if result(got) != test.want {
				t.Errorf("got  %s\nwant %s", result(got), test.want)
			}
		})
	}
}

// estimators answers for members.
type estimators struct {
	mu        sync.Mutex
	free      map[string]int32
	asked     [][]string
	assumed   []map[string][]estimator.Workload
	sets      []string
	forgotten []string
}

func (e *estimators) Estimate(_ context.Context, clusters []*clusterv1alpha1.Cluster, _ *workv1alpha2.ReplicaRequirements, assumed map[string][]estimator.Workload) map[string]int32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	known := map[string]int32{}
	for _, c := range clusters {
		list = append(list, c.Name)
		if free, ok := e.free[c.Name]; ok {
			known[c.Name] = free
		}
	}
	e.asked, e.assumed = append(e.asked, list), append(e.assumed, assumed)
	return known
}

func (e *estimators) EstimateSets(ctx context.Context, clusters []*clusterv1alpha1.Cluster, set estimator.Workload, assumed map[string][]estimator.Workload) map[string]int32 {
	e.mu.Lock()
	for i := range set.Parts {
		e.sets = append(e.sets, set.Namespace+"/"+set.Parts[i].Name)
	}
	e.mu.Unlock()
	return e.Estimate(ctx, clusters, nil, assumed)
}

func (e *estimators) Forget(cluster string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgotten = append(e.forgotten, cluster)
}

func (e *estimators) say(free map[string]int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = free
}

// TestOverflowByEstimators scales a workload up over its clusters' quotas, of which
// only the estimators know, and down again.
func TestOverflowByEstimators(t *testing.T) {
	e := &estimators{free: map[string]int32{"member1": 2, "member2": 2}}
	h := startSchedulerWith(t, kubetest.StartHub(t), func(ctrl.Manager) scheduling.Deps { return scheduling.Deps{Gates: policy.DefaultGates(), Estimator: e} })
	for _, name := range []string{"member1", "member2", "member3"} {
		h.join(t, cluster(name, room(100)))
	}
	b := binding("web", deployment(2, spilling("member1", "member2")))
	b.Spec.Clusters = nil
	h.scheduler.Place(b)
	if len(b.Spec.Clusters) != 0 {
		t.Error("a binding that estimators have a say in was placed before it was created")
	}
	h.Create(t, b)
	h.settled(t, b, workv1alpha2.ReasonSuccess, "member1:2")
	for _, step := range []struct {
		replicas int32
		free     map[string]int32
		reason   string
		clusters string
	}{
		{4, map[string]int32{"member1": 0, "member2": 2}, workv1alpha2.ReasonSuccess, "member1:2 member2:2"},
		{5, map[string]int32{"member1": 0, "member2": 0}, workv1alpha2.ReasonUnschedulable, "member1:2 member2:2"},
		{2, map[string]int32{"member1": 0, "member2": 0}, workv1alpha2.ReasonSuccess, "member1:2"},
	} {
		e.say(step.free)
		change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = step.replicas })
		h.settled(t, b, step.reason, step.clusters)
	}
	e.mu.Lock()
	if slices.ContainsFunc(e.assumed, func(told map[string][]estimator.Workload) bool { return told != nil }) {
		t.Errorf("with the gate off estimators are told of %v", e.assumed)
	}
	for _, list := range e.asked {
		if diff := cmp.Diff([]string{"member1", "member2"}, list); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
	asked := len(e.asked)
	e.mu.Unlock()
	// Where the room of clusters does not matter nobody is asked.
	all := binding("all", deployment(2, &policyv1alpha1.Placement{ClusterAffinity: names("member3")}))
	h.Create(t, all)
	h.settled(t, all, workv1alpha2.ReasonSuccess, "member3:2")
	e.mu.Lock()
	if len(e.asked) != asked {
		t.Errorf("asked about %v", e.asked[asked:])
	}
	e.mu.Unlock()
	gone := cluster("member3")
	change(t, h, gone, false, func(c *clusterv1alpha1.Cluster) { c.Finalizers = nil })
	if err := h.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the estimator of a removed cluster to be forgotten", func(context.Context) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.Equal(e.forgotten, []string{"member3"})
	})
}

// TestSetsByEstimators has a set of parts placed, and follows a change of its parts.
func TestSetsByEstimators(t *testing.T) {
	e := &estimators{free: map[string]int32{"member1": 0, "member2": 1}}
	h := startSchedulerWith(t, kubetest.StartHub(t), func(ctrl.Manager) scheduling.Deps { return scheduling.Deps{Gates: policy.DefaultGates(), Estimator: e} })
	for _, name := range []string{"member1", "member2"} {
		h.join(t, cluster(name, cores(8, 100)))
	}
	b := binding("flink", job(&policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{spreadBy(policyv1alpha1.SpreadByFieldCluster, 1, 1)}}, part("manager", 1, 100), part("worker", 2, 100)))
	b.Spec.Clusters = nil
	h.Create(t, b)
	h.settled(t, b, workv1alpha2.ReasonSuccess, "member2")
	change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.Components[1].Replicas = 3 })
	h.Await(t, "the new number of a part's replicas in the result", func(ctx context.Context) bool {
		return h.Client.Get(ctx, client.ObjectKeyFromObject(b), b) == nil && len(b.Spec.Clusters) == 1 &&
			slices.Equal(b.Spec.Clusters[0].Components, []workv1alpha2.TargetComponent{{Name: "manager", Replicas: 1}, {Name: "worker", Replicas: 3}})
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.sets) < 2 || !slices.Equal(e.sets[:2], []string{"default/manager", "default/worker"}) {
		t.Errorf("asked about %v", e.sets)
	}
}

// TestEstimatorsOverTheWire has the product's client ask real servers, which Services
// of a real hub lead to. One of the three members has no estimator that answers.
func TestEstimatorsOverTheWire(t *testing.T) {
	h := startSchedulerWith(t, kubetest.StartHub(t), func(m ctrl.Manager) scheduling.Deps {
		estimators, err := estimator.New(estimator.Options{
			Enabled: true, Timeout: time.Minute, Prefix: estimator.DefaultPrefix, Namespace: estimator.DefaultNamespace, Port: estimator.DefaultPort,
		}, estimator.Deps{Services: m.GetAPIReader(), Recorder: m.GetEventRecorder("test-scheduler")})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(estimators); err != nil {
			t.Fatal(err)
		}
		return scheduling.Deps{Gates: policy.DefaultGates(), Estimator: estimators}
	})
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: estimator.DefaultNamespace}})
	first, next := estimatortest.Start(t), estimatortest.Start(t)
	first.Answers(2)
	next.Answers(1)
	h.Create(t, estimatortest.Service(t, "member1", first.Address))
	h.Create(t, estimatortest.Service(t, "member2", next.Address))
	silent := estimatortest.Service(t, "member3", "127.0.0.1:1")
	silent.Spec.Type, silent.Spec.ExternalName = corev1.ServiceTypeClusterIP, ""
	h.Create(t, silent)
	for _, name := range []string{"member1", "member2", "member3"} {
		h.join(t, cluster(name, cores(8, 100)))
	}
	b := binding("web", deployment(4, spilling("member1", "member2")))
	b.Spec.Placement.ClusterAffinities[0].OverflowAffinities = append(b.Spec.Placement.ClusterAffinities[0].OverflowAffinities,
		policyv1alpha1.OverflowAffinity{AffinityName: "tertiary", ClusterAffinity: *names("member3")})
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{Namespace: "default", ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}
	h.Create(t, b)
	h.settled(t, b, workv1alpha2.ReasonSuccess, "member1:2 member2:1 member3:1")
	h.Await(t, "an Event about the member whose estimator does not answer", func(ctx context.Context) bool {
		var list corev1.EventList
		return h.Client.List(ctx, &list) == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == "Cluster" && e.InvolvedObject.Name == "member3" && e.Reason == "EstimatorUnreachable" && strings.Contains(e.Message, "only ExternalName")
		})
	})
}

// cores gives the cluster cores and room for pods.
func cores(cpu, pods int64) option {
	return func(c *clusterv1alpha1.Cluster) {
		room(pods)(c)
		c.Status.ResourceSummary.Allocatable[corev1.ResourceCPU] = *resource.NewQuantity(cpu, resource.DecimalSI)
	}
}
