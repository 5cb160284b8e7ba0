package scheduling

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// TestClusterChanges is which bindings a change of a cluster concerns (contract section 9.1).
func TestClusterChanges(t *testing.T) {
	gold := &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}
	now := metav1.Now()
	changes := map[string]func(*clusterv1alpha1.Cluster){
		"status":    func(c *clusterv1alpha1.Cluster) { c.Status.KubernetesVersion = "v2"; c.ResourceVersion = "2" },
		"label off": func(c *clusterv1alpha1.Cluster) { c.Labels = nil },
		"spec":      func(c *clusterv1alpha1.Cluster) { c.Generation++ },
		"removal":   func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = &now },
		"API": func(c *clusterv1alpha1.Cluster) {
			c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "v1"}}
		},
		"another one": func(c *clusterv1alpha1.Cluster) { c.UID = "new" },
	}
	none := map[string]bool{}
	for name, row := range map[string]struct {
		placement *policyv1alpha1.Placement
		targets   []string
		reason    string
		want      map[string]bool
	}{
		"meant by a label":     {placement: &policyv1alpha1.Placement{ClusterAffinity: gold}, want: map[string]bool{"label off": true, "spec": true, "another one": true, "API": true}},
		"meant, without a fit": {placement: &policyv1alpha1.Placement{}, reason: workv1alpha2.ReasonNoClusterFit, want: map[string]bool{"label off": true, "spec": true, "another one": true, "API": true}},
		"a target":             {placement: &policyv1alpha1.Placement{}, targets: []string{"c"}, want: map[string]bool{"label off": true, "spec": true, "another one": true, "removal": true}},
		"a target that is not meant": {
			placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"other"}}}, targets: []string{"c"},
			want: map[string]bool{"label off": true, "spec": true, "another one": true, "removal": true},
		},
		"not meant": {placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"other"}}}, reason: workv1alpha2.ReasonNoClusterFit, want: none},
		"meant by an overflow": {
			placement: &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{{
				ClusterAffinity:    policyv1alpha1.ClusterAffinity{ClusterNames: []string{"other"}},
				OverflowAffinities: []policyv1alpha1.OverflowAffinity{{ClusterAffinity: *gold}},
			}}},
			want: map[string]bool{"label off": true, "spec": true, "another one": true, "API": true},
		},
	} {
		b := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{Placement: row.placement}}
		for _, target := range row.targets {
			b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: target})
		}
		if row.reason != "" {
			b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Reason: row.reason}}
		}
		for what, edit := range changes {
			before := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "old", Generation: 1, Labels: map[string]string{"tier": "gold"}}}
			after := before.DeepCopy()
			edit(after)
			change := compare(before, after)
			if got := change.matters() && change.concerns(b); got != row.want[what] {
				t.Errorf("%s, %s: concerned %t, want %t", name, what, got, row.want[what])
			}
		}
	}
}

// TestQueueOrder checks that the binding of the highest priority goes first, and
// what was there at the start last.
func TestQueueOrder(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	claimed := func(name string, priority int32) *workv1alpha2.ResourceBinding {
		return &workv1alpha2.ResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Generation: 1, Labels: map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "id"}},
			Spec:       workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{}, SchedulePriority: &workv1alpha2.SchedulePriority{Priority: priority}},
		}
	}
	h := bindingHandler{scheduler: newScheduler(Deps{Gates: policy.DefaultGates()}), written: newOwnWrites()}
	ctx := t.Context()
	h.Create(ctx, event.CreateEvent{Object: claimed("old", 50), IsInInitialList: true}, q)
	h.Create(ctx, event.CreateEvent{Object: claimed("low", 1)}, q)
	h.Create(ctx, event.CreateEvent{Object: claimed("high", 9)}, q)
	changed := claimed("changed", 5)
	changed.Generation = 2
	h.Update(ctx, event.UpdateEvent{ObjectOld: claimed("changed", 5), ObjectNew: changed}, q)
	status := claimed("status", 100)
	h.Update(ctx, event.UpdateEvent{ObjectOld: status, ObjectNew: status}, q)
	h.written.expect("ours", 2)
	ours := claimed("ours", 100)
	ours.Generation = 2
	h.Update(ctx, event.UpdateEvent{ObjectOld: claimed("ours", 100), ObjectNew: ours}, q)
	foreign := claimed("foreign", 100)
	foreign.Spec.SchedulerName = "mine"
	h.Create(ctx, event.CreateEvent{Object: foreign}, q)
	for _, want := range []string{"high", "changed", "low", "old"} {
		got, _ := q.Get()
		if got.Name != want {
			t.Errorf("%s goes where %s should", got.Name, want)
		}
		q.Done(got)
	}
	if q.Len() != 0 {
		t.Errorf("%d bindings are left", q.Len())
	}
	h.scheduler.revisits.Store(types.UID("low"), nil)
	h.Delete(ctx, event.DeleteEvent{Object: claimed("low", 1)}, q)
	if _, remembered := h.scheduler.revisits.Load(types.UID("low")); remembered {
		t.Error("a binding that is gone is still to be looked at")
	}
}

func TestOwns(t *testing.T) {
	for name, row := range map[string]struct {
		scheduler, wants string
		label            string
		want             bool
	}{
		"claimed by a policy":         {wants: "default-scheduler", label: policyv1alpha1.PropagationPolicyPermanentIDLabel, want: true},
		"claimed by a cluster policy": {wants: "default-scheduler", label: policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, want: true},
		"made by a component":         {label: workv1alpha2.BindingManagedByLabel, want: true},
		"claimed by nobody":           {wants: "default-scheduler", label: workv1alpha2.ResourceBindingPermanentIDLabel},
		"another scheduler's":         {wants: "mine", label: policyv1alpha1.PropagationPolicyPermanentIDLabel},
		"ours by another name":        {scheduler: "mine", wants: "mine", label: policyv1alpha1.PropagationPolicyPermanentIDLabel, want: true},
		"the default scheduler's":     {scheduler: "mine", label: policyv1alpha1.PropagationPolicyPermanentIDLabel},
	} {
		s := newScheduler(Deps{SchedulerName: row.scheduler})
		b := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{SchedulerName: row.wants, Placement: &policyv1alpha1.Placement{}}}
		b.Labels = map[string]string{row.label: "id"}
		if got := s.owns(b); got != row.want {
			t.Errorf("%s: owned %t, want %t", name, got, row.want)
		}
	}
}
