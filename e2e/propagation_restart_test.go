package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

// settledBindings are how many bindings a hub that starts again finds.
const settledBindings = 50

// settledKinds are what a start may not write while nothing has changed, by where it is.
var settledKinds = map[string][]string{
	onHub:    {aConfigMap, aDeployment, aBinding, "policy.karmada.io/v1alpha1 PropagationPolicy"},
	pushName: {aConfigMap, aDeployment},
	pullName: {aConfigMap, aDeployment},
}

// restartUnnoticed: a hub that is killed and starts again writes no Work, no binding,
// no template and no object of a member that has not changed.
func (f *fleet) restartUnnoticed(t *testing.T) {
	s := f.space(t, "restarted")
	s.policyOn(t, "all", "{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {settled: 'yes'}}}, {apiVersion: apps/v1, kind: Deployment}", "")
	for i := range settledBindings / 2 {
		s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settled-%d, labels: {settled: 'yes'}}, data: {color: blue}}", i)
		s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: settled-%d}, spec: {replicas: 0, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {
			containers: [{name: a, image: a}]}}}}`, i)
	}
	eventually(t, "all are applied, and their status is on the hub", func(ctx context.Context) bool {
		list, err := s.objectsOf(t, onHub, aBinding).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != settledBindings {
			return false
		}
		for i := range list.Items {
			o := &list.Items[i]
			status, _, _ := condition(o, "FullyApplied")
			known := valueAt(o, "status aggregatedStatus 0 health") == "Healthy" && valueAt(o, "status aggregatedStatus 1 health") == "Healthy"
			if status != "True" || !known || valueAt(o, "status schedulerObservedGeneration") != valueAt(o, "metadata generation") {
				return false
			}
		}
		deployments, err := s.objectsOf(t, onHub, aDeployment).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range deployments.Items {
			if o := &deployments.Items[i]; valueAt(o, "status observedGeneration") != valueAt(o, "metadata generation") {
				return false
			}
		}
		return true
	})
	before := s.settled(t)
	if err := f.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := f.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.connect(t)
	f.awaitReady(t, pushName, metav1.ConditionTrue)
	f.awaitReady(t, pullName, metav1.ConditionTrue)
	// What propagates now shows that the detector, the scheduler and both ways work.
	after := f.space(t, "restarted-since")
	after.witness(t)
	for range 3 {
		after.witness(t)
		if diff := cmp.Diff(before, s.settled(t)); diff != "" {
			t.Fatalf("written by the restart (-before +after):\n%s", diff)
		}
	}
}

// settled waits until what is there has been the same for a second, and returns the
// versions by where, kind and name.
func (s *space) settled(t *testing.T) map[string]string {
	t.Helper()
	var last map[string]string
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, patience, true, func(context.Context) (bool, error) {
		now := s.versions(t)
		same := last != nil && cmp.Equal(last, now)
		last = now
		return same, nil
	})
	if err != nil {
		t.Fatal("the objects change all the time")
	}
	return last
}

func (s *space) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	keep := func(where, kind string, list *unstructured.UnstructuredList, err error) {
		if err != nil {
			t.Fatalf("list %s in %s: %v", kind, where, err)
		}
		for i := range list.Items {
			versions[fmt.Sprintf("%s: %s %s", where, kind, list.Items[i].GetName())] = list.Items[i].GetResourceVersion()
		}
	}
	for where, kinds := range settledKinds {
		for _, kind := range kinds {
			list, err := s.objectsOf(t, where, kind).List(t.Context(), metav1.ListOptions{})
			keep(where, kind, list, err)
		}
	}
	for cluster := range s.members() {
		list, err := s.dynamic.Resource(worksResource).Namespace("karmada-es-"+cluster).List(t.Context(), metav1.ListOptions{})
		if err == nil {
			ours := list.Items[:0]
			for _, work := range list.Items {
				if strings.HasPrefix(valueAt(&work, "metadata annotations resourcebinding.karmada.io/name"), "settled-") {
					ours = append(ours, work)
				}
			}
			list.Items = ours
		}
		keep("hub", "Work for "+cluster, list, err)
	}
	// Templates and bindings, Works, and what the members have.
	if wanted := settledBindings * (2 + 2*len(s.members())); len(versions) < wanted {
		t.Fatalf("%d objects are there, want %d at least", len(versions), wanted)
	}
	return versions
}
