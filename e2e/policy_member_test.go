package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// memberCases hold what becomes of objects in members that refuse them or lag behind.
var memberCases = map[string]func(*testing.T, *space){
	"refused-there": testRefusedThere,
	"rollout":       testRollout,
}

// testRefusedThere: a member that refuses an object has its words on the Work, the
// object and in REST, with a way out; no other member and no other object waits for
// it, and the object comes once the rule goes.
func testRefusedThere(t *testing.T, s *space) {
	const rule = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy"
	refuses := map[string]string{pushName: "red", pullName: "green"}
	for cluster, color := range refuses {
		s.putAt(t, cluster, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s}, spec: {failurePolicy: Fail,
			matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}, resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]},
			validations: [{expression: "!has(object.data) || !('color' in object.data) || object.data.color != '%[2]s'", message: %[2]s is not worn here}]}}`, s.namespace, color)
		s.putAt(t, cluster, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %[1]s}, spec: {policyName: %[1]s, validationActions: [Deny]}}", s.namespace)
		eventually(t, cluster+" refuses "+color, func(ctx context.Context) bool {
			probe := manifest("v1", "ConfigMap", s.namespace, "probe")
			probe["data"] = map[string]any{"color": color}
			_, err := s.objectsOf(t, cluster, aConfigMap).Create(ctx, &unstructured.Unstructured{Object: probe}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err != nil && strings.Contains(err.Error(), color+" is not worn here")
		})
	}
	s.policyOn(t, "all", "{apiVersion: v1, kind: ConfigMap}", "")
	for _, color := range []string{"red", "green", "blue"} {
		s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {color: %[1]s}}", color)
	}
	for cluster, color := range refuses {
		s.refusedBy(t, cluster, color)
	}
	for cluster := range refuses {
		s.sees(t, cluster, aConfigMap, "blue", "data color", "blue")
	}
	s.mend(t, onHub, aConfigMap, "blue", "{data: {color: cyan}}")
	for cluster, color := range refuses {
		s.sees(t, cluster, aConfigMap, "blue", "data color", "cyan")
		s.never(t, cluster, aConfigMap, color)
		s.remove(t, cluster, rule, s.namespace)
		s.remove(t, cluster, rule+"Binding", s.namespace)
	}
	for cluster, color := range refuses {
		s.sees(t, cluster, aConfigMap, color, "data color", color)
		s.awaitBinding(t, color, "fully applied", func(o *unstructured.Unstructured) bool {
			status, reason, _ := condition(o, "FullyApplied")
			return status == "True" && reason == "FullyAppliedSuccess"
		})
		s.awaitNoTrouble(t, "core/v1/ConfigMap", color)
	}
}

// refusedBy checks all places that tell of an object that a cluster refuses and the
// other one has.
func (s *space) refusedBy(t *testing.T, cluster, name string) {
	t.Helper()
	for other := range s.members() {
		if other != cluster {
			s.sees(t, other, aConfigMap, name, "data color", name)
		}
	}
	words := []string{"ConfigMap " + s.namespace + "/" + name, name + " is not worn here", "change the object, override it for this cluster, or change the rule there"}
	var work string
	s.awaitWork(t, cluster, aConfigMap, name, "refused", func(w *unstructured.Unstructured) bool {
		if w == nil {
			return false
		}
		work = w.GetName()
		status, reason, message := condition(w, "Applied")
		return status == "False" && reason == "AppliedFailed" && containsAll(message, words...)
	})
	(&space{fleet: s.fleet, namespace: "karmada-es-" + cluster}).awaitEventAbout(t, "Work", work, "SyncFailed", words...)
	s.awaitEventAbout(t, "ConfigMap", name, "SyncFailed", append(words, cluster)...)
	s.awaitBinding(t, name, "not fully applied, because of "+cluster, func(o *unstructured.Unstructured) bool {
		status, reason, message := condition(o, "FullyApplied")
		items, _, _ := unstructured.NestedSlice(o.Object, "status", "aggregatedStatus")
		for _, item := range items {
			at, _ := item.(map[string]any)
			if at["applied"] == true == (at["clusterName"] == cluster) || at["clusterName"] == cluster && !containsAll(fmt.Sprint(at["appliedMessage"]), words...) {
				return false
			}
		}
		return len(items) == len(s.members()) && status == "False" && reason == "FullyAppliedFailed" && strings.Contains(message, cluster)
	})
	s.awaitFailed(t, "core/v1/ConfigMap", name, "work.failed", append(words, cluster)...)
}

// testRollout: "kubectl rollout status" on the hub is over when it is over in every
// member: the hub's observedGeneration follows the one that is last.
func testRollout(t *testing.T, s *space) {
	hold := func(suspension string) {
		s.policyOn(t, "web", named(aDeployment, "web"), "suspension: "+suspension)
	}
	status := func() string { return s.on(t, "rollout", "status", "deployment", "web", "--watch=false") }
	finish := func(what string) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) bool {
			for _, m := range s.members() {
				pods, err := m.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
				if err != nil {
					return false
				}
				for i := range pods.Items {
					_ = runPod(ctx, m, &pods.Items[i]) // one that goes meanwhile is not missed
				}
			}
			return strings.Contains(status(), "successfully rolled out")
		})
		o := s.read(t, onHub, aDeployment, "web")
		if observed, generation := valueAt(o, "status observedGeneration"), valueAt(o, "metadata generation"); observed != generation {
			t.Errorf("%s: generation %s is observed, and it is %s", what, observed, generation)
		}
	}
	hold("{dispatching: false}")
	s.on(t, "create", "deployment", "web", "--image=web:1")
	finish("the first rollout")

	hold("{dispatchingOnClusters: {clusterNames: [cluster2]}}")
	s.awaitWork(t, pullName, aDeployment, "web", "waits", func(w *unstructured.Unstructured) bool { return valueAt(w, "spec suspendDispatching") == "true" })
	before := s.read(t, onHub, aDeployment, "web")
	s.on(t, "set", "image", "deployment/web", "web=web:2")
	changed := valueAt(s.read(t, onHub, aDeployment, "web"), "metadata generation")
	s.awaits(t, onHub, aBinding, "web-deployment", pushName+" reports generation "+changed, func(o *unstructured.Unstructured) bool {
		return valueAt(o, "status aggregatedStatus 0 clusterName") == pushName && valueAt(o, "status aggregatedStatus 0 status resourceTemplateGeneration") == changed
	})
	eventually(t, "the new pod of "+pushName+" runs", func(ctx context.Context) bool {
		pods, err := s.push.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return false
		}
		for i := range pods.Items {
			_ = runPod(ctx, s.push, &pods.Items[i])
		}
		return len(pods.Items) == 1 && pods.Items[0].Spec.Containers[0].Image == "web:2"
	})
	s.witness(t)
	if said := status(); !strings.Contains(said, "Waiting for deployment spec update to be observed") {
		t.Errorf("while %s lags, rollout status says %s", pullName, said)
	}
	if observed := valueAt(s.read(t, onHub, aDeployment, "web"), "status observedGeneration"); observed != valueAt(before, "status observedGeneration") {
		t.Errorf("generation %s is observed, which %s does not have", observed, pullName)
	}
	hold("{dispatching: false}")
	s.sees(t, pullName, aDeployment, "web", "spec template spec containers 0 image", "web:2")
	finish("the second rollout")
}
