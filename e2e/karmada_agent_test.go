package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// karmadaAgent plays an unmodified karmada-agent where Works are concerned, by the
// certificate of its own: it watches its execution namespace, puts what it finds
// there into the member, and writes the status that is recorded of the true one.
type karmadaAgent struct {
	cluster string
	works   dynamic.ResourceInterface // as the agent may
	kube    kubernetes.Interface      // the hub, as the agent may
	member  *controlplanetest.Member
	objects dynamic.Interface // of the member

	dispatching, applied map[string]any // the recorded conditions
	reflected            map[string]any // the recorded status of a Deployment
	identifier           map[string]any

	paused  atomic.Bool
	known   map[string]*unstructured.Unstructured // Works by name
	applies map[string]string                     // the generation of a Work that the member has
	done    map[string]string                     // the version of a Work that needs no further look
	trouble error                                 // of the last round
}

// recordedWork reads what the true agent wrote of a Work last, once all was well.
func (a *karmadaAgent) recordedWork(t *testing.T) {
	t.Helper()
	for _, l := range readRecording(t, "agent-applies-work") {
		manifests, _ := dig(l.Req, "status", "manifestStatuses").([]any)
		if l.Method != "PUT" || !strings.HasSuffix(l.URI, "/status") || len(manifests) == 0 || dig(manifests[0], "health") != "Healthy" {
			continue
		}
		for _, condition := range dig(l.Req, "status", "conditions").([]any) {
			switch c := condition.(map[string]any); c["type"] {
			case "Dispatching":
				a.dispatching = c
			case "Applied":
				a.applied = c
			}
		}
		a.identifier, _ = dig(manifests[0], "identifier").(map[string]any)
		a.reflected, _ = dig(manifests[0], "status").(map[string]any)
		break
	}
	if a.dispatching == nil || a.applied == nil || a.identifier == nil || a.reflected == nil {
		t.Fatal("the recording does not show how an agent tells of a Work")
	}
}

// startKarmadaAgent registers a cluster as the true agent does, reports that it is
// ready, and serves its Works until the test ends.
func startKarmadaAgent(t *testing.T, h *hub, name string, m *controlplanetest.Member) *karmadaAgent {
	t.Helper()
	identity := pullCluster(t, h, name)
	a := &karmadaAgent{
		cluster: name, member: m, works: clientFor(t, identity).Resource(worksResource).Namespace("karmada-es-" + name),
		kube: kubernetes.NewForConfigOrDie(identity), objects: clientFor(t, m.Config()),
		known: map[string]*unstructured.Unstructured{}, applies: map[string]string{}, done: map[string]string{},
	}
	a.recordedWork(t)
	a.report(t, identity)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		if t.Failed() {
			t.Logf("the agent of %s: %v", name, a.trouble)
		}
	})
	h.awaitReady(t, name, metav1.ConditionTrue)
	return a
}

// report writes the cluster's status, with what its API server serves.
func (a *karmadaAgent) report(t *testing.T, identity *rest.Config) {
	t.Helper()
	_, lists, err := a.member.Client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var enablements []any
	for _, list := range lists {
		var resources []any
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				resources = append(resources, map[string]any{"name": r.Name, "kind": r.Kind})
			}
		}
		enablements = append(enablements, map[string]any{"groupVersion": list.GroupVersion, "resources": resources})
	}
	clusters := clientFor(t, identity).Resource(clustersResource)
	now := metav1.Now().UTC().Format(time.RFC3339)
	eventually(t, "the status of "+a.cluster+" is written", func(ctx context.Context) bool {
		c, err := clusters.Get(ctx, a.cluster, metav1.GetOptions{})
		if err != nil {
			return false
		}
		c.Object["status"] = map[string]any{"kubernetesVersion": "v1.36.3", "apiEnablements": enablements, "conditions": []any{
			map[string]any{"type": clusterv1alpha1.ClusterConditionCompleteAPIEnablements, "status": "True", "reason": "Complete", "message": "complete", "lastTransitionTime": now},
			map[string]any{"type": clusterv1alpha1.ClusterConditionReady, "status": "True", "reason": "ClusterReady", "message": "ready", "lastTransitionTime": now},
		}}
		_, err = clusters.UpdateStatus(ctx, c, metav1.UpdateOptions{})
		return err == nil
	})
}

// run serves the Works until ctx ends. It looks at all of them whenever one changes,
// and now and then, for the member's objects change, too.
func (a *karmadaAgent) run(ctx context.Context) {
	look, beat := time.NewTicker(200*time.Millisecond), time.NewTicker(5*time.Second)
	defer look.Stop()
	defer beat.Stop()
	for ctx.Err() == nil {
		// As the true agent does, it never lists.
		watch, err := a.works.Watch(ctx, metav1.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: ptr.To(true),
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, TimeoutSeconds: ptr.To[int64](509)})
		if err != nil {
			a.trouble = fmt.Errorf("watch works: %w", err)
			<-look.C
			continue
		}
		clear(a.known)
		for open := true; open && ctx.Err() == nil; {
			select {
			case event, more := <-watch.ResultChan():
				if work, ok := event.Object.(*unstructured.Unstructured); more && ok && event.Type != "BOOKMARK" {
					if a.known[work.GetName()] = work; event.Type == "DELETED" {
						delete(a.known, work.GetName())
						delete(a.applies, work.GetName())
					}
				}
				open = more
			case <-beat.C:
				a.beat(ctx)
			case <-look.C:
				a.round(ctx)
			case <-ctx.Done():
			}
		}
		watch.Stop()
	}
}

// beat renews the cluster's Lease.
func (a *karmadaAgent) beat(ctx context.Context) {
	leases := a.kube.CoordinationV1().Leases("karmada-cluster")
	lease, err := leases.Get(ctx, a.cluster, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: a.cluster}}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &a.cluster, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: ptr.To(metav1.NowMicro())}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else if err == nil {
		lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		a.trouble = fmt.Errorf("renew the lease: %w", err)
	}
}

func (a *karmadaAgent) round(ctx context.Context) {
	if a.paused.Load() {
		return
	}
	for name, work := range maps.Clone(a.known) {
		if a.done[name] == work.GetResourceVersion() {
			continue
		}
		err := a.serve(ctx, work.DeepCopy())
		switch {
		case err != nil && !apierrors.IsConflict(err):
			a.trouble = fmt.Errorf("work %s: %w", name, err) // tried again in the next round
		case err == nil && work.GetDeletionTimestamp() == nil && valueAt(work, "spec workload manifests 0 kind") != "Deployment":
			a.done[name] = work.GetResourceVersion() // what it is about does not change by itself
		}
	}
}

// serve brings one Work a step on.
func (a *karmadaAgent) serve(ctx context.Context, work *unstructured.Unstructured) error {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	if len(manifests) != 1 {
		return fmt.Errorf("it has %d manifests", len(manifests))
	}
	desired := &unstructured.Unstructured{Object: manifests[0].(map[string]any)}
	resource, _ := meta.UnsafeGuessKindToResource(desired.GroupVersionKind())
	api := dynamic.ResourceInterface(a.objects.Resource(resource))
	if namespace := desired.GetNamespace(); namespace != "" {
		api = a.objects.Resource(resource).Namespace(namespace)
	}
	observed, err := api.Get(ctx, desired.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		observed, err = nil, nil
	}
	if err != nil {
		return err
	}
	if work.GetDeletionTimestamp() != nil {
		return a.giveUp(ctx, work, api, observed)
	}
	if valueAt(work, "spec suspendDispatching") == "true" {
		return a.tell(ctx, work, map[string]any{"type": "Dispatching", "status": "False", "reason": "SuspendDispatching", "message": "Work dispatching is in a suspended state.",
			"lastTransitionTime": a.dispatching["lastTransitionTime"]}, nil, observed)
	}
	applied := a.applied
	generation := fmt.Sprint(work.GetGeneration())
	switch {
	case observed == nil:
		observed, err = api.Create(ctx, desired, metav1.CreateOptions{})
	case observed.GetLabels()["karmada.io/managed"] != "true":
		applied = map[string]any{"type": "Applied", "status": "False", "reason": "AppliedFailed", "message": "it exists, set work.karmada.io/conflict-resolution", "lastTransitionTime": a.applied["lastTransitionTime"]}
	case a.applies[work.GetName()] != generation:
		desired.SetResourceVersion(observed.GetResourceVersion())
		observed, err = api.Update(ctx, desired, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	a.applies[work.GetName()] = generation
	return a.tell(ctx, work, a.dispatching, applied, observed)
}

// giveUp takes a Work's object away, and the finalizer once that is gone.
func (a *karmadaAgent) giveUp(ctx context.Context, work *unstructured.Unstructured, api dynamic.ResourceInterface, observed *unstructured.Unstructured) error {
	if observed != nil && observed.GetLabels()["karmada.io/managed"] == "true" && observed.GetAnnotations()["work.karmada.io/name"] == work.GetName() {
		if observed.GetDeletionTimestamp() != nil {
			return nil
		}
		return api.Delete(ctx, observed.GetName(), metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
	}
	work.SetFinalizers(nil)
	_, err := a.works.Update(ctx, work, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// tell writes a Work's status in the recorded form, with what the member has.
func (a *karmadaAgent) tell(ctx context.Context, work *unstructured.Unstructured, dispatching, applied map[string]any, observed *unstructured.Unstructured) error {
	conditions := []any{dispatching}
	if applied != nil {
		conditions = append(conditions, applied)
	} else if status, _, _ := condition(work, "Applied"); status != "" {
		before, _, _ := unstructured.NestedSlice(work.Object, "status", "conditions")
		for _, c := range before {
			if dig(c, "type") == "Applied" {
				conditions = append(conditions, c)
			}
		}
	}
	status := map[string]any{"conditions": conditions}
	if observed != nil && observed.GetLabels()["karmada.io/managed"] == "true" {
		status["manifestStatuses"] = []any{a.reflect(observed)}
	}
	changed := work.DeepCopy()
	data, err := json.Marshal(status)
	if err != nil {
		return err
	}
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	var before map[string]any
	if data, err = json.Marshal(work.Object["status"]); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &before); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before, plain) {
		return nil
	}
	changed.Object["status"] = plain
	_, err = a.works.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

// reflect says of a member's object what the true agent said of one, key by key.
func (a *karmadaAgent) reflect(o *unstructured.Unstructured) map[string]any {
	values := map[string]any{}
	gvk := o.GroupVersionKind()
	for key, value := range map[string]any{"ordinal": 0, "group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind, "resource": "", "namespace": o.GetNamespace(), "name": o.GetName()} {
		if _, recorded := a.identifier[key]; recorded {
			values[key] = value
		}
	}
	told := map[string]any{"identifier": values, "health": "Healthy"}
	if gvk.Kind != "Deployment" {
		return told
	}
	status := map[string]any{}
	for key := range a.reflected {
		switch key {
		case "generation":
			status[key] = o.GetGeneration()
		case "resourceTemplateGeneration":
			status[key] = json.Number(o.GetAnnotations()["resourcetemplate.karmada.io/generation"])
		default:
			if value := field(o, "status", key); value != nil {
				status[key] = value
			}
		}
	}
	if told["status"] = status; fmt.Sprint(status["observedGeneration"]) != fmt.Sprint(o.GetGeneration()) || fmt.Sprint(status["availableReplicas"]) != fmt.Sprint(field(o, "spec", "replicas")) {
		told["health"] = "Unhealthy"
	}
	return told
}

// besideKarmadaAgent: a member of an unmodified karmada-agent is one like the others:
// the hub's sum, its conditions, suspension and removal count on what that agent does.
func (f *fleet) besideKarmadaAgent(t *testing.T) {
	const kind, binding, name = aDeployment, "web-deployment", "karmada-agent"
	f.third = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: thirdName})
	a := startKarmadaAgent(t, f.hub, thirdName, f.third)
	s := f.space(t, name)
	s.sees(t, thirdName, aNamespace, name, "metadata labels karmada.io/managed", "true") // by a Work of the namespace
	place := func(clusters, suspension string) {
		s.policyOn(t, "web", named(kind, "web"), fmt.Sprintf("placement: {clusterAffinity: {clusterNames: [%s]}}, suspension: %s", clusters, suspension))
	}
	runAll := func() {
		for _, m := range f.members() {
			runPodsIn(t, m, name, "web")
		}
	}
	printed := func(want string) {
		t.Helper()
		eventually(t, "the hub prints "+want, func(context.Context) bool {
			runAll()
			fields := strings.Fields(s.on(t, "get", "deployment", "web", "--no-headers"))
			return len(fields) > 3 && strings.Join(fields[1:4], " ") == want
		})
	}
	place("cluster1, cluster2, cluster3", "{dispatching: false}")
	s.on(t, "create", "deployment", "web", "--image=web:1")
	s.sees(t, thirdName, kind, "web", "metadata annotations work.karmada.io/namespace", "karmada-es-"+thirdName, "metadata labels karmada.io/managed", "true")
	printed("3/1 3 3")
	s.awaits(t, onHub, aBinding, binding, "applied and healthy in all three", func(o *unstructured.Unstructured) bool {
		status, reason, _ := condition(o, "FullyApplied")
		return status == "True" && reason == "FullyAppliedSuccess" && valueAt(o, "status aggregatedStatus 2 clusterName") == thirdName &&
			valueAt(o, "status aggregatedStatus 2 applied") == "true" && valueAt(o, "status aggregatedStatus 2 health") == "Healthy" &&
			valueAt(o, "status aggregatedStatus 2 status availableReplicas") == "1"
	})
	f.tellsNothing(t, a)

	place("cluster1, cluster2, cluster3", "{dispatchingOnClusters: {clusterNames: [cluster3]}}")
	s.awaitWork(t, thirdName, kind, "web", "suspended, as its agent says", func(w *unstructured.Unstructured) bool {
		status, reason, _ := condition(w, "Dispatching")
		return status == "False" && reason == "SuspendDispatching"
	})
	s.on(t, "set", "image", "deployment/web", "web=web:2")
	const image = "spec template spec containers 0 image"
	s.sees(t, pushName, kind, "web", image, "web:2")
	s.sees(t, pullName, kind, "web", image, "web:2")
	s.awaitWork(t, thirdName, kind, "web", "has the change", func(w *unstructured.Unstructured) bool {
		return valueAt(w, "spec workload manifests 0 "+image) == "web:2"
	})
	s.sees(t, thirdName, kind, "web", image, "web:1")
	place("cluster1, cluster2, cluster3", "{dispatching: false}")
	s.sees(t, thirdName, kind, "web", image, "web:2")
	printed("3/1 3 3")
	o := s.read(t, onHub, kind, "web")
	s.sees(t, onHub, kind, "web", "status observedGeneration", valueAt(o, "metadata generation"))

	// The Work of a cluster that is no target any more is there until its agent has
	// taken the object away.
	a.paused.Store(true)
	place("cluster1, cluster2", "{dispatching: false}")
	s.awaitWork(t, thirdName, kind, "web", "waits for its agent", func(w *unstructured.Unstructured) bool {
		return w != nil && w.GetDeletionTimestamp() != nil && valueAt(w, "metadata finalizers 0") == "karmada.io/execution-controller"
	})
	s.awaits(t, onHub, aBinding, binding, "without "+thirdName, func(o *unstructured.Unstructured) bool {
		return valueAt(o, "status aggregatedStatus 1 clusterName") == pullName && valueAt(o, "status aggregatedStatus 2") == ""
	})
	s.sees(t, thirdName, kind, "web")
	a.paused.Store(false)
	s.gone(t, thirdName, kind, "web")
	s.awaitWork(t, thirdName, kind, "web", "gone", func(w *unstructured.Unstructured) bool { return w == nil })
	eventually(t, "the hub prints 2/1", func(context.Context) bool {
		return strings.Contains(s.on(t, "get", "deployment", "web", "--no-headers"), "2/1")
	})

	place("cluster3", "{dispatching: false}")
	s.sees(t, thirdName, kind, "web")
	s.remove(t, onHub, kind, "web")
	s.gone(t, thirdName, kind, "web")
	s.gone(t, onHub, aBinding, binding)
}

// tellsNothing: Events about Works of a cluster are its own agent's to make.
func (f *fleet) tellsNothing(t *testing.T, a *karmadaAgent) {
	t.Helper()
	events, err := f.client.CoreV1().Events("karmada-es-"+a.cluster).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if e := &events.Items[i]; e.InvolvedObject.Kind == "Work" {
			t.Errorf("the hub tells %s of Work %s in the agent's place: %s", e.Reason, e.InvolvedObject.Name, e.Message)
		}
	}
}
