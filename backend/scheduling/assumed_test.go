package scheduling_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// oneCluster divides over the one cluster that has room.
func oneCluster() *policyv1alpha1.Placement {
	return &policyv1alpha1.Placement{ReplicaScheduling: aggregated(), SpreadConstraints: []policyv1alpha1.SpreadConstraint{spreadBy(policyv1alpha1.SpreadByFieldCluster, 1, 1)}}
}

// TestAssumed: what is assumed of a cluster takes room from what it reports.
func TestAssumed(t *testing.T) {
	t.Parallel()
	divided := &policyv1alpha1.Placement{ReplicaScheduling: aggregated()}
	replicas := func(n int32, milli int64, now ...workv1alpha2.TargetCluster) *workv1alpha2.ResourceBindingSpec {
		spec := deployment(n, divided, now...)
		spec.ReplicaRequirements = part("", 0, milli).ReplicaRequirements
		return spec
	}
	set := func(parts ...workv1alpha2.Component) []estimator.Workload {
		return []estimator.Workload{{Namespace: "other", Parts: parts}}
	}
	sized := func(nodes int, cpu int64) *clusterv1alpha1.Cluster {
		return cluster("a", cores(1000, 1000), bySize(nodes, cpu))
	}
	room := func(n int) string {
		return fmt.Sprintf("Unschedulable: 9 replicas are wanted, but the clusters that can be used have room for %d", n)
	}
	for _, test := range []struct {
		name      string
		cluster   *clusterv1alpha1.Cluster
		spec      *workv1alpha2.ResourceBindingSpec
		assumed   []estimator.Workload
		estimates map[string]int32
		want      string
	}{
		{"nothing", cluster("a", cores(4, 100)), replicas(9, 1000), nil, nil, room(4)},
		{"some cores", cluster("a", cores(4, 100)), replicas(9, 1000), set(part("x", 1, 500), part("y", 2, 250)), nil, room(3)},
		{"more than there is", cluster("a", cores(4, 100)), replicas(9, 1000), set(part("x", 9, 500)), nil, room(0)},
		{"pods", cluster("a", cores(90, 10)), replicas(9, 1000), set(part("x", 3, 1), workv1alpha2.Component{Name: "y", Replicas: 2}), nil, room(5)},
		{"more pods than there are", cluster("a", cores(90, 10)), replicas(9, 1000), set(part("x", 30, 1)), nil, room(0)},
		{"what the cluster does not count", cluster("a", cores(4, 100)), deployment(9, divided), set(part("x", 3, 100)), nil, "a:9"},
		{"an estimator says less still", cluster("a", cores(4, 100)), replicas(9, 1000), set(part("x", 1, 1000)), map[string]int32{"a": 2}, room(2)},
		{"an estimator says more", cluster("a", cores(4, 100)), replicas(9, 1000), set(part("x", 1, 1000)), map[string]int32{"a": 9}, room(3)},
		{"what runs here already has its room", cluster("a", cores(4, 100)), replicas(9, 1000, target("a", 2)), set(part("x", 1, 1000)), nil, room(5)},
		{"nodes by size: one of them is taken in part", sized(2, 4), replicas(9, 2000), set(part("x", 1, 3000)), nil, room(2)},
		{"nodes by size: one after the other", sized(4, 4), replicas(9, 2000), set(part("x", 3, 3000)), nil, room(2)},
		{"nodes by size: what is left takes the next", sized(2, 4), replicas(9, 1000), set(part("x", 2, 3000), part("y", 1, 1000)), nil, room(1)},
		{"nodes by size: several on each", sized(3, 4), replicas(9, 2000), set(part("x", 3, 2000)), nil, room(3)},
		{"nodes by size: all are full", sized(2, 4), replicas(9, 1000), set(part("x", 99, 4000)), nil, room(0)},
		{"nodes by size: it fits onto none", sized(2, 4), replicas(9, 1000), set(part("x", 1, 5000)), nil, room(8)},
		{"a set", cluster("a", cores(4, 100)), job(oneCluster(), part("manager", 1, 1000), part("worker", 2, 1000)), set(part("x", 1, 1000)), nil, "a"},
		{"no room for a set", cluster("a", cores(4, 100)), job(oneCluster(), part("manager", 1, 1000), part("worker", 2, 1000)), set(part("x", 1, 1001)), nil,
			"SchedulerError: no enough resource: 2 parts have to run in one cluster, but none of those that can be used has room for all"},
	} {
		s := snapshot(test.cluster)
		in := scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}, Estimates: test.estimates, Assumed: map[string][]estimator.Workload{"a": test.assumed, "gone": set(part("x", 1, 1))}}
		for range 2 { // deciding takes nothing from the snapshot
			if got := result(scheduling.Decide(in, s)); got != test.want {
				t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
			}
		}
	}
}

// quota is an estimator that has so many thousandths of a core, knows of nothing that
// runs, and deducts what it is told is assumed.
type quota struct {
	*estimatortest.Server
	mu    sync.Mutex
	milli int64
	told  int // the most workloads that it was told of
}

func startQuota(t *testing.T, milli int64) *quota {
	t.Helper()
	q := &quota{Server: estimatortest.Start(t), milli: milli}
	q.Does(func(_ context.Context, request protoreflect.Message) (int32, error) {
		q.mu.Lock()
		left := q.milli
		q.mu.Unlock()
		assumed := estimatortest.Field(request, "assumed").List()
		for i := range assumed.Len() {
			taken, err := milliOf(assumed.Get(i).Message())
			if err != nil || estimatortest.Field(assumed.Get(i).Message(), "namespace").String() != "default" {
				return 0, errors.Join(err, errors.New("of another namespace"))
			}
			left -= taken
		}
		q.mu.Lock()
		q.told = max(q.told, assumed.Len())
		q.mu.Unlock()
		var wanted int64
		var err error
		if request.Descriptor().Name() == "SetsRequest" {
			wanted, err = milliOf(request)
		} else {
			wanted, err = milliIn(estimatortest.Field(request, "requirements").Message())
		}
		return int32(max(left/max(wanted, 1), 0)), err
	})
	return q
}

func (q *quota) has(milli int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.milli = milli
}

func (q *quota) most() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.told
}

// milliOf is what the components of a message ask for together.
func milliOf(of protoreflect.Message) (sum int64, err error) {
	for list, i := estimatortest.Field(of, "components").List(), 0; i < list.Len(); i++ {
		each, err := milliIn(estimatortest.Field(list.Get(i).Message(), "requirements").Message())
		if err != nil {
			return 0, err
		}
		sum += each * estimatortest.Field(list.Get(i).Message(), "replicas").Int()
	}
	return sum, nil
}

func milliIn(requirements protoreflect.Message) (int64, error) {
	for list, i := estimatortest.Field(requirements, "requests").List(), 0; i < list.Len(); i++ {
		if estimatortest.Field(list.Get(i).Message(), "key").String() == string(corev1.ResourceCPU) {
			var quantity resource.Quantity
			err := quantity.Unmarshal(estimatortest.Field(list.Get(i).Message(), "value").Bytes())
			return quantity.MilliValue(), err
		}
	}
	return 0, nil
}

// protect starts a scheduler on a hub, and a member of whose quota only its estimator
// knows.
func protect(t *testing.T, on *kubetest.Hub, gates policy.Gates, member string, milli int64) (*hub, *quota) {
	t.Helper()
	h := startSchedulerWith(t, on, func(m ctrl.Manager) scheduling.Deps {
		estimators, err := estimator.New(estimator.Options{
			Enabled: true, Timeout: time.Minute, Prefix: estimator.DefaultPrefix, Namespace: estimator.DefaultNamespace, Port: estimator.DefaultPort,
		}, estimator.Deps{Services: m.GetAPIReader(), Recorder: m.GetEventRecorder("test-scheduler")})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(estimators); err != nil {
			t.Fatal(err)
		}
		return scheduling.Deps{Gates: gates, Estimator: estimators}
	})
	q := startQuota(t, milli)
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: estimator.DefaultNamespace}})
	service := estimatortest.Service(t, member, q.Address)
	h.Create(t, service)
	change(t, h, service, false, func(s *corev1.Service) { s.Spec.Ports = estimatortest.Service(t, member, q.Address).Spec.Ports })
	if c := cluster(member, cores(100, 100)); h.Gone(t.Context(), client.ObjectKeyFromObject(c), &clusterv1alpha1.Cluster{}) {
		h.join(t, c)
	}
	return h, q
}

// flink is a workload of two parts that ask for 50m and 100m.
func flink(name, member string) *workv1alpha2.ResourceBinding {
	b := binding(name, job(oneCluster(), part("jobmanager", 1, 50), part("taskmanager", 1, 100)))
	b.Spec.Placement.ClusterAffinity = names(member)
	return b
}

// web is a Deployment whose one replica asks for 200m.
func web(name, member string) *workv1alpha2.ResourceBinding {
	b := binding(name, deployment(1, oneCluster()))
	b.Spec.Placement.ClusterAffinity = names(member)
	b.Spec.ReplicaRequirements = part("", 0, 200).ReplicaRequirements
	return b
}

// refused waits until there is no room for a binding, and says so in the words that
// clients look for.
func (h *hub) refused(t *testing.T, b workv1alpha2.Binding) {
	t.Helper()
	h.settled(t, b, workv1alpha2.ReasonSchedulerError, "")
	condition := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.Scheduled)
	if condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "no enough resource") {
		t.Errorf("%s: %s, %s", b.GetName(), condition.Status, condition.Message)
	}
}

// TestOvercommitProtection: what an estimator cannot see yet is not given away twice.
func TestOvercommitProtection(t *testing.T) {
	hub := kubetest.StartHub(t)
	gates := policy.DefaultGates()
	gates.SchedulingOvercommitProtection = true
	for name, test := range map[string]func(*testing.T, *kubetest.Hub, policy.Gates){
		"one after the other": testOneAfterTheOther,
		"all at once":         testAllAtOnce,
		"a refused write":     testGivenBack,
		"the hub starts anew": testRecalled,
		"no estimator":        testWithoutEstimator,
		"the gate is off":     testUnprotected,
	} {
		t.Run(name, func(t *testing.T) { test(t, hub, gates) })
	}
}

func testOneAfterTheOther(t *testing.T, on *kubetest.Hub, gates policy.Gates) {
	const member = "sequence"
	h, q := protect(t, on, gates, member, 1000)
	var jobs []*workv1alpha2.ResourceBinding
	for i := range 7 {
		jobs = append(jobs, flink(fmt.Sprintf("sequence-%d", i), member))
	}
	for _, b := range jobs[:6] {
		h.Create(t, b)
		h.settled(t, b, workv1alpha2.ReasonSuccess, member)
	}
	for range 10 { // who only looks takes nothing
		preview := flink("sequence-preview", member)
		in := h.scheduler.Inquire(t.Context(), scheduling.Input{Spec: &preview.Spec, Status: &preview.Status})
		if got := scheduling.Decide(in, h.scheduler.Snapshot()); got.Failure == nil || !got.Failure.Short {
			t.Fatalf("a preview: %s", result(got))
		}
	}
	small, deployed := flink("sequence-small", member), web("sequence-web", member)
	small.Spec.Components = small.Spec.Components[1:] // 100m are left
	h.Create(t, small)
	h.settled(t, small, workv1alpha2.ReasonSuccess, member)
	h.Create(t, jobs[6])
	h.refused(t, jobs[6])
	h.Create(t, deployed)
	h.refused(t, deployed)
	if err := h.Client.Delete(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	h.settled(t, jobs[6], workv1alpha2.ReasonSuccess, member)
	h.refused(t, deployed)
	for _, b := range jobs[1:3] { // these have run, and ended
		change(t, h, b, true, func(b *workv1alpha2.ResourceBinding) {
			b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: member, Applied: true, Health: workv1alpha2.ResourceHealthy}}
		})
	}
	h.settled(t, deployed, workv1alpha2.ReasonSuccess, member+":1")
	if most := q.most(); most != 7 {
		t.Errorf("the estimator was told of %d workloads", most)
	}
}

func testAllAtOnce(t *testing.T, on *kubetest.Hub, gates policy.Gates) {
	const member, total = "crowd", 24
	h, _ := protect(t, on, gates, member, 1000)
	var jobs []*workv1alpha2.ResourceBinding
	var creating sync.WaitGroup
	for i := range total {
		b := flink(fmt.Sprintf("crowd-%d", i), member)
		jobs = append(jobs, b)
		creating.Go(func() {
			if err := h.Client.Create(t.Context(), b); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
	placed, refused := 0, 0
	h.Await(t, "each of them to be decided", func(ctx context.Context) bool {
		placed, refused = 0, 0
		for _, b := range jobs {
			if h.Client.Get(ctx, client.ObjectKeyFromObject(b), b) != nil {
				return false
			}
			switch condition := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.Scheduled); {
			case condition == nil:
			case condition.Status == metav1.ConditionTrue:
				placed++
			default:
				refused++
			}
		}
		return placed+refused == total
	})
	if placed != 6 {
		t.Errorf("%d were placed, %d refused; there is room for 6", placed, refused)
	}
}

func testGivenBack(t *testing.T, on *kubetest.Hub, gates policy.Gates) {
	const member = "narrow"
	h, _ := protect(t, on, gates, member, 200)
	first, second := web("narrow-first", member), web("narrow-second", member)
	h.answer(first.Name, workv1alpha2.ReasonQuotaExceeded)
	h.Create(t, first)
	h.settled(t, first, workv1alpha2.ReasonQuotaExceeded, "")
	h.Create(t, second)
	h.settled(t, second, workv1alpha2.ReasonSuccess, member+":1")
	h.answer("", "")
	h.refused(t, first)
}

func testRecalled(t *testing.T, on *kubetest.Hub, gates policy.Gates) {
	const member = "restarted"
	t.Run("before", func(t *testing.T) {
		h, _ := protect(t, on, gates, member, 200)
		b := web("restarted-first", member)
		h.Create(t, b)
		h.settled(t, b, workv1alpha2.ReasonSuccess, member+":1")
	})
	h, q := protect(t, on, gates, member, 200)
	b := web("restarted-second", member)
	h.Create(t, b)
	h.refused(t, b)
	q.has(400)
	h.settled(t, b, workv1alpha2.ReasonSuccess, member+":1")
}

func testWithoutEstimator(t *testing.T, on *kubetest.Hub, gates policy.Gates) {
	const member = "alone"
	h := startSchedulerWith(t, on, func(ctrl.Manager) scheduling.Deps { return scheduling.Deps{Gates: gates} })
	h.join(t, cluster(member, func(c *clusterv1alpha1.Cluster) {
		cores(0, 100)(c)
		c.Status.ResourceSummary.Allocatable[corev1.ResourceCPU] = resource.MustParse("450m")
	}))
	h.Await(t, "the scheduler to place", func(context.Context) bool {
		probe := binding("probe", configMap(&policyv1alpha1.Placement{ClusterAffinity: names(member)}))
		h.scheduler.Place(probe) // what takes no room is placed before it is created
		return len(probe.Spec.Clusters) == 1
	})
	// This goes where it is sent whatever the room; what it takes counts all the same.
	sent := web("alone-sent", member)
	sent.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: names(member)}
	h.scheduler.Place(sent)
	if len(sent.Spec.Clusters) != 0 {
		t.Errorf("what would be assumed was placed before it was created: %v", sent.Spec.Clusters)
	}
	h.Create(t, sent)
	h.settled(t, sent, workv1alpha2.ReasonSuccess, member+":1")
	second, third := web("alone-second", member), web("alone-third", member)
	h.Create(t, second)
	h.settled(t, second, workv1alpha2.ReasonSuccess, member+":1")
	h.Create(t, third)
	h.refused(t, third)
}

func testUnprotected(t *testing.T, on *kubetest.Hub, gates policy.Gates) {
	const member = "unprotected"
	gates.SchedulingOvercommitProtection = false
	h, q := protect(t, on, gates, member, 1000)
	for i := range 8 {
		b := flink(fmt.Sprintf("unprotected-%d", i), member)
		h.Create(t, b)
		h.settled(t, b, workv1alpha2.ReasonSuccess, member)
	}
	if q.most() != 0 {
		t.Errorf("the estimator was told of %d workloads", q.most())
	}
}
