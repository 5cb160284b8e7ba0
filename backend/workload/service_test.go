package workload_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/workloadtest"
)

var nginxRef = template.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "nginx"}

var nginxBinding = types.NamespacedName{Namespace: "default", Name: "nginx-deployment"}

func TestDetailOfTheRecording(t *testing.T) {
	f := newFixture(t, recorded)
	f.Event(corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Type: "Normal", Reason: "ApplyPolicySucceed", Message: "claimed", Count: 3,
		LastTimestamp: metav1.Unix(1700000000, 0), InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Name: "nginx"},
	})
	f.Event(corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Name: "other"}})
	got := get[workload.Detail](t, f, nginx)

	wantRow := workload.Row{
		ID: "apps/v1/Deployment/default/nginx", APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "nginx",
		Policy:  &fact.PolicyRef{Kind: "PropagationPolicy", Resource: "propagationpolicies", Namespace: "default", Name: "nginx-propagation"},
		Binding: &fact.ObjectRef{APIVersion: "work.karmada.io/v1alpha2", Kind: "ResourceBinding", Namespace: "default", Name: "nginx-deployment"},
		Images:  []string{"nginx"}, Replicas: &workload.Replicas{Wanted: 2, Ready: 2}, State: workload.StateOK,
		Clusters: []workload.PlacedCluster{
			{Name: "member1", Replicas: ptr.To[int32](1), Ready: ptr.To[int32](1), Applied: true, Health: "Healthy", State: workload.PlacedOK},
			{Name: "member2", Replicas: ptr.To[int32](1), Ready: ptr.To[int32](1), Applied: true, Health: "Healthy", State: workload.PlacedOK},
		},
		CreatedAt: got.Row.CreatedAt, ResourceVersion: got.Row.ResourceVersion,
	}
	if diff := cmp.Diff(wantRow, got.Row); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if got.Row.CreatedAt.IsZero() || got.Row.ResourceVersion == "" || got.Epoch == "" {
		t.Errorf("row lacks when and which: %+v", got.Row)
	}
	if diff := cmp.Diff([]string{
		"ok policy.holds: PropagationPolicy default/nginx-propagation holds it.",
		"ok schedule.done: It is scheduled to clusters (2): member1, member2.",
		"ok all.ready: All clusters have it (2); 2 of 2 replicas are ready.",
	}, lines(got.Facts)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"policy ok nginx-propagation", "template ok nginx", "binding ok nginx-deployment",
		"work/member1 ok nginx-687f7fb96f", "object/member1 ok nginx", "pods/member1 ok 1/1",
		"work/member2 ok nginx-687f7fb96f", "object/member2 ok nginx", "pods/member2 ok 1/1",
	}, nodes(got.Topology)); diff != "" {
		t.Errorf("topology (-want +got):\n%s", diff)
	}
	if len(got.Topology.Edges) != len(got.Topology.Nodes)-1 || got.Topology.Broken != "" {
		t.Errorf("the topology is no tree, or broken: %+v", got.Topology)
	}
	if diff := cmp.Diff([]workload.Event{{Type: "Normal", Reason: "ApplyPolicySucceed", Message: "claimed", Count: 3, At: time.Unix(1700000000, 0).UTC(), About: "Deployment/nginx"}}, got.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got.Scheduled == nil || got.Scheduled.Status != "True" || got.FullyApplied == nil || got.FullyApplied.Reason != "FullyAppliedSuccess" {
		t.Errorf("conditions: %+v %+v", got.Scheduled, got.FullyApplied)
	}
	if !strings.Contains(got.YAML, "image: nginx\n") || strings.Contains(got.YAML, "status:") || strings.Contains(got.YAML, "resourceVersion:") {
		t.Errorf("yaml: %s", got.YAML)
	}
}

func lines(facts []fact.Fact) []string {
	var all []string
	for _, one := range facts {
		all = append(all, fmt.Sprintf("%s %s: %s", one.Level, one.Code, one.Text))
	}
	return all
}

func nodes(topology workload.Topology) []string {
	var all []string
	for _, node := range topology.Nodes {
		all = append(all, fmt.Sprintf("%s %s %s", node.ID, node.State, node.Label))
	}
	return all
}

func editWork(w *workloadtest.World, cluster string, change func(*workv1alpha1.Work)) {
	workloadtest.Edit(w, "karmada-es-"+cluster, "nginx-687f7fb96f", change)
}

func editBinding(w *workloadtest.World, change func(*workv1alpha2.ResourceBinding)) {
	workloadtest.Edit(w, "default", "nginx-deployment", change)
}

func refused(message string) func(*workv1alpha1.Work) {
	return func(work *workv1alpha1.Work) {
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: "Applied", Status: "False", Reason: "AppliedFailed", Message: message})
	}
}

// chain breaks the recording at each hop.
var chain = map[string]struct {
	change func(*workloadtest.World)
	state  workload.State
	code   fact.Code // of the row's reason
	facts  []string  // those that are not ok
	broken string
}{
	"no policy": {func(w *workloadtest.World) {
		unclaim(w)
		workloadtest.Edit(w, "default", "nginx-deployment", func(b *workv1alpha2.ResourceBinding) { w.Delete(b) })
		w.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
		w.Delete(policyNamed("nginx-propagation"))
	}, workload.StateUnmanaged, fact.CodePolicyNone, []string{"warn policy.none: No policy matches it."}, "policy"},
	"policy on its way": {func(w *workloadtest.World) {
		unclaim(w)
		w.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
	}, workload.StateUnmanaged, fact.CodePolicyNone, []string{"info policy.coming: PropagationPolicy default/nginx-propagation matches it and will take it."}, "policy"},
	"no binding yet": {func(w *workloadtest.World) {
		w.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
	}, workload.StatePending, fact.CodeBindingMissing, []string{"warn binding.missing: It has not been bound to clusters yet."}, "binding"},
	"a script that does not count replicas": {func(w *workloadtest.World) {
		w.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
		w.Troubles().Set(nginxRef, "GetReplicasFailed", "customization broken, InterpretReplica of apps/v1 Deployment default/nginx: line 2: correct the script")
	}, workload.StateFailed, fact.CodeTemplateStuck, []string{
		"error template.stuck: The hub cannot propagate it as it is now (GetReplicasFailed): customization broken, InterpretReplica of apps/v1 Deployment default/nginx: line 2: correct the script",
	}, "binding"},
	"a webhook that does not count its parts": {func(w *workloadtest.World) {
		w.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
		w.Troubles().Set(nginxRef, "GetComponentsFailed", "webhook slow: it did not answer within 3s")
	}, workload.StateFailed, fact.CodeTemplateStuck, []string{
		"error template.stuck: The hub cannot propagate it as it is now (GetComponentsFailed): webhook slow: it did not answer within 3s",
	}, "binding"},
	"a claim that is refused": {func(w *workloadtest.World) {
		unclaim(w)
		w.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
		w.Troubles().Set(nginxRef, "ApplyPolicyFailed", "write claim: no")
	}, workload.StateFailed, fact.CodeTemplateStuck, []string{
		"info policy.coming: PropagationPolicy default/nginx-propagation matches it and will take it.",
		"error template.stuck: The hub cannot propagate it as it is now (ApplyPolicyFailed): write claim: no",
	}, "policy"},
	"a change that is stuck on the hub": {func(w *workloadtest.World) {
		w.Troubles().Set(nginxRef, "GetReplicasFailed", "customization broken: correct the script")
	}, workload.StateFailed, fact.CodeTemplateStuck, []string{
		"error template.stuck: The hub cannot propagate it as it is now (GetReplicasFailed): customization broken: correct the script",
	}, "binding"},
	"a script that does not say what it needs": {func(w *workloadtest.World) {
		w.Troubles().Set(template.Sending(nginxBinding), "GetDependenciesFailed", "customization broken, InterpretDependency of apps/v1 Deployment default/nginx: line 2: correct the script")
	}, workload.StateFailed, fact.CodeNeedsStuck, []string{
		"error needs.stuck: What it needs cannot be sent along now (GetDependenciesFailed): customization broken, InterpretDependency of apps/v1 Deployment default/nginx: line 2: correct the script",
	}, "binding"},
	"policy went": {func(w *workloadtest.World) { w.Delete(policyNamed("nginx-propagation")) }, workload.StateOK, "",
		[]string{"warn policy.gone: PropagationPolicy default/nginx-propagation, which holds it, does not exist any more."}, "policy"},
	"a script that fails": {func(w *workloadtest.World) {
		editWork(w, "member1", func(work *workv1alpha1.Work) {
			work.Status.ManifestStatuses[0].Health = workv1alpha1.ResourceUnknown
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: "Degraded", Status: "True", Reason: "InterpretHealthFailed", Message: "customization broken, line 2: correct the script"})
		})
	}, workload.StateProgressing, fact.CodeHealthDegraded, []string{
		"error health.degraded: member1: how the object is cannot be told: customization broken, line 2: correct the script",
	}, "object/member1"},
	"no cluster fits": {func(w *workloadtest.World) {
		editBinding(w, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Clusters = nil
			b.Spec.Placement.ClusterAffinity.ClusterNames = []string{"nowhere"}
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: "Scheduled", Status: "False", Reason: "NoClusterFit", Message: "0/2 clusters are available"})
		})
	}, workload.StateUnscheduled, fact.CodeScheduleFailed, []string{
		"error schedule.failed: No clusters were found (NoClusterFit): 0/2 clusters are available",
		"info schedule.filtered: ClusterAffinity leaves out clusters (2): …",
		"info work.going: member1: the object is being taken away.", "info work.going: member2: the object is being taken away.",
	}, "binding"},
	"scheduling suspended": {func(w *workloadtest.World) {
		editBinding(w, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Clusters, b.Spec.Suspension = nil, &workv1alpha2.Suspension{Scheduling: ptr.To(true)}
		})
		w.Delete(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-member1", Name: "nginx-687f7fb96f"}})
		w.Delete(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-member2", Name: "nginx-687f7fb96f"}})
	}, workload.StateUnscheduled, fact.CodeSchedulePaused, []string{"warn schedule.suspended: Scheduling is suspended."}, "binding"},
	"conflict": {func(w *workloadtest.World) {
		editWork(w, "member2", refused("exists … set the annotation work.karmada.io/conflict-resolution=overwrite on the template"))
	}, workload.StateFailed, fact.CodeWorkConflict, []string{"error work.conflict: member2: an object of this name exists there that the hub does not manage."}, "work/member2"},
	"refused by the member": {func(w *workloadtest.World) { editWork(w, "member1", refused("quota is used up")) }, workload.StateFailed, fact.CodeWorkFailed,
		[]string{"error work.failed: member1: quota is used up"}, "work/member1"},
	"not made": {func(w *workloadtest.World) {
		w.Delete(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-member1", Name: "nginx-687f7fb96f"}})
	}, workload.StatePending, fact.CodeWorkMissing, []string{"warn work.missing: member1: the Work has not been made yet."}, "work/member1"},
	"cannot be made": {func(w *workloadtest.World) {
		w.Delete(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-member1", Name: "nginx-687f7fb96f"}})
		w.Unserved().Set(nginxBinding, map[string]string{"member1": "override by OverridePolicy default/p, spec.overrideRules[0].overriders.plaintext[0]: cannot remove /spec/x: it is not there"})
	}, workload.StateFailed, fact.CodeWorkNotMade, []string{"error work.not-made: member1: the Work cannot be made: override by OverridePolicy default/p, spec.overrideRules[0].overriders.plaintext[0]: cannot remove /spec/x: it is not there"}, "work/member1"},
	"change cannot be sent": {func(w *workloadtest.World) {
		w.Unserved().Set(nginxBinding, map[string]string{"member2": "set replicas of Deployment default/nginx: customization broken: correct the script"})
	}, workload.StateFailed, fact.CodeWorkStuck, []string{
		"error work.stuck: member2: the latest change cannot be sent: set replicas of Deployment default/nginx: customization broken: correct the script",
	}, "work/member2"},
	"not applied since the change": {func(w *workloadtest.World) {
		editWork(w, "member1", func(work *workv1alpha1.Work) {
			work.Generation = 7
			meta.FindStatusCondition(work.Status.Conditions, "Applied").ObservedGeneration = 6
		})
	}, workload.StatePending, fact.CodeWorkPending, []string{"warn work.pending: member1: the object has not been applied yet."}, "work/member1"},
	"suspended": {func(w *workloadtest.World) {
		editWork(w, "member1", func(work *workv1alpha1.Work) { work.Spec.SuspendDispatching = ptr.To(true) })
	}, workload.StatePending, fact.CodeWorkSuspended, []string{"warn work.suspended: member1: sending is suspended."}, "work/member1"},
	"member not ready": {func(w *workloadtest.World) {
		workloadtest.Edit(w, "", "member2", func(c *clusterv1alpha1.Cluster) {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: "Unknown", Reason: "X", Message: "nothing heard of it"})
		})
	}, workload.StateOK, "", []string{"error member.not-ready: member2 is not ready: nothing heard of it"}, "object/member2"},
	"not ready yet": {func(w *workloadtest.World) {
		editWork(w, "member1", func(work *workv1alpha1.Work) {
			work.Status.ManifestStatuses[0].Health = "Unhealthy"
			work.Status.ManifestStatuses[0].Status.Raw = []byte(`{"replicas":1,"readyReplicas":0,"unavailableReplicas":1}`)
		})
	}, workload.StateProgressing, fact.CodeHealthUnready, []string{"warn health.unready: member1: 0 of 1 replicas are ready."}, "object/member1"},
}

// TestChain looks at what is said of each break.
func TestChain(t *testing.T) {
	for name, test := range chain {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(w *workloadtest.World) { recorded(w); test.change(w) })
			got := get[workload.Detail](t, f, nginx)
			if got.Row.State != test.state || got.Row.ReasonCode != test.code {
				t.Errorf("state %s because of %q (%s), want %s because of %q", got.Row.State, got.Row.ReasonCode, got.Row.Reason, test.state, test.code)
			}
			wrong := slices.DeleteFunc(lines(got.Facts), func(line string) bool { return strings.HasPrefix(line, "ok ") })
			for i := range wrong {
				if before, _, found := strings.Cut(wrong[i], "): "); found && strings.Contains(before, "leaves out") {
					wrong[i] = before + "): …" // the filter's own words
				}
			}
			if diff := cmp.Diff(test.facts, wrong); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if got.Topology.Broken != test.broken {
				t.Errorf("broken at %q, want %q: %v", got.Topology.Broken, test.broken, nodes(got.Topology))
			}
		})
	}
}

// unclaim takes the policy's marks off the template, and its Works away.
func unclaim(w *workloadtest.World) {
	w.EditTemplate(nginxRef, func(o *unstructured.Unstructured) { template.Claim{}.Put(o) })
	for _, cluster := range []string{"member1", "member2"} {
		w.Delete(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster, Name: "nginx-687f7fb96f"}})
	}
}

func TestLiveRows(t *testing.T) {
	f := newFixture(t, recorded)
	if events := f.published.of(workload.Topic); len(events) != 0 {
		t.Fatalf("what was there at the start was published: %v", events)
	}
	workloadtest.Edit(f.World, "karmada-es-member1", "nginx-687f7fb96f", func(work *workv1alpha1.Work) {
		work.Status.ManifestStatuses[0].Health = "Unhealthy"
	})
	last := func() *workload.Row {
		events := f.published.of(workload.Topic)
		if len(events) == 0 {
			return nil
		}
		row, _ := events[len(events)-1].Row.(*workload.Row)
		return row
	}
	eventually(t, "the row is published", func() bool { return last() != nil && last().State == workload.StateProgressing })

	before := len(f.published.of(workload.Topic))
	workloadtest.Edit(f.World, "karmada-es-member1", "nginx-687f7fb96f", func(work *workv1alpha1.Work) { work.Labels["x"] = "y" }) // shows nowhere
	workloadtest.Edit(f.World, "karmada-es-member1", "nginx-687f7fb96f", func(work *workv1alpha1.Work) {
		work.Status.ManifestStatuses[0].Health = "Healthy"
	})
	eventually(t, "the row is published again", func() bool { return last().State == workload.StateOK })
	if after := len(f.published.of(workload.Topic)); after != before+1 {
		t.Errorf("%d messages for one visible change", after-before)
	}
	page := get[workload.WorkloadPage](t, f, "/workloads")
	if page.Seq == 0 || page.Total != 1 || page.Counts.OK != 1 {
		t.Errorf("page: %+v", page)
	}

	f.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
	if object, ok := f.Templates().Get(nginxRef); ok {
		f.Delete(object)
	}
	eventually(t, "the row goes", func() bool {
		events := f.published.of(workload.Topic)
		return events[len(events)-1].Op == live.OpDelete
	})
	if page := get[workload.WorkloadPage](t, f, "/workloads?all=true"); page.Total != 0 {
		t.Errorf("it is still listed: %+v", page.Items)
	}
}

// TestLiveTrouble checks that an object of any kind has a row while the hub cannot
// propagate it, bound or not, and that readers hear of the beginning and the end.
func TestLiveTrouble(t *testing.T) {
	settings := template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	f := newFixture(t, func(w *workloadtest.World) {
		recorded(w)
		w.YAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}}")
	})
	if page := get[workload.WorkloadPage](t, f, "/workloads?all=true"); page.Total != 1 {
		t.Fatalf("before: %+v", page.Items)
	}
	gone := template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "gone"}
	f.Troubles().Set(gone, "ApplyPolicyFailed", "no")
	f.Troubles().Set(settings, "ApplyPolicyFailed", "no")
	last := func() live.Event {
		events := f.published.of(workload.Topic)
		if len(events) == 0 {
			return live.Event{}
		}
		return events[len(events)-1]
	}
	eventually(t, "the row is published", func() bool {
		row, ok := last().Row.(*workload.Row)
		return ok && row.Name == "settings" && row.State == workload.StateFailed && row.ReasonCode == fact.CodeTemplateStuck
	})
	if page := get[workload.WorkloadPage](t, f, "/workloads?all=true"); page.Total != 2 || page.Counts.Failed != 1 {
		t.Errorf("meanwhile: %+v", page)
	}
	f.Troubles().Forget(settings)
	eventually(t, "the row goes", func() bool { return last().Op == live.OpDelete && last().Key == fact.ID(settings) })
}

// TestLiveUnserved checks that readers hear of a cluster that cannot be sent a
// change, and of what an object needs and is not sent along: neither changes an object.
func TestLiveUnserved(t *testing.T) {
	f := newFixture(t, recorded)
	last := func() workload.State {
		events := f.published.of(workload.Topic)
		if len(events) == 0 {
			return ""
		}
		row, _ := events[len(events)-1].Row.(*workload.Row)
		return row.State
	}
	f.Unserved().Set(nginxBinding, map[string]string{"member2": "no"})
	eventually(t, "the row fails", func() bool { return last() == workload.StateFailed })
	f.Unserved().Set(nginxBinding, nil)
	eventually(t, "the row is well again", func() bool { return last() == workload.StateOK })
	needs := template.Sending(nginxBinding)
	f.Troubles().Set(needs, "GetDependenciesFailed", "no")
	eventually(t, "the row fails for what it needs", func() bool { return last() == workload.StateFailed })
	f.Troubles().Forget(needs)
	eventually(t, "the row is well once more", func() bool { return last() == workload.StateOK })
}

// TestLiveEffect checks that readers of a policy's effect hear of what shows in no
// row, as drift that was mended does, and that nobody else pays for it.
func TestLiveEffect(t *testing.T) {
	f := newFixture(t, recorded)
	workloadtest.Edit(f.World, "karmada-es-member1", "nginx-687f7fb96f", func(work *workv1alpha1.Work) {
		work.Status.ManifestStatuses[0].Health = "Unhealthy"
	})
	eventually(t, "the row is published", func() bool { return len(f.published.of(workload.Topic)) > 0 })
	if events := f.published.of(workload.EffectTopic); len(events) != 0 {
		t.Errorf("nobody reads, and yet: %v", events)
	}
	f.published.watch(workload.EffectTopic)
	rows := len(f.published.of(workload.Topic))
	workloadtest.Edit(f.World, "karmada-es-member1", "nginx-687f7fb96f", func(work *workv1alpha1.Work) { work.Labels["x"] = "c" })
	eventually(t, "readers are told", func() bool { return len(f.published.of(workload.EffectTopic)) > 0 })
	if after := len(f.published.of(workload.Topic)); after != rows {
		t.Errorf("%d rows were published for a change that shows in none", after-rows)
	}
}

func TestLiveDetail(t *testing.T) {
	f := newFixture(t, recorded)
	topic := "workloads/apps/v1/Deployment/default/nginx"
	get[workload.Detail](t, f, nginx)
	edit := func(health workv1alpha1.ResourceHealth) {
		workloadtest.Edit(f.World, "karmada-es-member1", "nginx-687f7fb96f", func(work *workv1alpha1.Work) { work.Status.ManifestStatuses[0].Health = health })
	}
	edit("Unhealthy") // nobody reads yet
	eventually(t, "the row is published", func() bool { return len(f.published.of(workload.Topic)) > 0 })
	f.published.watch(topic) // the browser comes: it must be told what it missed
	states := func() []string {
		var all []string
		for _, event := range f.published.of(topic) {
			if detail, ok := event.Row.(workload.Detail); ok {
				all = append(all, string(detail.Row.State))
			}
		}
		return all
	}
	eventually(t, "the detail is made up for", func() bool { return slices.Contains(states(), "progressing") })
	edit("Healthy")
	eventually(t, "the detail follows", func() bool { return slices.Contains(states(), "ok") })
	if object, ok := f.Templates().Get(nginxRef); ok {
		f.Delete(object)
	}
	f.Delete(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment"}})
	eventually(t, "the detail goes", func() bool {
		events := f.published.of(topic)
		return len(events) > 0 && events[len(events)-1].Op == live.OpDelete
	})
}

func TestRights(t *testing.T) {
	f := newFixture(t, recorded)
	viewer := map[string]string{"X-Role": "viewer"}
	var scenarios []apitest.Scenario
	for _, path := range []string{"/workloads", nginx, nginx + "/diff", nginx + "/pods?cluster=member1", "/policies/propagationpolicies/default/nginx-propagation/effect"} {
		scenarios = append(scenarios,
			apitest.Scenario{Name: path + " of nobody", Method: "GET", Path: "/api/v1" + path, Status: 401, Code: "unauthenticated"},
			apitest.Scenario{Name: path + " of a viewer", Method: "GET", Path: "/api/v1" + path, Header: viewer, Status: 200},
		)
	}
	scenarios = append(scenarios,
		apitest.Scenario{Name: "preview of nobody", Method: "POST", Path: "/api/v1/policies/preview", Body: `{"yaml":""}`, Status: 401, Code: "unauthenticated"},
		apitest.Scenario{Name: "preview of a viewer", Method: "POST", Path: "/api/v1/policies/preview", Header: viewer, Body: `{"yaml":""}`, Status: 200, Contains: []string{`"valid":false`}},
		apitest.Scenario{Name: "too many previews", Method: "POST", Path: "/api/v1/policies/preview", Header: viewer, Body: `{"yaml":"","limit":51}`, Status: 400, Code: "invalid"},
		apitest.Scenario{Name: "unknown workload", Method: "GET", Path: "/api/v1/workloads/apps/v1/Deployment/default/other", Header: viewer, Status: 404, Code: "not-found"},
		apitest.Scenario{Name: "unknown cluster", Method: "GET", Path: "/api/v1" + nginx + "/diff?cluster=member9", Header: viewer, Status: 404, Code: "not-found"},
		apitest.Scenario{Name: "pods of no cluster", Method: "GET", Path: "/api/v1" + nginx + "/pods", Header: viewer, Status: 400, Code: "invalid"},
		apitest.Scenario{Name: "pods of an unknown cluster", Method: "GET", Path: "/api/v1" + nginx + "/pods?cluster=member9", Header: viewer, Status: 404, Code: "not-found"},
		apitest.Scenario{Name: "pods of an unknown workload", Method: "GET", Path: "/api/v1/workloads/apps/v1/Deployment/default/other/pods?cluster=member1", Header: viewer, Status: 404, Code: "not-found"},
		apitest.Scenario{Name: "pods where there is no way", Method: "GET", Path: "/api/v1" + nginx + "/pods?cluster=member1", Header: viewer, Status: 200,
			Contains: []string{`"reachable":false`, `"code":"pods.no-way"`, "kubectl -n default get pods"}},
		apitest.Scenario{Name: "unknown policy", Method: "GET", Path: "/api/v1/policies/propagationpolicies/default/other/effect", Header: viewer, Status: 404, Code: "not-found"},
		apitest.Scenario{Name: "unknown kind of policy", Method: "GET", Path: "/api/v1/policies/things/default/other/effect", Header: viewer, Status: 404, Code: "not-found"},
		apitest.Scenario{Name: "unknown state", Method: "GET", Path: "/api/v1/workloads?state=fine", Header: viewer, Status: 400, Code: "invalid"},
		apitest.Scenario{Name: "unknown order", Method: "GET", Path: "/api/v1/workloads?sort=luck", Header: viewer, Status: 400, Code: "invalid"},
		apitest.Scenario{Name: "bad cursor", Method: "GET", Path: "/api/v1/workloads?cursor=!", Header: viewer, Status: 400, Code: "invalid"},
		apitest.Scenario{Name: "bad limit", Method: "GET", Path: "/api/v1/workloads?limit=0", Header: viewer, Status: 400, Code: "invalid"},
	)
	apitest.Run(t, f.api, scenarios)
}

func TestSecretsAreMasked(t *testing.T) {
	const secret = "c2VjcmV0LXBhc3N3b3Jk" // 15 bytes
	f := newFixture(t, func(w *workloadtest.World) {
		recorded(w)
		w.YAML(`{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: default, uid: u1, annotations: {kubectl.kubernetes.io/last-applied-configuration: "` + secret + `"},
			labels: {propagationpolicy.karmada.io/permanent-id: p}}, type: Opaque, data: {password: ` + secret + `}}`)
		w.YAML(`{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: db-secret, namespace: default}, spec: {
			resource: {apiVersion: v1, kind: Secret, namespace: default, name: db}, clusters: [{name: member1}]}}`)
		w.YAML(`{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: db, namespace: default}, spec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: default}],
			overrideRules: [{overriders: {plaintext: [{path: /data/password, operator: replace, value: b3RoZXItc2VjcmV0}]}}]}}`)
	})
	for _, path := range []string{"/workloads/core/v1/Secret/default/db", "/workloads/core/v1/Secret/default/db/diff"} {
		request := httptest.NewRequest("GET", "https://hub.test/api/v1"+path, nil)
		request.Header.Set("X-Role", "admin")
		response := httptest.NewRecorder()
		f.api.ServeHTTP(response, request)
		if response.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, response.Code, response.Body)
		}
		for _, value := range []string{secret, "b3RoZXItc2VjcmV0", "other-secret"} {
			if strings.Contains(response.Body.String(), value) {
				t.Errorf("%s shows a secret: %s", path, response.Body)
			}
		}
		if !strings.Contains(response.Body.String(), "••• (15 bytes)") {
			t.Errorf("%s hides the length: %s", path, response.Body)
		}
	}
	diff := get[workload.OverrideDiff](t, f, "/workloads/core/v1/Secret/default/db/diff")
	change := diff.Clusters[0].Changes[0]
	if change.Before != "••• (15 bytes)" || change.After != "••• (12 bytes)" {
		t.Errorf("change: %+v", change)
	}
	data, err := json.Marshal(f.published.of(workload.Topic))
	if err != nil || strings.Contains(string(data), secret) {
		t.Errorf("the live rows show a secret: %s, %v", data, err)
	}
}
