package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	aPolicy     = "policy.karmada.io/v1alpha1 PropagationPolicy"
	aWidePolicy = "policy.karmada.io/v1alpha1 ClusterPropagationPolicy"
)

// testSelectsNothing: a policy that means no object says so, with the cause and what
// to do, until there is one.
func testSelectsNothing(t *testing.T, s *space) {
	s.policyOn(t, "lost", named(aConfigMap, "lonely"), "placement: {"+everywhere+"}")
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: lost}, spec: {placement: {%s}, resourceSelectors: [
		{apiVersion: shop.example/v1, kind: Basket}, {apiVersion: apps/v1beta1, kind: Deployment, namespace: %s}]}}`, everywhere, s.namespace)
	misses := func(path string) (found []string) {
		var told struct {
			Row struct {
				Misses []struct{ Cause, Instead string } `json:"misses"`
			} `json:"row"`
		}
		must(t, s.root, "GET", "/api/v1/policies/"+path, nil, &told)
		for _, miss := range told.Row.Misses {
			found = append(found, strings.TrimSuffix(miss.Cause+" "+miss.Instead, " "))
		}
		return found
	}
	shows := func(path, want string) {
		t.Helper()
		eventually(t, path+" misses "+want, func(context.Context) bool { return strings.Join(misses(path), ", ") == want })
	}
	const own, wider = "propagationpolicies/selects-nothing/lost", "clusterpropagationpolicies/-/lost"
	shows(own, "no-name")
	shows(wider, "no-kind, other-version apps/v1")
	s.awaitNote(t, "MatchesNothing", "lost", "there is no ConfigMap lonely in namespace selects-nothing: create it, or correct the selector")
	wide := &space{fleet: s.fleet, namespace: "default"} // where Events about what has no namespace are
	wide.awaitNote(t, "MatchesNothing", "lost", "the hub serves no shop.example/v1 Basket: install its definition, or correct apiVersion and kind; the hub propagates Deployment as apps/v1")

	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: lonely}}")
	shows(own, "")
	s.awaitNote(t, "MatchesObjects", "lost", "the policy selects objects now")
	s.awaitPlaced(t, "lonely-configmap", pushName, pullName, thirdName)
	s.remove(t, onHub, aWidePolicy, "lost")
}

// awaitNote waits for an Event about an object of the space whose text holds a note.
func (s *space) awaitNote(t testing.TB, reason, about, note string) {
	t.Helper()
	var notes []string
	defer func() {
		if t.Failed() {
			t.Logf("%s about %s says %q", reason, about, notes)
		}
	}()
	eventually(t, fmt.Sprintf("event %s about %s: %s", reason, about, note), func(ctx context.Context) bool {
		list, err := s.client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return false
		}
		notes = nil
		for i := range list.Items {
			if e := &list.Items[i]; e.InvolvedObject.Name == about {
				notes = append(notes, e.Message)
			}
		}
		return strings.Contains(strings.Join(notes, "\n"), note)
	})
}

// testRematched: an object that a policy lets go, by an edit of its selectors or by
// its end, goes to another one that is there already: to one of its namespace, else to
// one of all namespaces. A policy that is on its way out takes nothing.
func testRematched(t *testing.T, s *space) {
	const own, wider = "metadata annotations propagationpolicy.karmada.io/name", "metadata annotations clusterpropagationpolicy.karmada.io/name"
	const leaving = "{metadata: {finalizers: [e2e.example/held]}}"
	policy := func(name string, priority int, template, cluster string) {
		s.policyOn(t, name, named(aConfigMap, template), fmt.Sprintf("priority: %d, placement: {%s, clusterAffinity: {clusterNames: [%s]}}", priority, everywhere, cluster))
	}
	wide := func(name string, priority int, template, cluster string) {
		s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: {priority: %d, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %s, name: %s}], placement: {%s, clusterAffinity: {clusterNames: [%s]}}}}",
			name, priority, s.namespace, template, everywhere, cluster)
	}
	held := func(key, policy, cluster string) {
		t.Helper()
		other := map[string]string{own: wider, wider: own}[key]
		s.sees(t, onHub, aConfigMap, "settings", key, policy, other, "")
		s.sees(t, onHub, aBinding, "settings-configmap", key, policy, other, "")
		s.awaitPlaced(t, "settings-configmap", cluster)
		s.sees(t, cluster, aConfigMap, "settings", key, policy, other, "")
	}
	policy("first", 9, "settings", pushName)
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	held(own, "first", pushName)
	policy("leaving", 8, "settings", thirdName)
	wide("rematched-leaving", 8, "settings", thirdName)
	policy("second", 1, "settings", pullName)
	wide("rematched-wide", 1, "settings", thirdName)
	wide("rematched-last", 0, "settings", pushName)
	for kind, name := range map[string]string{aPolicy: "leaving", aWidePolicy: "rematched-leaving"} {
		s.mend(t, onHub, kind, name, leaving)
		s.remove(t, onHub, kind, name)
		s.awaits(t, onHub, kind, name, "on its way out", func(o *unstructured.Unstructured) bool { return valueAt(o, "metadata deletionTimestamp") != "" })
	}
	s.witness(t)
	held(own, "first", pushName)

	policy("first", 9, "elsewhere", pushName)
	held(own, "second", pullName)
	s.gone(t, pushName, aConfigMap, "settings")
	s.remove(t, onHub, aPolicy, "second")
	held(wider, "rematched-wide", thirdName)
	s.gone(t, pullName, aConfigMap, "settings")
	wide("rematched-wide", 1, "elsewhere", thirdName)
	held(wider, "rematched-last", pushName)
	s.gone(t, thirdName, aConfigMap, "settings")
	s.remove(t, onHub, aWidePolicy, "rematched-last")
	s.sees(t, onHub, aConfigMap, "settings", own, "", wider, "")
	s.sees(t, onHub, aBinding, "settings-configmap", own, "", wider, "")
	s.witness(t)
	s.sees(t, pushName, aConfigMap, "settings") // nobody is left, it stays where it is
	s.awaitPlaced(t, "settings-configmap", pushName)
	for kind, name := range map[string]string{aPolicy: "leaving", aWidePolicy: "rematched-leaving"} {
		s.mend(t, onHub, kind, name, "{metadata: {finalizers: null}}")
		s.gone(t, onHub, kind, name)
	}
	s.sees(t, onHub, aConfigMap, "settings", own, "", wider, "")
}

// testOtherSchedulers: what names another scheduler is left to it; what others make
// and give to ours is placed.
func testOtherSchedulers(t *testing.T, s *space) {
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}")
	s.policyOn(t, "theirs", named(aConfigMap, "theirs"), "schedulerName: slow-scheduler, placement: {"+everywhere+"}")
	s.sees(t, onHub, aBinding, "theirs-configmap", "spec schedulerName", "slow-scheduler")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: ours}, data: {a: b}}")
	uid := valueAt(s.read(t, onHub, aConfigMap, "ours"), "metadata uid")
	binding := func(name, labels string) {
		s.put(t, `{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: %s, labels: {%s}}, spec: {schedulerName: default-scheduler,
			resource: {apiVersion: v1, kind: ConfigMap, namespace: %s, name: ours, uid: %s}, placement: {%s, clusterAffinity: {clusterNames: [cluster2]}}}}`, name, labels, s.namespace, uid, everywhere)
	}
	binding("nobodys", "")
	binding("ours-configmap", "binding.karmada.io/managed-by: e2e")
	s.awaitScheduled(t, "ours-configmap", "True", "Success")
	s.awaitPlaced(t, "ours-configmap", pullName)
	s.sees(t, pullName, aConfigMap, "ours")
	s.witness(t)
	for _, name := range []string{"theirs-configmap", "nobodys"} {
		b := s.read(t, onHub, aBinding, name)
		if status, _, _ := condition(b, "Scheduled"); status != "" || len(placedOn(b)) > 0 {
			t.Errorf("%s was scheduled: %v", name, b.Object)
		}
		s.never(t, pushName, aConfigMap, "theirs")
	}
	if err := s.trySchedule(t, "theirs-configmap", pushName, 0); err != nil { // as its own scheduler does
		t.Fatal(err)
	}
	s.sees(t, pushName, aConfigMap, "theirs")
}
