package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret/native"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// object reads YAML as an API server would give it.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return o
}

func same(t *testing.T, want, got *unstructured.Unstructured) {
	t.Helper()
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRetain(t *testing.T) {
	for name, c := range map[string]struct{ desired, observed, want string }{
		"metadata of the member": {`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, finalizers: [hub], labels: {both: new, wanted: x}}`, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, uid: u, resourceVersion: "7", finalizers: [member], ownerReferences: [{name: o}], labels: {both: old, local: here}}
data: {gone: x}`, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, uid: u, resourceVersion: "7", finalizers: [member], ownerReferences: [{name: o}], labels: {both: new, wanted: x, local: here}}`},
		"marks we set before and want no more": {`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {kept: x}, annotations: {resourcetemplate.karmada.io/managed-labels: kept}}`, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {kept: x, ours: old, local: here}
  annotations: {resourcetemplate.karmada.io/managed-labels: "kept,ours", resourcetemplate.karmada.io/managed-annotations: "note", note: old, local: z}`, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {kept: x, local: here}
  annotations: {resourcetemplate.karmada.io/managed-labels: kept, resourcetemplate.karmada.io/managed-annotations: "note", local: z}`},
		"replicas of the hub": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {replicas: 3}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {replicas: 7}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {replicas: 3}`},
		"replicas of the member": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {resourcetemplate.karmada.io/retain-replicas: "true"}}
spec: {replicas: 3}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {replicas: 7}`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {resourcetemplate.karmada.io/retain-replicas: "true"}}
spec: {replicas: 7}`},
		"pod": {`
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: "i:2"}, {name: new}], initContainers: [{name: i}]}`, `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeName: n
  serviceAccountName: default
  volumes: [{name: kube-api-access}]
  containers: [{name: other}, {name: c, image: "i:1", volumeMounts: [{name: kube-api-access, mountPath: /x}]}]
  initContainers: [{name: i, volumeMounts: [{name: kube-api-access, mountPath: /y}]}]`, `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeName: n
  serviceAccountName: default
  volumes: [{name: kube-api-access}]
  containers: [{name: c, image: "i:2", volumeMounts: [{name: kube-api-access, mountPath: /x}]}, {name: new}]
  initContainers: [{name: i, volumeMounts: [{name: kube-api-access, mountPath: /y}]}]`},
		"service": {`
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: LoadBalancer, ports: [{port: 81}]}`, `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: LoadBalancer, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], healthCheckNodePort: 31000, ports: [{port: 80}]}`, `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: LoadBalancer, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], healthCheckNodePort: 31000, ports: [{port: 81}]}`},
		"a service that becomes an alias": {`
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: ExternalName, externalName: x.example}`, `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: ClusterIP, clusterIP: 10.0.0.7}`, `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: ExternalName, externalName: x.example}`},
		"service account": {`
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
secrets: [{name: hub}, {name: both}]`, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
secrets: [{name: both}, {name: member}]
imagePullSecrets: [{name: pull}]`, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
secrets: [{name: hub}, {name: both}, {name: member}]
imagePullSecrets: [{name: pull}]`},
		"claim": {`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce]}`, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce], volumeName: pv1, storageClassName: fast, volumeMode: Filesystem}`, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce], volumeName: pv1, storageClassName: fast, volumeMode: Filesystem}`},
		"volume": {`
apiVersion: v1
kind: PersistentVolume
metadata: {name: a}
spec: {capacity: {storage: 1Gi}}`, `
apiVersion: v1
kind: PersistentVolume
metadata: {name: a}
spec: {claimRef: {name: c}}`, `
apiVersion: v1
kind: PersistentVolume
metadata: {name: a}
spec: {capacity: {storage: 1Gi}, claimRef: {name: c}}`},
		"job": {`
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {metadata: {labels: {app: x}}, spec: {}}}`, `
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {app: x, controller-uid: u}}}}`, `
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {app: x, controller-uid: u}}, spec: {}}}`},
		"token secret": {`
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: a}`, `
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: a}
data: {token: eA==}`, `
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: a}
data: {token: eA==}`},
		"namespace": {`
apiVersion: v1
kind: Namespace
metadata: {name: a}`, `
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}
spec: {finalizers: [kubernetes]}`, `
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}
spec: {finalizers: [kubernetes]}`},
	} {
		t.Run(name, func(t *testing.T) {
			desired, observed := object(t, c.desired), object(t, c.observed)
			got := native.Retain(desired, observed)
			native.RetainMetadata(got, observed)
			same(t, object(t, c.want), got)
			same(t, object(t, c.desired), desired)
			same(t, object(t, c.observed), observed)
		})
	}
}

func TestReflect(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"deployment, as recorded": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 1, annotations: {resourcetemplate.karmada.io/generation: "2"}}
status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1, unavailableReplicas: 1, conditions: [{type: Available}]}`,
			`{"availableReplicas":1,"generation":1,"observedGeneration":1,"readyReplicas":1,"replicas":2,"resourceTemplateGeneration":2,"unavailableReplicas":1,"updatedReplicas":2}`},
		"deployment without status": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, generation: 1, annotations: {resourcetemplate.karmada.io/generation: "2"}}}`,
			`{"generation":1,"resourceTemplateGeneration":2}`},
		"no template generation": {`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, generation: 1, annotations: {resourcetemplate.karmada.io/generation: "x"}}, status: {replicas: 0}}`,
			`{"generation":1}`},
		"stateful set tells what it observed": {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, generation: 4}, status: {observedGeneration: 4, replicas: 1, currentRevision: db-1, collisionCount: 0}}`,
			`{"currentRevision":"db-1","generation":4,"observedGeneration":4,"replicas":1}`},
		"job":                     {`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {succeeded: 1, ready: 0, startTime: "2026-01-01T00:00:00Z"}}`, `{"startTime":"2026-01-01T00:00:00Z","succeeded":1}`},
		"service":                 {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP}, status: {loadBalancer: {}}}`, ""},
		"load balancer":           {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`, `{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`},
		"waiting load balancer":   {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}, status: {loadBalancer: {}}}`, ""},
		"autoscaler":              {`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, status: {currentReplicas: 2, desiredReplicas: 3, currentMetrics: [{}]}}`, `{"currentReplicas":2,"desiredReplicas":3}`},
		"anything else: as it is": {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}, status: {a: {b: [1]}}}`, `{"a":{"b":[1]}}`},
		"no status":               {`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`, ""},
	} {
		got := ""
		if r := native.Reflect(object(t, c.in)); r != nil {
			got = string(r.Raw)
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	huge := object(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}`)
	huge.Object["status"] = map[string]any{"text": strings.Repeat("x", native.MaxReflected)}
	if native.Reflect(huge) != nil {
		t.Error("a huge status is reflected")
	}
}

func TestHealth(t *testing.T) {
	healthy, unhealthy, unknown := workv1alpha1.ResourceHealthy, workv1alpha1.ResourceUnhealthy, workv1alpha1.ResourceUnknown
	for name, c := range map[string]struct {
		in   string
		want workv1alpha1.ResourceHealth
	}{
		"deployment":                {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2}}`, healthy},
		"deployment not observed":   {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 3}, spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2}}`, unhealthy},
		"deployment rolling":        {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 1, availableReplicas: 2}}`, unhealthy},
		"deployment unavailable":    {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 1}}`, unhealthy},
		"deployment of one, new":    {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 1}, status: {observedGeneration: 1}}`, unhealthy},
		"deployment scaled to none": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1}}`, healthy},
		"deployment misshapen":      {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 1}, status: {updatedReplicas: many}}`, unknown},
		"stateful set":              {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1}}`, healthy},
		"stateful set unavailable":  {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, updatedReplicas: 1}}`, unhealthy},
		"daemon set":                {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x, generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3}}`, healthy},
		"daemon set partly":         {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x, generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2}}`, unhealthy},
		"replica set":               {`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x, generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, availableReplicas: 1}}`, unhealthy},
		"service":                   {`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: ClusterIP}}`, healthy},
		"load balancer":             {`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer}}`, unhealthy},
		"load balancer served":      {`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`, healthy},
		"ingress":                   {`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x}}`, unhealthy},
		"claim":                     {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, status: {phase: Pending}}`, unhealthy},
		"claim bound":               {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, status: {phase: Bound}}`, healthy},
		"pod done":                  {`{apiVersion: v1, kind: Pod, metadata: {name: x}, status: {phase: Succeeded}}`, healthy},
		"pod running":               {`{apiVersion: v1, kind: Pod, metadata: {name: x}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`, healthy},
		"pod not ready":             {`{apiVersion: v1, kind: Pod, metadata: {name: x}, status: {phase: Running, conditions: [{type: Ready, status: "False"}]}}`, unhealthy},
		"budget":                    {`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, status: {currentHealthy: 1, desiredHealthy: 2}}`, unhealthy},
		"no rule":                   {`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`, healthy},
	} {
		if got := native.Health(object(t, c.in)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
