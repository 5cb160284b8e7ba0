package native

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resources "k8s.io/component-helpers/resource"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// replicaFields say where a kind keeps the number of its replicas.
var replicaFields = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}:  {"spec", "replicas"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "replicas"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "replicas"},
	{Group: "batch", Kind: "Job"}:        {"spec", "parallelism"},
}

// Replicas returns how many replicas an object has and what one of them needs.
// workload is false for kinds without replicas.
func Replicas(o *unstructured.Unstructured) (n int32, need *workv1alpha2.ReplicaRequirements, workload bool, err error) {
	kind := o.GroupVersionKind().GroupKind()
	count := int64(1)
	field, ok := replicaFields[kind]
	switch {
	case ok:
		value, found, err := unstructured.NestedInt64(o.Object, field...)
		if err != nil {
			return 0, nil, true, fmt.Errorf("read the replicas: %w", err)
		}
		if found {
			count = value
		}
	case kind != schema.GroupKind{Kind: "Pod"}:
		return 0, nil, false, nil
	}
	template, _, err := podTemplate(o)
	if err != nil {
		return 0, nil, true, err
	}
	return int32(count), PodRequirements(template, o.GetNamespace()), true, nil
}

// Revise returns a copy of an object with another number of replicas. known is
// false, and the copy unchanged, for kinds without such a field.
func Revise(o *unstructured.Unstructured, replicas int32) (revised *unstructured.Unstructured, known bool, err error) {
	revised = o.DeepCopy()
	field, ok := replicaFields[o.GroupVersionKind().GroupKind()]
	if !ok {
		return revised, false, nil
	}
	if err := unstructured.SetNestedField(revised.Object, int64(replicas), field...); err != nil {
		return nil, true, fmt.Errorf("set the replicas: %w", err)
	}
	return revised, true, nil
}

// PodRequirements returns what a pod of a template asks for, nil if it asks for
// nothing in particular.
func PodRequirements(template *corev1.PodTemplateSpec, namespace string) *workv1alpha2.ReplicaRequirements {
	need := &workv1alpha2.ReplicaRequirements{Namespace: namespace, PriorityClassName: template.Spec.PriorityClassName}
	claim := &workv1alpha2.NodeClaim{NodeSelector: template.Spec.NodeSelector, Tolerations: template.Spec.Tolerations}
	if a := template.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		claim.HardNodeAffinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if claim.HardNodeAffinity != nil || len(claim.NodeSelector) > 0 || len(claim.Tolerations) > 0 {
		need.NodeClaim = claim
	}
	if requests := resources.PodRequests(&corev1.Pod{Spec: template.Spec}, resources.PodResourcesOptions{}); len(requests) > 0 {
		need.ResourceRequest = requests
	}
	if need.NodeClaim == nil && need.ResourceRequest == nil && need.PriorityClassName == "" {
		return nil
	}
	return need
}

// podTemplates say where a kind keeps its pod template.
var podTemplates = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template"},
	{Group: "batch", Kind: "Job"}:        {"spec", "template"},
	{Group: "batch", Kind: "CronJob"}:    {"spec", "jobTemplate", "spec", "template"},
	{Kind: "ReplicationController"}:      {"spec", "template"},
	{Kind: "Pod"}:                        {},
}

// podTemplate returns a typed copy of the pod template of an object. known is
// false for kinds without one.
func podTemplate(o *unstructured.Unstructured) (template *corev1.PodTemplateSpec, known bool, err error) {
	path, ok := podTemplates[o.GroupVersionKind().GroupKind()]
	if !ok {
		return nil, false, nil
	}
	fields := o.Object
	if len(path) > 0 {
		if fields, _, err = unstructured.NestedMap(o.Object, path...); err != nil {
			return nil, true, fmt.Errorf("read the pod template: %w", err)
		}
	}
	template = &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, template); err != nil {
		return nil, true, fmt.Errorf("read the pod template: %w", err)
	}
	return template, true, nil
}
