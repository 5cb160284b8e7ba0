package override_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/override"
)

// TestRecording repeats what a recorded hub did with the policy of the contract's
// example: the manifest for each cluster and the record on its Work.
func TestRecording(t *testing.T) {
	p := typed[policyv1alpha1.OverridePolicy](t, `
metadata: {name: nginx-override, namespace: default}
spec:
  overrideRules:
  - overriders: {imageOverrider: [{component: Tag, operator: replace, value: "1.20"}]}
    targetCluster: {clusterNames: [member1]}
  overriders: {}
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx, namespace: default}]`)
	const template = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, namespace: default, labels: {app: nginx}}
spec:
  progressDeadlineSeconds: 600
  replicas: 1
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      containers: [{image: IMAGE, imagePullPolicy: Always, name: nginx, resources: {}}]
      terminationGracePeriodSeconds: 30`
	for name, test := range map[string]struct{ image, record string }{
		"member1": {"nginx:1.20", `[{"policyName":"nginx-override","overriders":{"imageOverrider":[{"component":"Tag","operator":"replace","value":"1.20"}]}}]`},
		"member2": {"nginx", "null"},
	} {
		object := parse(t, strings.Replace(template, "IMAGE", "nginx", 1))
		selected := override.Select(override.Policies{Namespaced: []*policyv1alpha1.OverridePolicy{p}}, object)
		result, err := override.Apply(object, cluster(name, nil), selected)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, strings.Replace(template, "IMAGE", test.image, 1)), result.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		record, err := json.Marshal(result.Namespaced)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.record, string(record)); diff != "" {
			t.Errorf("%s: record (-want +got):\n%s", name, diff)
		}
	}
}
