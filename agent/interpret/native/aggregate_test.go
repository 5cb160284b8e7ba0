package native_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret/native"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

func items(t *testing.T, text string) []workv1alpha2.AggregatedStatusItem {
	t.Helper()
	var list []workv1alpha2.AggregatedStatusItem
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return list
}

// TestAggregate holds the rules of contract 11.6. Where want is empty, nothing is
// to be written.
func TestAggregate(t *testing.T) {
	deployment := func(status string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, generation: 2}, spec: {replicas: 1}, status: ` + status + `}`
	}
	one := `{generation: 1, observedGeneration: 1, resourceTemplateGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}`
	for name, c := range map[string]struct{ template, items, want string }{
		"deployment, the walkthrough": {deployment(`{}`), `[{clusterName: a, applied: true, status: ` + one + `}, {clusterName: b, applied: true, status: ` + one + `}]`,
			`{observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}`},
		"the same again": {deployment(`{observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}`),
			`[{clusterName: a, status: ` + one + `}]`, ``},
		"no member yet":                   {deployment(`{}`), `[]`, ``},
		"member without status":           {deployment(`{observedGeneration: 1}`), `[{clusterName: a, status: ` + one + `}, {clusterName: b}]`, `{observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}`},
		"member with the old template":    {deployment(`{observedGeneration: 1}`), `[{clusterName: a, status: {generation: 1, observedGeneration: 1, resourceTemplateGeneration: 1, replicas: 1}}]`, `{observedGeneration: 1, replicas: 1}`},
		"member that has not seen it":     {deployment(`{observedGeneration: 1}`), `[{clusterName: a, status: {generation: 5, observedGeneration: 4, resourceTemplateGeneration: 2, replicas: 1}}]`, `{observedGeneration: 1, replicas: 1}`},
		"members of a newer template":     {deployment(`{}`), `[{clusterName: a, status: {generation: 5, observedGeneration: 5, resourceTemplateGeneration: 3, replicas: 1}}]`, `{observedGeneration: 2, replicas: 1}`},
		"other fields stay":               {deployment(`{conditions: [{type: Available}], replicas: 5, unavailableReplicas: 1}`), `[{clusterName: a, status: ` + one + `}]`, `{observedGeneration: 2, conditions: [{type: Available}], replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, unavailableReplicas: 0}`},
		"all members gone":                {deployment(`{observedGeneration: 2, replicas: 2, readyReplicas: 2}`), `[]`, `{observedGeneration: 2, replicas: 0, readyReplicas: 0}`},
		"stateful set":                    {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, generation: 2}}`, `[{clusterName: a, status: {generation: 1, observedGeneration: 1, resourceTemplateGeneration: 2, replicas: 2, currentReplicas: 2, readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1, currentRevision: db-1, updateRevision: db-1}}]`, `{observedGeneration: 2, replicas: 2, currentReplicas: 2, readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1, currentRevision: db-1, updateRevision: db-1}`},
		"stateful set, unmodified agent":  {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, generation: 2}}`, `[{clusterName: a, health: Healthy, status: {generation: 1, resourceTemplateGeneration: 2, replicas: 1}}]`, `{observedGeneration: 2, replicas: 1}`},
		"stateful set, that is unhealthy": {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, generation: 2}}`, `[{clusterName: a, health: Unhealthy, status: {generation: 1, resourceTemplateGeneration: 2, replicas: 1}}]`, `{replicas: 1}`},
		"stateful set rolling in one":     {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}}`, `[{clusterName: a, status: {currentRevision: db-2, updateRevision: db-2}}, {clusterName: b, status: {currentRevision: db-1, updateRevision: db-2}}]`, `{currentRevision: db-1, updateRevision: db-2}`},
		"replica set":                     {`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, generation: 1}}`, `[{clusterName: a, status: {generation: 1, observedGeneration: 1, resourceTemplateGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1}}]`, `{observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1}`},
		"daemon set":                      {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds, generation: 1}, status: {numberMisscheduled: 0}}`, `[{clusterName: a, status: {generation: 1, observedGeneration: 1, resourceTemplateGeneration: 1, desiredNumberScheduled: 3, numberReady: 2}}, {clusterName: b, status: {generation: 1, observedGeneration: 1, resourceTemplateGeneration: 1, desiredNumberScheduled: 1, numberReady: 1}}]`, `{observedGeneration: 1, desiredNumberScheduled: 4, numberReady: 3, numberMisscheduled: 0}`},
		"cron job":                        {`{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}}`, `[{clusterName: a, status: {active: [{name: j1}], lastScheduleTime: "2026-01-01T00:00:00Z"}}, {clusterName: b, status: {active: [{name: j2}], lastScheduleTime: "2026-01-02T00:00:00Z", lastSuccessfulTime: "2026-01-01T00:00:00Z"}}]`, `{active: [{name: j1}, {name: j2}], lastScheduleTime: "2026-01-02T00:00:00Z", lastSuccessfulTime: "2026-01-01T00:00:00Z"}`},
		"service":                         {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}, status: {loadBalancer: {}}}`, `[{clusterName: b, status: {loadBalancer: {ingress: [{ip: 192.0.2.2}, {hostname: x.example}]}}}, {clusterName: a, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}, {ip: 192.0.2.2}]}}}, {clusterName: c}]`, `{loadBalancer: {ingress: [{hostname: x.example}, {ip: 192.0.2.1}, {ip: 192.0.2.2}]}}`},
		"service, with the server's default": {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: VIP}]}}}`,
			`[{clusterName: a, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}]`, ``},
		"service that lost its address": {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`, `[{clusterName: a}]`, `{loadBalancer: {}}`},
		"service inside":                {`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP}}`, `[{clusterName: a, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}]`, ``},
		"ingress":                       {`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}}`, `[{clusterName: a, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}]`, `{loadBalancer: {ingress: [{ip: 192.0.2.1}]}}`},
		"pod":                           {`{apiVersion: v1, kind: Pod, metadata: {name: p}}`, `[{clusterName: a, status: {phase: Running, containerStatuses: [{name: c, ready: true}]}}, {clusterName: b, status: {phase: Succeeded, containerStatuses: [{name: c}], initContainerStatuses: [{name: i}]}}]`, `{phase: Running, containerStatuses: [{name: c, ready: true}, {name: c}], initContainerStatuses: [{name: i}]}`},
		"pod without status":            {`{apiVersion: v1, kind: Pod, metadata: {name: p}}`, `[{clusterName: a, status: {phase: Running}}, {clusterName: b}]`, `{phase: Pending}`},
		"pod failed":                    {`{apiVersion: v1, kind: Pod, metadata: {name: p}}`, `[{clusterName: a, status: {phase: Pending}}, {clusterName: b, status: {phase: Failed}}]`, `{phase: Failed}`},
		"pod done":                      {`{apiVersion: v1, kind: Pod, metadata: {name: p}}`, `[{clusterName: a, status: {phase: Succeeded}}]`, `{phase: Succeeded}`},
		"volume":                        {`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}}`, `[{clusterName: a, status: {phase: Bound}}, {clusterName: b, status: {phase: Available}}, {clusterName: c, status: {phase: Released}}]`, `{phase: Available}`},
		"claim":                         {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v}}`, `[{clusterName: a, status: {phase: Bound}}, {clusterName: b, status: {phase: Bound}}]`, `{phase: Bound}`},
		"claim waiting":                 {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v}}`, `[{clusterName: a, status: {phase: Bound}}, {clusterName: b, status: {phase: Pending}}]`, `{phase: Pending}`},
		"claim lost":                    {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v}}`, `[{clusterName: a, status: {phase: Lost}}, {clusterName: b, status: {phase: Pending}}]`, `{phase: Lost}`},
		"budget":                        {`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}}`, `[{clusterName: a, status: {currentHealthy: 1, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1, disruptedPods: {p: "2026-01-01T00:00:00Z"}}}, {clusterName: b, status: {currentHealthy: 1, desiredHealthy: 1, expectedPods: 2}}]`, `{currentHealthy: 2, desiredHealthy: 2, expectedPods: 4, disruptionsAllowed: 1, disruptedPods: {a/p: "2026-01-01T00:00:00Z"}}`},
		"autoscaler":                    {`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}}`, `[{clusterName: a, status: {currentReplicas: 1, desiredReplicas: 2}}, {clusterName: b, status: {currentReplicas: 3, desiredReplicas: 3}}]`, `{currentReplicas: 4, desiredReplicas: 5}`},
	} {
		t.Run(name, func(t *testing.T) {
			template := object(t, c.template)
			before := template.DeepCopy()
			changed, known, err := native.Aggregate(template, items(t, c.items))
			if err != nil || !known {
				t.Fatalf("known %v, %v", known, err)
			}
			same(t, before, template)
			if c.want == "" || changed == nil {
				if c.want != "" || changed != nil {
					t.Fatalf("want %q, got %v", c.want, changed)
				}
				return
			}
			want := before.DeepCopy()
			want.Object["status"] = object(t, `{apiVersion: v1, kind: X, status: `+c.want+`}`).Object["status"]
			same(t, want, changed)
			if again, _, _ := native.Aggregate(changed, items(t, c.items)); again != nil {
				t.Errorf("the result is not stable: %v", again.Object["status"])
			}
		})
	}
}

func TestAggregateUnknownAndBroken(t *testing.T) {
	if _, known, err := native.Aggregate(object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`), nil); known || err != nil {
		t.Errorf("a kind without rule: %v, %v", known, err)
	}
	broken := []workv1alpha2.AggregatedStatusItem{{ClusterName: "a", Status: &runtime.RawExtension{Raw: []byte(`[]`)}}}
	if _, _, err := native.Aggregate(object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}`), broken); err == nil {
		t.Error("a status that is no object passed")
	}
}

func TestAggregateJob(t *testing.T) {
	done := func(kind, at string) string {
		return `conditions: [{type: ` + kind + `, status: "True", lastTransitionTime: "` + at + `"}]`
	}
	const early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
	for name, c := range map[string]struct{ status, items, want string }{
		"running": {`{}`, `[{clusterName: a, status: {active: 2, succeeded: 1, startTime: "` + late + `"}}, {clusterName: b, status: {active: 1, startTime: "` + early + `"}}]`,
			`{active: 3, succeeded: 1, startTime: "` + early + `"}`},
		"one has not begun": {`{}`, `[{clusterName: a, status: {active: 2, startTime: "` + late + `"}}, {clusterName: b, status: {active: 1}}, {clusterName: c}]`,
			`{active: 3}`},
		"begun before the one that is told": {`{startTime: "` + late + `"}`, `[{clusterName: a, status: {active: 2, startTime: "` + late + `"}}, {clusterName: b, status: {active: 1, startTime: "` + early + `"}}]`,
			`{active: 3, startTime: "` + late + `"}`}, // the server would refuse another one
		"complete in one": {`{startTime: "` + early + `"}`, `[{clusterName: a, status: {succeeded: 1, completionTime: "` + late + `", ` + done("Complete", late) + `}}, {clusterName: b, status: {active: 1}}]`,
			`{active: 1, succeeded: 1, startTime: "` + early + `"}`},
		"complete in all": {`{active: 1, startTime: "` + early + `"}`, `[{clusterName: a, status: {succeeded: 1, completionTime: "` + late + `", ` + done("Complete", late) + `}}, {clusterName: b, status: {succeeded: 2, completionTime: "` + early + `", ` + done("Complete", early) + `}}]`,
			`{succeeded: 3, startTime: "` + early + `", completionTime: "` + late + `", conditions: [
			  {type: SuccessCriteriaMet, status: "True", reason: Completed, message: The job is complete in every cluster., lastProbeTime: "` + late + `", lastTransitionTime: "` + late + `"},
			  {type: Complete, status: "True", reason: Completed, message: The job is complete in every cluster., lastProbeTime: "` + late + `", lastTransitionTime: "` + late + `"}]}`},
		"failed in two": {`{}`, `[{clusterName: a, status: {failed: 1, startTime: "` + early + `", ` + done("Failed", early) + `}}, {clusterName: b, status: {active: 1, startTime: "` + early + `"}}, {clusterName: c, status: {failed: 2, ` + done("Failed", late) + `}}]`,
			`{failed: 3, startTime: "` + early + `", conditions: [
			  {type: FailureTarget, status: "True", reason: JobFailed, message: "The job failed in: a, c", lastProbeTime: "` + late + `", lastTransitionTime: "` + late + `"},
			  {type: Failed, status: "True", reason: JobFailed, message: "The job failed in: a, c", lastProbeTime: "` + late + `", lastTransitionTime: "` + late + `"}]}`},
		"failed before one began": {`{}`, `[{clusterName: a, status: {failed: 1, startTime: "` + early + `", ` + done("Failed", late) + `}}, {clusterName: b}]`,
			`{failed: 1, startTime: "` + early + `", conditions: [
			  {type: FailureTarget, status: "True", reason: JobFailed, message: "The job failed in: a", lastProbeTime: "` + late + `", lastTransitionTime: "` + late + `"},
			  {type: Failed, status: "True", reason: JobFailed, message: "The job failed in: a", lastProbeTime: "` + late + `", lastTransitionTime: "` + late + `"}]}`},
		"counters do not go down": {`{succeeded: 2, failed: 1, startTime: "` + early + `"}`, `[{clusterName: a, status: {succeeded: 1, active: 1, startTime: "` + late + `"}}]`,
			`{active: 1, succeeded: 2, failed: 1, startTime: "` + early + `"}`},
		"finished": {`{succeeded: 1, ` + done("Complete", early) + `}`, `[{clusterName: a, status: {active: 1}}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			job := object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: `+c.status+`}`)
			changed, _, err := native.Aggregate(job, items(t, c.items))
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if changed != nil {
					t.Errorf("changed to %v", changed.Object)
				}
				return
			}
			if changed == nil {
				t.Fatal("not changed")
			}
			want := object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: `+c.want+`}`)
			same(t, want, changed)
		})
	}
}

func TestReplicas(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"deployment":          {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {replicas: 4, template: {spec: {containers: [{name: c}]}}}}`, `[4,null,true]`},
		"deployment of one":   {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {}}}}`, `[1,null,true]`},
		"stateful set of nil": {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: 0}}`, `[0,null,true]`},
		"job":                 {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: 3, completions: 5, template: {}}}`, `[3,null,true]`},
		"job of one":          {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}}`, `[1,null,true]`},
		"pod":                 {`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {priorityClassName: high, containers: [{name: c}]}}`, `[1,{"namespace":"shop","priorityClassName":"high"},true]`},
		"daemon set":          {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}}`, `[0,null,false]`},
		"config map":          {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, `[0,null,false]`},
		"requests": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: shop}
spec:
  replicas: 2
  template:
    spec:
      initContainers: [{name: i, resources: {requests: {memory: 2Gi}}}]
      containers:
      - {name: a, resources: {requests: {cpu: 100m, memory: 1Gi}}}
      - {name: b, resources: {requests: {cpu: "1"}}}
      nodeSelector: {disk: ssd}
      tolerations: [{key: gpu, operator: Exists}]
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}, preferredDuringSchedulingIgnoredDuringExecution: []}}`,
			`[2,{"nodeClaim":{"hardNodeAffinity":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]},"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"gpu","operator":"Exists"}]},"resourceRequest":{"cpu":"1100m","memory":"2Gi"},"namespace":"shop"},true]`},
	} {
		n, need, workload, err := native.Replicas(object(t, c.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := json.Marshal([]any{n, need, workload})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, _, _, err := native.Replicas(object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: many}}`)); err == nil {
		t.Error("replicas that are no number passed")
	}
}

func TestRevise(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		known    bool
	}{
		"deployment": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 4}}`, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 9}}`, true},
		"job":        {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 4}}`, `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 4, parallelism: 9}}`, true},
		"pod":        {`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}`, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}`, false},
	} {
		o := object(t, c.in)
		revised, known, err := native.Revise(o, 9)
		if err != nil || known != c.known {
			t.Errorf("%s: known %v, %v", name, known, err)
		}
		same(t, object(t, c.want), revised)
		same(t, object(t, c.in), o)
	}
}

func TestDependencies(t *testing.T) {
	const pod = `
serviceAccountName: runner
imagePullSecrets: [{name: pull}]
initContainers:
- {name: i, env: [{name: A, valueFrom: {configMapKeyRef: {name: init, key: a}}}]}
containers:
- name: c
  env: [{name: A, value: plain}, {name: B, valueFrom: {secretKeyRef: {name: password, key: b}}}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
  envFrom: [{configMapRef: {name: conf}}, {secretRef: {name: password}}]
volumes:
- {name: a, configMap: {name: conf}}
- {name: b, secret: {secretName: certificate}}
- {name: c, persistentVolumeClaim: {claimName: data}}
- {name: d, projected: {sources: [{configMap: {name: projected}}, {secret: {name: token}}, {serviceAccountToken: {path: t}}]}}
- {name: e, emptyDir: {}}
- {name: f, csi: {driver: x, nodePublishSecretRef: {name: driver}}}
- {name: g, persistentVolumeClaim: {claimName: own}}`
	all := []string{"ConfigMap/conf", "ConfigMap/init", "ConfigMap/projected", "PersistentVolumeClaim/data", "PersistentVolumeClaim/own",
		"Secret/certificate", "Secret/driver", "Secret/password", "Secret/pull", "Secret/token", "ServiceAccount/runner"}
	withoutOwn := append(append([]string{}, all[:4]...), all[5:]...)
	spec := object(t, "apiVersion: v1\nkind: X\nspec:\n"+indent(pod)).Object["spec"]
	for name, c := range map[string]struct {
		apiVersion, kind string
		spec             any
		want             []string
	}{
		"deployment":      {"apps/v1", "Deployment", map[string]any{"template": map[string]any{"spec": spec}}, all},
		"daemon set":      {"apps/v1", "DaemonSet", map[string]any{"template": map[string]any{"spec": spec}}, all},
		"job":             {"batch/v1", "Job", map[string]any{"template": map[string]any{"spec": spec}}, all},
		"cron job":        {"batch/v1", "CronJob", map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}}}, all},
		"pod":             {"v1", "Pod", spec, all},
		"stateful set":    {"apps/v1", "StatefulSet", map[string]any{"template": map[string]any{"spec": spec}, "volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "own"}}}}, withoutOwn},
		"default account": {"v1", "Pod", map[string]any{"serviceAccountName": "default"}, nil},
		"ingress":         {"networking.k8s.io/v1", "Ingress", map[string]any{"tls": []any{map[string]any{"secretName": "b"}, map[string]any{"secretName": "a"}, map[string]any{}}}, []string{"Secret/a", "Secret/b"}},
		"service import":  {"multicluster.x-k8s.io/v1alpha1", "ServiceImport", nil, []string{"Service/derived-x", "EndpointSlice/kubernetes.io/service-name=derived-x"}},
		"config map":      {"v1", "ConfigMap", nil, nil},
	} {
		o := object(t, `{apiVersion: `+c.apiVersion+`, kind: `+c.kind+`, metadata: {name: x, namespace: shop}}`)
		if c.spec != nil {
			o.Object["spec"] = c.spec
		}
		list, _, err := native.Dependencies(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, d := range list {
			if d.Namespace != "shop" {
				t.Errorf("%s: namespace %q", name, d.Namespace)
			}
			target := d.Name
			if d.LabelSelector != nil {
				for key, value := range d.LabelSelector.MatchLabels {
					target = key + "=" + value
				}
			}
			got = append(got, d.Kind+"/"+target)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
