package inventory

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Requests returns what a pod asks for: its containers, sidecars and overhead as
// the scheduler counts them. The list is the caller's to change.
func Requests(p *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
}

// trim reduces nodes and pods to what the sums need, before they are stored: a
// large member has tens of thousands of pods. It may see its own result again.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		requests := Requests(o)
		return &corev1.Pod{
			ObjectMeta: name(o.ObjectMeta),
			Spec: corev1.PodSpec{NodeName: o.Spec.NodeName, Containers: []corev1.Container{{
				Resources: corev1.ResourceRequirements{Requests: requests}}}},
			Status: corev1.PodStatus{Phase: o.Status.Phase},
		}, nil
	case *corev1.Node:
		n := &corev1.Node{ObjectMeta: name(o.ObjectMeta), Status: corev1.NodeStatus{Allocatable: o.Status.Allocatable}}
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.NodeReady {
				n.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
			}
		}
		return n, nil
	}
	return object, nil
}

func name(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// counts says whether the change from one trimmed object to another changes any
// sum. Most updates of pods and nodes do not.
func counts(before, after any) bool {
	switch a := after.(type) {
	case *corev1.Pod:
		b, ok := before.(*corev1.Pod)
		return !ok || a.Spec.NodeName != b.Spec.NodeName || ended(a) != ended(b) || a.UID != b.UID ||
			!equality.Semantic.DeepEqual(a.Spec.Containers, b.Spec.Containers)
	case *corev1.Node:
		b, ok := before.(*corev1.Node)
		return !ok || !equality.Semantic.DeepEqual(a.Status, b.Status)
	}
	return true
}
