package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testOverrideRenames: an object under another name in a cluster has the status and the
// end of its template, and so has the Work that it comes by.
func testOverrideRenames(t *testing.T, s *space) {
	rename := func(to string) {
		s.override(t, "name", named(aDeployment, "web"), "targetCluster: {clusterNames: [cluster2]},", "plaintext: [{path: /metadata/name, operator: replace, value: "+to+"}]")
	}
	s.put(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}")
	s.policyOn(t, "web", named(aDeployment, "web"), "")
	s.sees(t, pullName, aDeployment, "web")
	for _, name := range []string{"shop", "store"} {
		rename(name)
		s.sees(t, pullName, aDeployment, name, "metadata annotations resourcebinding.karmada.io/name", "web-deployment")
	}
	s.gone(t, pullName, aDeployment, "web")
	s.gone(t, pullName, aDeployment, "shop")
	s.sees(t, pushName, aDeployment, "web")
	s.never(t, pushName, aDeployment, "store")
	works := map[string]string{}
	for cluster, name := range map[string]string{pushName: "web", pullName: "store"} {
		s.awaitWork(t, cluster, aDeployment, name, "has the member's status", func(w *unstructured.Unstructured) bool {
			works[cluster] = objectName(w)
			return valueAt(w, "status manifestStatuses 0 identifier name") == name && valueAt(w, "status manifestStatuses 0 health") == "Healthy"
		})
	}
	if works[pushName] == works[pullName] || !strings.HasPrefix(works[pullName], "store-") {
		t.Errorf("the Works are called %v, want each after the object that it carries", works)
	}
	s.awaits(t, onHub, aBinding, "web-deployment", "applied in both", func(o *unstructured.Unstructured) bool {
		status, _, _ := condition(o, "FullyApplied")
		return status == "True" && valueAt(o, "status aggregatedStatus 1 clusterName") == pullName && valueAt(o, "status aggregatedStatus 1 applied") == "true" &&
			valueAt(o, "status aggregatedStatus 1 health") == "Healthy" && valueAt(o, "status aggregatedStatus 2") == ""
	})
	o := s.read(t, onHub, aDeployment, "web")
	s.sees(t, onHub, aDeployment, "web", "status observedGeneration", valueAt(o, "metadata generation"))

	s.remove(t, onHub, "policy.karmada.io/v1alpha1 OverridePolicy", "name")
	s.sees(t, pullName, aDeployment, "web")
	s.gone(t, pullName, aDeployment, "store")
	rename("shop")
	s.sees(t, pullName, aDeployment, "shop")
	s.remove(t, onHub, aDeployment, "web")
	s.gone(t, pullName, aDeployment, "shop")
	s.gone(t, pushName, aDeployment, "web")
	s.awaitWork(t, pullName, aDeployment, "shop", "gone", func(w *unstructured.Unstructured) bool { return w == nil })
}

// objectName is an object's name; that of none is empty.
func objectName(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return o.GetName()
}
