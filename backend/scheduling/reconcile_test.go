package scheduling_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
)

// wire sees the writes of the scheduler to bindings, and may refuse them.
type wire struct {
	mu     sync.Mutex
	writes []string // "settings", "settings/status"
	refuse map[string]metav1.StatusReason
	first  map[string]func() // is run once before the write goes on
}

func (w *wire) wrap(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			_, path, ok := strings.Cut(r.URL.Path, "resourcebindings/")
			if !ok || r.Method == http.MethodGet {
				return next.RoundTrip(r)
			}
			w.mu.Lock()
			w.writes = append(w.writes, path)
			reason, first := w.refuse[path], w.first[path]
			delete(w.first, path)
			w.mu.Unlock()
			if first != nil {
				first()
			}
			if reason == "" {
				return next.RoundTrip(r)
			}
			body, err := json.Marshal(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Code: http.StatusForbidden, Reason: reason, Message: "no more is allowed",
			})
			return &http.Response{
				StatusCode: http.StatusForbidden, Request: r, Body: io.NopCloser(bytes.NewReader(body)),
				Header: http.Header{"Content-Type": {"application/json"}},
			}, err
		})
	})
	return config
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// of are the writes to a binding.
func (w *wire) of(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, path := range w.writes {
		if binding, _, _ := strings.Cut(path, "/"); binding == name {
			list = append(list, strings.TrimPrefix(path, name))
		}
	}
	return list
}

// answer refuses the writes to one spec.
func (w *wire) answer(name string, reason metav1.StatusReason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = map[string]metav1.StatusReason{name: reason}
}

// hub is a hub with a scheduler.
type hub struct {
	*kubetest.Hub
	*wire
	scheduler *scheduling.Scheduler
}

func startScheduler(t *testing.T, h *kubetest.Hub) *hub {
	t.Helper()
	return startSchedulerWith(t, h, func(ctrl.Manager) scheduling.Deps { return scheduling.Deps{Gates: policy.DefaultGates()} })
}

func startSchedulerWith(t *testing.T, h *kubetest.Hub, deps func(ctrl.Manager) scheduling.Deps) *hub {
	t.Helper()
	w := &wire{}
	manager, err := kube.NewManager(w.wrap(h.Config()), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	scheduler, err := scheduling.SetupWithManager(manager, deps(manager))
	if err != nil {
		t.Fatal(err)
	}
	h.Run(t, manager)
	return &hub{Hub: h, wire: w, scheduler: scheduler}
}

// join makes a cluster with its status and waits until the scheduler knows it.
func (h *hub) join(t *testing.T, c *clusterv1alpha1.Cluster) {
	t.Helper()
	c.UID, c.Finalizers = "", []string{clusterv1alpha1.ClusterControllerFinalizer}
	c.Spec.SyncMode = clusterv1alpha1.Push
	status := c.Status.DeepCopy()
	h.Create(t, c)
	c.Status = *status
	if err := h.Client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the scheduler to know "+c.Name, func(context.Context) bool {
		known := h.scheduler.Snapshot().Get(c.Name)
		return known != nil && known.ResourceVersion == c.ResourceVersion
	})
}

// change changes a stored object, whoever writes it too.
func change[T client.Object](t *testing.T, h *hub, object T, status bool, edit func(T)) {
	t.Helper()
	h.Await(t, "a change of "+object.GetName(), func(ctx context.Context) bool {
		if h.Client.Get(ctx, client.ObjectKeyFromObject(object), object) != nil {
			return false
		}
		edit(object)
		err := error(nil)
		if status {
			err = h.Client.Status().Update(ctx, object)
		} else {
			err = h.Client.Update(ctx, object)
		}
		if err != nil && !apierrors.IsConflict(err) {
			t.Log(err)
		}
		return err == nil
	})
}

// binding is one that a policy's claim is on.
func binding(name string, spec *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ResourceBinding {
	spec.SchedulerName = policyv1alpha1.DefaultSchedulerName
	spec.Resource.Name = name
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "id"}},
		Spec:       *spec,
	}
}

// settled waits until a binding's condition Scheduled has the reason, and for
// success until it is of the present generation.
func (h *hub) settled(t *testing.T, b workv1alpha2.Binding, reason, clusters string) {
	t.Helper()
	seen := ""
	defer func() {
		if t.Failed() {
			t.Logf("%s last was %s", b.GetName(), seen)
		}
	}()
	h.Await(t, b.GetName()+" to be "+reason+" on "+clusters, func(ctx context.Context) bool {
		if h.Client.Get(ctx, client.ObjectKeyFromObject(b), b) != nil {
			return false
		}
		condition := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.Scheduled)
		if condition == nil {
			return false
		}
		targets := slices.Clone(b.BindingSpec().Clusters)
		slices.SortFunc(targets, func(a, b workv1alpha2.TargetCluster) int { return strings.Compare(a.Name, b.Name) })
		got := result(scheduling.Decision{Clusters: targets})
		seen = fmt.Sprintf("%s (%s) on %q, generation %d of %d", condition.Reason, condition.Message, got, b.BindingStatus().SchedulerObservedGeneration, b.GetGeneration())
		current := b.BindingStatus().SchedulerObservedGeneration == b.GetGeneration()
		return condition.Reason == reason && got == clusters && (current || reason != workv1alpha2.ReasonSuccess)
	})
}

// event waits for an Event about an object of a kind.
func (h *hub) event(t *testing.T, kind, name, reason, note string) {
	t.Helper()
	h.Await(t, fmt.Sprintf("%s about %s %s", reason, kind, name), func(ctx context.Context) bool {
		var list corev1.EventList
		if h.Client.List(ctx, &list) != nil {
			return false
		}
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason && e.Message == note
		})
	})
}

func TestReconcile(t *testing.T) {
	h := startScheduler(t, kubetest.StartHub(t))
	h.join(t, cluster("member1", room(10)))
	h.join(t, cluster("member2", room(10)))
	h.Await(t, "the scheduler to place", func(context.Context) bool {
		probe := binding("probe", configMap(&policyv1alpha1.Placement{}))
		h.scheduler.Place(probe) // does nothing before the scheduler knows all clusters
		return len(probe.Spec.Clusters) == 2
	})
	for name, test := range map[string]func(*testing.T, *hub){
		"two writes for a new binding":    testNewBinding,
		"one write for a placed binding":  testPlace,
		"cluster-scoped":                  testClusterBinding,
		"replicas change":                 testReplicas,
		"not ours, until it is":           testOwnership,
		"rescheduling on demand":          testReschedule,
		"somebody else writes the status": testRivals,
		"a refusal":                       testRefusal,
		"no fit until a label":            testNoFit,
		"no fit until an API":             testNoFitAPI,
		"too little room, until there is": testRetry,
		"a cluster goes":                  testEvacuation,
		"the highest priority first":      testPriority,
	} {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
	t.Run("what dashboards select by", func(t *testing.T) { testLabels(t, h) })
	testRestart(t, h)
}

// testLabels looks at the values of labels after all that has happened before: they
// are those that dashboards know (contract section 14), and no others.
func testLabels(t *testing.T, h *hub) {
	b := binding("watched-by-dashboards", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
	h.Create(t, b)
	h.settled(t, b, "Success", "member1")
	change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement.ClusterAffinity = names("member2") })
	h.settled(t, b, "Success", "member2")
	results, types, steps := []string{"error", "success"}, []string{"ReconcileSchedule", "ScaleSchedule"}, []string{"AssignReplicas", "Filter", "Score", "Select"}
	for _, c := range []struct {
		metric, label string
		want          []string
	}{
		{"schedule_attempts_total", "result", results},
		{"schedule_attempts_total", "schedule_type", types},
		{"e2e_scheduling_duration_seconds", "result", results},
		{"e2e_scheduling_duration_seconds", "schedule_type", types},
		{"scheduling_algorithm_duration_seconds", "schedule_step", steps},
		{"queue_incoming_bindings_total", "event", []string{"BindingAdd", "BindingUpdate", "ClusterChanged", "PolicyChanged", "ScheduleAttemptFailure"}},
		{"framework_extension_point_duration_seconds", "extension_point", []string{"Filter", "Score"}},
		{"framework_extension_point_duration_seconds", "result", []string{"success"}},
		{"plugin_execution_duration_seconds", "extension_point", []string{"Filter"}},
		{"plugin_execution_duration_seconds", "result", []string{"success"}},
	} {
		var got []string
		for _, labels := range labelsOf(t, "karmada_scheduler_"+c.metric) {
			got = append(got, labels[c.label])
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, c.want) {
			t.Errorf("%s has %s %q, want %q", c.metric, c.label, got, c.want)
		}
	}
}

// labelsOf are the labels of all series of a metric.
func labelsOf(t *testing.T, metric string) (all []map[string]string) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, one := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range one.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			all = append(all, labels)
		}
	}
	return all
}

func testNewBinding(t *testing.T, h *hub) {
	b := binding("web", deployment(9, &policyv1alpha1.Placement{ClusterAffinity: names("member1", "member2"), ReplicaScheduling: static("member1=2", "member2=1")}))
	want := scheduling.AppliedPlacement(b.Spec.Placement)
	h.Create(t, b)
	h.settled(t, b, "Success", "member1:6 member2:3")
	if b.Annotations[policyv1alpha1.AppliedPlacementAnnotation] != want || b.Status.LastScheduledTime == nil || b.Generation != 2 {
		t.Errorf("generation %d, annotations %v, status %+v", b.Generation, b.Annotations, b.Status)
	}
	h.event(t, "ResourceBinding", "web", "ScheduleBindingSucceed", "scheduled to member1:6, member2:3")
	h.event(t, "Deployment", "web", "ScheduleBindingSucceed", "scheduled to member1:6, member2:3")
	if got := h.of("web"); !slices.Equal(got, []string{"", "/status"}) {
		t.Errorf("writes %q, want one of the spec and one of the status", got)
	}
}

func testPlace(t *testing.T, h *hub) {
	b := binding("settings", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1", "member2")}))
	h.scheduler.Place(b)
	h.Create(t, b)
	h.settled(t, b, "Success", "member1 member2")
	if got := h.of("settings"); !slices.Equal(got, []string{"/status"}) || b.Generation != 1 {
		t.Errorf("writes %q, want one of the status; generation %d", got, b.Generation)
	}
	terms := &policyv1alpha1.Placement{ReplicaScheduling: static(), ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "nowhere", ClusterAffinity: *names("member9")}, {AffinityName: "here", ClusterAffinity: *names("member2")},
	}}
	inTerm := binding("in-term", deployment(3, terms))
	h.scheduler.Place(inTerm)
	h.Create(t, inTerm)
	h.settled(t, inTerm, "Success", "member2:3")
	if got := h.of("in-term"); !slices.Equal(got, []string{"/status"}) || inTerm.Status.SchedulerObservedAffinityName != "here" {
		t.Errorf("writes %q, status %+v", got, inTerm.Status)
	}
	for name, spoil := range map[string]func(*workv1alpha2.ResourceBinding){
		"suspended": func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: ptr.To(true)}
		},
		"another scheduler": func(b *workv1alpha2.ResourceBinding) { b.Spec.SchedulerName = "mine" },
		"nowhere to go":     func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement.ClusterAffinity = names("nowhere") },
		"no policy":         func(b *workv1alpha2.ResourceBinding) { b.Labels = nil },
		"no placement":      func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement = nil },
	} {
		b := binding("left", configMap(&policyv1alpha1.Placement{}))
		spoil(b)
		before := b.DeepCopy()
		if h.scheduler.Place(b); !equal(before, b) {
			t.Errorf("%s: placed on %v", name, b.Spec.Clusters)
		}
	}
}

func testClusterBinding(t *testing.T, h *hub) {
	b := &workv1alpha2.ClusterResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "role", Labels: map[string]string{workv1alpha2.BindingManagedByLabel: "somebody"}},
		Spec:       *configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member2")}),
	}
	h.Create(t, b)
	h.settled(t, b, "Success", "member2")
}

func testReplicas(t *testing.T, h *hub) {
	b := binding("scaled", deployment(4, &policyv1alpha1.Placement{ClusterAffinity: names("member1", "member2"), ReplicaScheduling: dynamic()}))
	h.Create(t, b)
	h.settled(t, b, "Success", "member1:2 member2:2")
	change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = 8 })
	h.settled(t, b, "Success", "member1:4 member2:4")
	when := b.Status.LastScheduledTime
	change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite })
	h.settled(t, b, "Success", "member1:4 member2:4")
	if !when.Equal(b.Status.LastScheduledTime) {
		t.Error("a change that is none of the scheduler's was scheduled")
	}
	if got := h.of("scaled"); !slices.Equal(got, []string{"", "/status", "", "/status", "/status"}) {
		t.Errorf("writes %q", got)
	}
}

func testOwnership(t *testing.T, h *hub) {
	b := binding("suspended", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
	b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: ptr.To(true)}
	foreign := binding("foreign", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
	foreign.Spec.SchedulerName = "mine"
	h.Create(t, b)
	h.Create(t, foreign)
	after := binding("after", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
	h.Create(t, after)
	h.settled(t, after, "Success", "member1")
	change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.Suspension = nil })
	h.settled(t, b, "Success", "member1")
	if got := append(h.of("foreign"), h.of("suspended")...); !slices.Equal(got, []string{"", "/status"}) {
		t.Errorf("writes %q", got)
	}
}

func testReschedule(t *testing.T, h *hub) {
	b := binding("moved", deployment(6, &policyv1alpha1.Placement{ClusterAffinity: names("member1", "member2"), ReplicaScheduling: dynamic()}))
	b.Spec.Clusters = []workv1alpha2.TargetCluster{target("member1", 6)}
	b.Annotations = map[string]string{policyv1alpha1.AppliedPlacementAnnotation: scheduling.AppliedPlacement(b.Spec.Placement)}
	h.Create(t, b)
	h.settled(t, b, "Success", "member1:6")
	later := metav1.NewTime(b.Status.LastScheduledTime.Add(time.Second))
	change(t, h, b, false, func(b *workv1alpha2.ResourceBinding) { b.Spec.RescheduleTriggeredAt = &later })
	h.settled(t, b, "Success", "member1:4 member2:2") // 16:10
}

// testRivals has somebody else write the status just before the scheduler writes
// the spec, and again before it writes the status.
func testRivals(t *testing.T, h *hub) {
	b := binding("contested", deployment(1, &policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
	key := client.ObjectKeyFromObject(b) // b itself is read into meanwhile
	rival := func() {
		var stored workv1alpha2.ResourceBinding
		err := h.Client.Get(t.Context(), key, &stored)
		if err == nil {
			stored.Status.AggregatedStatus = append(stored.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: "member1"})
			err = h.Client.Status().Update(t.Context(), &stored)
		}
		if err != nil {
			t.Error(err)
		}
	}
	h.mu.Lock()
	h.first = map[string]func(){"contested": rival, "contested/status": rival}
	h.mu.Unlock()
	h.Create(t, b)
	h.settled(t, b, "Success", "member1:1")
	if len(b.Status.AggregatedStatus) != 2 {
		t.Errorf("the rival's part is lost: %+v", b.Status)
	}
	got := h.of("contested")
	if !slices.Equal(got[len(got)-3:], []string{"", "/status", "/status"}) {
		t.Errorf("writes %q", got)
	}
}

func testRefusal(t *testing.T, h *hub) {
	for reason, want := range map[metav1.StatusReason]string{
		workv1alpha2.ReasonQuotaExceeded: "QuotaExceeded", metav1.StatusReasonForbidden: "SchedulerError",
	} {
		b := binding("greedy-"+strings.ToLower(want), deployment(1, &policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
		h.answer(b.Name, reason)
		h.Create(t, b)
		h.settled(t, b, want, "")
		h.answer("", "")
		h.settled(t, b, "Success", "member1:1")
	}
}

func testNoFit(t *testing.T, h *hub) {
	c := cluster("labelled")
	h.join(t, c)
	b := binding("lost", configMap(&policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{
		ClusterNames: []string{"labelled"}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}},
	}}))
	h.Create(t, b)
	h.settled(t, b, "NoClusterFit", "")
	n := len(h.scheduler.Snapshot().Clusters())
	message := fmt.Sprintf("0/%d clusters are available: %d not meant by the cluster affinity.", n, n)
	if b.Generation != 1 || b.Annotations[policyv1alpha1.AppliedPlacementAnnotation] == "" || b.Status.Conditions[0].Message != message {
		t.Errorf("generation %d, annotations %v, status %+v", b.Generation, b.Annotations, b.Status)
	}
	h.event(t, "ResourceBinding", "lost", "ScheduleBindingFailed", message)
	h.event(t, "ConfigMap", "lost", "ScheduleBindingFailed", message)
	change(t, h, c, false, func(c *clusterv1alpha1.Cluster) { c.Labels["tier"] = "gold" })
	h.settled(t, b, "Success", "labelled")
	change(t, h, c, false, func(c *clusterv1alpha1.Cluster) { delete(c.Labels, "tier") })
	h.settled(t, b, "NoClusterFit", "")
}

func testNoFitAPI(t *testing.T, h *hub) {
	c := cluster("bare", without("apps/v1"))
	h.join(t, c)
	b := binding("early", deployment(1, &policyv1alpha1.Placement{ClusterAffinity: names("bare")}))
	h.Create(t, b)
	h.settled(t, b, "NoClusterFit", "")
	change(t, h, c, true, func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = cluster("full").Status.APIEnablements })
	h.settled(t, b, "Success", "bare:1")
}

func testRetry(t *testing.T, h *hub) {
	c := cluster("small", room(1))
	h.join(t, c)
	b := binding("large", deployment(3, &policyv1alpha1.Placement{ClusterAffinity: names("small"), ReplicaScheduling: aggregated()}))
	h.Create(t, b)
	h.settled(t, b, "Unschedulable", "")
	change(t, h, c, true, room(3))
	h.settled(t, b, "Success", "small:3")
}

// testPriority lets one worker alone schedule, once all of a batch wait in the queue
// and others, which no cluster had room for, have come back to it: the order is that
// of their priorities, whoever came first.
func testPriority(t *testing.T, h *hub) {
	tight := cluster("tight", room(0))
	h.join(t, tight)
	sized := func(name string, priority int32) *workv1alpha2.ResourceBinding {
		b := binding(name, deployment(1, &policyv1alpha1.Placement{ClusterAffinity: names("tight"), ReplicaScheduling: aggregated()}))
		b.Spec.SchedulePriority = &workv1alpha2.SchedulePriority{Priority: priority}
		return b
	}
	low, high := sized("low-again", 5001), sized("high-again", 5009)
	for _, b := range []*workv1alpha2.ResourceBinding{low, high} {
		h.Create(t, b)
		h.settled(t, b, "Unschedulable", "")
	}
	release := h.occupy(t)
	change(t, h, tight, true, room(10))
	all := []*workv1alpha2.ResourceBinding{low, sized("lower", 5002), sized("middle", 5005), sized("higher", 5008), high}
	for _, b := range all[1:4] {
		h.Create(t, b)
	}
	for _, b := range all {
		h.Await(t, b.Name+" in the queue", func(context.Context) bool { return queued(t, b.Spec.SchedulePriority.Priority) == 1 })
	}
	release[0]() // the others wait until all of these are through
	for _, b := range all {
		h.settled(t, b, "Success", "tight:1")
	}
	for _, let := range release[1:] {
		let()
	}
	if got, want := h.placed(all), []string{"high-again", "higher", "middle", "lower", "low-again"}; !slices.Equal(got, want) {
		t.Errorf("scheduled in the order %v, want %v", got, want)
	}
}

// occupy gives each worker of the scheduler a binding whose write is held until it is
// released.
func (h *hub) occupy(t *testing.T) (release []func()) {
	t.Helper()
	const workers = 8
	busy := make(chan struct{}, workers)
	h.mu.Lock()
	h.first = map[string]func(){}
	for i := range workers {
		gate := make(chan struct{})
		let := sync.OnceFunc(func() { close(gate) })
		t.Cleanup(let)
		release = append(release, let)
		h.first[fmt.Sprintf("busy-%d", i)] = func() {
			busy <- struct{}{}
			<-gate
		}
	}
	h.mu.Unlock()
	for i := range workers {
		h.Create(t, binding(fmt.Sprintf("busy-%d", i), configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1")})))
	}
	h.Await(t, "all workers to be busy", func(context.Context) bool { return len(busy) == workers })
	return release
}

// placed are the names of these bindings in the order of the writes of their specs.
func (h *hub) placed(of []*workv1alpha2.ResourceBinding) (order []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, path := range h.writes {
		if slices.ContainsFunc(of, func(b *workv1alpha2.ResourceBinding) bool { return b.Name == path }) {
			order = append(order, path)
		}
	}
	return order
}

// queued is how many bindings of a priority wait for a worker.
func queued(t *testing.T, priority int32) (count float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "workqueue_depth" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["controller"] == "scheduler" && labels["priority"] == strconv.Itoa(int(priority)) {
				count += metric.GetGauge().GetValue()
			}
		}
	}
	return count
}

func testEvacuation(t *testing.T, h *hub) {
	c := cluster("leaving", room(10))
	h.join(t, c)
	everywhere := binding("both", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1", "leaving")}))
	only := binding("only", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("leaving")}))
	divided := binding("shared", deployment(6, &policyv1alpha1.Placement{ClusterAffinity: names("member1", "leaving"), ReplicaScheduling: dynamic()}))
	for _, b := range []*workv1alpha2.ResourceBinding{everywhere, only, divided} {
		h.Create(t, b)
	}
	h.settled(t, everywhere, "Success", "leaving member1")
	h.settled(t, only, "Success", "leaving")
	h.settled(t, divided, "Success", "leaving:3 member1:3")
	if err := h.Client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.settled(t, everywhere, "Success", "member1")
	h.settled(t, only, "NoClusterFit", "")
	h.settled(t, divided, "Success", "member1:6")
	change(t, h, c, false, func(c *clusterv1alpha1.Cluster) { c.Finalizers = nil })
	h.Await(t, "the scheduler to forget the cluster", func(context.Context) bool { return h.scheduler.Snapshot().Get("leaving") == nil })
}

// testRestart starts a second scheduler beside the first: it has to find that
// nothing is to be done. A binding that is looked at last tells when it is through.
func testRestart(t *testing.T, h *hub) {
	for _, name := range []string{"lost", "only"} { // how many clusters do not fit has changed
		if err := h.Client.Delete(t.Context(), binding(name, configMap(nil))); err != nil {
			t.Fatal(err)
		}
	}
	last := binding("last", configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1")}))
	last.Spec.SchedulePriority = &workv1alpha2.SchedulePriority{Priority: -1000}
	h.Create(t, last)
	h.settled(t, last, "Success", "member1")
	change(t, h, last, true, func(b *workv1alpha2.ResourceBinding) { b.Status.SchedulerObservedGeneration = 0 })
	again := startScheduler(t, h.Hub)
	h.settled(t, last, "Success", "member1")
	again.mu.Lock()
	defer again.mu.Unlock()
	if !slices.Equal(again.writes, []string{"last/status"}) {
		t.Errorf("a restart wrote %q", again.writes)
	}
}
