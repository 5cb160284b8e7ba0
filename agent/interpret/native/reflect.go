package native

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/apis"
)

// MaxReflected bounds, in bytes, the status taken over from one object.
const MaxReflected = 128 << 10

// Reflect returns the part of a member object's status that the hub is told, nil
// if there is none (contract 11.5). Workloads get the generation that was applied
// and that of the hub's template beside it, so that the hub can tell a stale
// status from a fresh one. A status above 128 KiB is left out.
func Reflect(o *unstructured.Unstructured) *runtime.RawExtension {
	pick, ok := reflectors[o.GroupVersionKind().GroupKind()]
	if !ok {
		pick = func(_ *unstructured.Unstructured, status map[string]any) map[string]any { return status }
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	picked := pick(o, status)
	if len(picked) == 0 {
		return nil
	}
	raw, err := json.Marshal(picked)
	if err != nil || len(raw) > MaxReflected {
		return nil
	}
	return &runtime.RawExtension{Raw: raw}
}

type reflector func(o *unstructured.Unstructured, status map[string]any) map[string]any

var reflectors = map[schema.GroupKind]reflector{
	{Group: "apps", Kind: "Deployment"}: workload("replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"),
	{Group: "apps", Kind: "StatefulSet"}: workload("replicas", "availableReplicas", "currentReplicas", "readyReplicas", "updatedReplicas",
		"currentRevision", "updateRevision"),
	{Group: "apps", Kind: "DaemonSet"}: workload("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
		"updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
	{Group: "apps", Kind: "ReplicaSet"}: workload("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
	{Group: "batch", Kind: "Job"}:       fields("active", "succeeded", "failed", "conditions", "startTime", "completionTime"),
	{Kind: "Service"}: func(o *unstructured.Unstructured, status map[string]any) map[string]any {
		if kind, _, _ := unstructured.NestedString(o.Object, "spec", "type"); kind != "LoadBalancer" {
			return nil
		}
		return only(status, "loadBalancer")
	},
	{Group: "networking.k8s.io", Kind: "Ingress"}: fields("loadBalancer"),
	{Group: "policy", Kind: "PodDisruptionBudget"}: fields("currentHealthy", "desiredHealthy", "disruptedPods", "disruptionsAllowed",
		"expectedPods"),
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: fields("currentReplicas", "desiredReplicas"),
}

// workload reflects fields of a kind that counts replicas, and the generations.
func workload(names ...string) reflector {
	names = append(names, "observedGeneration")
	return func(o *unstructured.Unstructured, status map[string]any) map[string]any {
		picked := only(status, names...)
		if generation := o.GetGeneration(); generation > 0 {
			picked["generation"] = generation
		}
		template, err := strconv.ParseInt(o.GetAnnotations()[apis.TemplateGenerationAnnotation], 10, 64)
		if err == nil && template > 0 {
			picked["resourceTemplateGeneration"] = template
		}
		return picked
	}
}

func fields(names ...string) reflector {
	return func(_ *unstructured.Unstructured, status map[string]any) map[string]any {
		return only(status, names...)
	}
}

// only returns the named fields that have a value; zero is none.
func only(status map[string]any, names ...string) map[string]any {
	picked := map[string]any{}
	for _, name := range names {
		switch value := status[name].(type) {
		case nil:
		case int64:
			if value != 0 {
				picked[name] = value
			}
		case map[string]any:
			if len(value) > 0 {
				picked[name] = value
			}
		default:
			picked[name] = value
		}
	}
	return picked
}
