package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/apis/work/manifest"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestPrune(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"any kind": {
			`{apiVersion: x.y/v1, kind: Thing, metadata: {name: a, namespace: b, labels: {k: v}, uid: "1", resourceVersion: "2", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z",
			  deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0, selfLink: /x, managedFields: [{manager: m}], ownerReferences: [{name: o}], finalizers: [f]},
			  spec: {x: 1}, status: {y: 2}}`,
			`{apiVersion: x.y/v1, kind: Thing, metadata: {name: a, namespace: b, labels: {k: v}}, spec: {x: 1}}`,
		},
		"no metadata": {`{apiVersion: v1, kind: Service}`, `{apiVersion: v1, kind: Service}`},
		"deployment": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {annotations: {deployment.kubernetes.io/revision: "1", deployment.kubernetes.io/revision-history: "1", mine: x}}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {annotations: {mine: x}}}`,
		},
		"deployment of another group": {
			`{apiVersion: x.y/v1, kind: Deployment, metadata: {annotations: {deployment.kubernetes.io/revision: "1"}}}`,
			`{apiVersion: x.y/v1, kind: Deployment, metadata: {annotations: {deployment.kubernetes.io/revision: "1"}}}`,
		},
		"job": {
			`{apiVersion: batch/v1, kind: Job, metadata: {}, spec: {ttlSecondsAfterFinished: 5, selector: {matchLabels: {controller-uid: a, batch.kubernetes.io/controller-uid: a}},
			  template: {metadata: {labels: {controller-uid: a, job-name: b, batch.kubernetes.io/controller-uid: a, batch.kubernetes.io/job-name: b, app: x}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {}, spec: {template: {metadata: {labels: {app: x}}}}}`,
		},
		"job with its own selector": {
			`{apiVersion: batch/v1, kind: Job, metadata: {}, spec: {manualSelector: true, ttlSecondsAfterFinished: 5, selector: {matchLabels: {job-name: a}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {}, spec: {manualSelector: true, selector: {matchLabels: {job-name: a}}}}`,
		},
		"service": {
			`{apiVersion: v1, kind: Service, metadata: {}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], type: ClusterIP}}`,
			`{apiVersion: v1, kind: Service, metadata: {}, spec: {type: ClusterIP}}`,
		},
		"headless service": {
			`{apiVersion: v1, kind: Service, metadata: {}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			`{apiVersion: v1, kind: Service, metadata: {}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		"service account": {
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}, secrets: [{name: robot-token-abcde}, {name: mine}]}`,
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}, secrets: [{name: mine}]}`,
		},
		"service account with a token only": {
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}, secrets: [{name: robot-token-abcde}]}`,
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}`,
		},
		"token secret": {
			`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: a, kubernetes.io/service-account.uid: b}}, data: {token: eA==}}`,
			`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: a}}}`,
		},
		"other secret": {
			`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {}, data: {token: eA==}}`,
			`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {}, data: {token: eA==}}`,
		},
		"claim": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.kubernetes.io/selected-node: n}}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {}}`,
		},
		"wrong shapes": {
			`{apiVersion: v1, kind: ServiceAccount, metadata: x, secrets: 5}`,
			`{apiVersion: v1, kind: ServiceAccount, metadata: x, secrets: 5}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, test.object)
			manifest.Prune(got)
			if diff := cmp.Diff(parse(t, test.want).Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The expected values are those of the recorded Work of the ConfigMap shop/settings.
func TestMark(t *testing.T) {
	got := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {karmada.io/managed: "true"}, annotations: {work.karmada.io/name: w, resourcetemplate.karmada.io/uid: ""}}}`)
	for range 2 {
		manifest.Mark(got, "d89e2934")
	}
	want := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {karmada.io/managed: "true", work.karmada.io/permanent-id: d89e2934}, annotations: {
	  work.karmada.io/name: w, resourcetemplate.karmada.io/uid: "",
	  resourcetemplate.karmada.io/managed-labels: "karmada.io/managed,work.karmada.io/permanent-id",
	  resourcetemplate.karmada.io/managed-annotations: "resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,work.karmada.io/name"}}}`)
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bare := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	manifest.Mark(bare, "1")
	if bare.GetLabels()["work.karmada.io/permanent-id"] != "1" {
		t.Errorf("an object without labels was not marked: %v", bare.Object)
	}
}
