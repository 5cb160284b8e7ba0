package pods

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/template"
)

// getters read an object of each kind that has pods.
var getters = map[schema.GroupKind]func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error){
	{Group: appsv1.GroupName, Kind: "Deployment"}: func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error) {
		return c.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	},
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error) {
		return c.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	},
	{Group: appsv1.GroupName, Kind: "DaemonSet"}: func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error) {
		return c.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
	},
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}: func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error) {
		return c.AppsV1().ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
	},
	{Group: batchv1.GroupName, Kind: "Job"}: func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error) {
		return c.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	},
	{Group: corev1.GroupName, Kind: "Pod"}: func(ctx context.Context, c kubernetes.Interface, namespace, name string) (client.Object, error) {
		return c.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	},
}

// groupKind is the kind of an object, whatever its version.
func groupKind(ref template.Ref) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

// selectorOf finds the pods of an object, as the object itself says. It is nil
// without a selector, or with one that means everything: it has no pods then.
func selectorOf(object client.Object) (labels.Selector, error) {
	var asked *metav1.LabelSelector
	switch object := object.(type) {
	case *appsv1.Deployment:
		asked = object.Spec.Selector
	case *appsv1.StatefulSet:
		asked = object.Spec.Selector
	case *appsv1.DaemonSet:
		asked = object.Spec.Selector
	case *appsv1.ReplicaSet:
		asked = object.Spec.Selector
	case *batchv1.Job:
		asked = object.Spec.Selector
	}
	if asked == nil || len(asked.MatchLabels)+len(asked.MatchExpressions) == 0 {
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(asked)
	if err != nil {
		return nil, fmt.Errorf("read selector of %s: %w", object.GetName(), err)
	}
	return selector, nil
}

// ownerOf says which of the pods that a selector finds belong to the object:
// labels can be anybody's. Pods of a Deployment belong to its ReplicaSets.
func ownerOf(object client.Object) func(*corev1.Pod) bool {
	_, indirect := object.(*appsv1.Deployment)
	return func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			return false
		}
		if indirect {
			return owner.Kind == "ReplicaSet"
		}
		return owner.UID == object.GetUID()
	}
}

// refusal is why an object's controller cannot make pods; empty: it says nothing.
func refusal(object client.Object) string {
	switch object := object.(type) {
	case *appsv1.Deployment:
		for _, one := range object.Status.Conditions {
			if one.Type == appsv1.DeploymentReplicaFailure && one.Status == corev1.ConditionTrue {
				return one.Message
			}
		}
	case *appsv1.ReplicaSet:
		for _, one := range object.Status.Conditions {
			if one.Type == appsv1.ReplicaSetReplicaFailure && one.Status == corev1.ConditionTrue {
				return one.Message
			}
		}
	}
	return ""
}
