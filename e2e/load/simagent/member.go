package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// inventory is what every member reports of itself.
func (a *agent) inventory() clusterv1alpha1.ClusterStatus {
	now := metav1.Now().Rfc3339Copy()
	condition := func(name, reason string) metav1.Condition {
		return metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: reason, Message: "A simulated member is always well.", LastTransitionTime: now}
	}
	return clusterv1alpha1.ClusterStatus{
		KubernetesVersion: a.options.kubernetes, APIEnablements: enablements,
		Conditions: []metav1.Condition{
			condition(clusterv1alpha1.ClusterConditionCompleteAPIEnablements, clusterv1alpha1.ReasonAPIEnablementsComplete),
			condition(clusterv1alpha1.ClusterConditionReady, clusterv1alpha1.ReasonClusterReady),
		},
		NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 3},
		ResourceSummary: &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("192"), corev1.ResourceMemory: resource.MustParse("768Gi"), corev1.ResourcePods: resource.MustParse("30000"),
		}},
	}
}

// enablements are the kinds that a member serves.
var enablements = []clusterv1alpha1.APIEnablement{
	enabled("apps/v1", "daemonsets DaemonSet", "deployments Deployment", "replicasets ReplicaSet", "statefulsets StatefulSet"),
	enabled("batch/v1", "cronjobs CronJob", "jobs Job"),
	enabled("networking.k8s.io/v1", "ingresses Ingress", "networkpolicies NetworkPolicy"),
	enabled("policy/v1", "poddisruptionbudgets PodDisruptionBudget"),
	enabled("rbac.authorization.k8s.io/v1", "clusterrolebindings ClusterRoleBinding", "clusterroles ClusterRole", "rolebindings RoleBinding", "roles Role"),
	enabled("v1", "configmaps ConfigMap", "namespaces Namespace", "nodes Node", "persistentvolumeclaims PersistentVolumeClaim", "pods Pod",
		"secrets Secret", "serviceaccounts ServiceAccount", "services Service"),
}

func enabled(groupVersion string, kinds ...string) clusterv1alpha1.APIEnablement {
	e := clusterv1alpha1.APIEnablement{GroupVersion: groupVersion}
	for _, words := range kinds {
		for i, c := range words {
			if c == ' ' {
				e.Resources = append(e.Resources, clusterv1alpha1.APIResource{Name: words[:i], Kind: words[i+1:]})
			}
		}
	}
	return e
}

// outcome is the status of a Work whose member has applied it.
func (a *agent) outcome(work *workv1alpha1.Work) ([]metav1.Condition, []workv1alpha1.ManifestStatus) {
	conditions := []metav1.Condition{
		{Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionTrue, ObservedGeneration: work.Generation,
			Reason: workv1alpha1.ReasonDispatching, Message: "The manifests are sent to the cluster."},
		{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: work.Generation,
			Reason: workv1alpha1.ReasonAppliedSuccessful, Message: "All manifests are applied."},
	}
	statuses := make([]workv1alpha1.ManifestStatus, 0, len(work.Spec.Workload.Manifests))
	for i, manifest := range work.Spec.Workload.Manifests {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(manifest.Raw); err != nil {
			conditions[1].Status, conditions[1].Reason, conditions[1].Message = metav1.ConditionFalse, workv1alpha1.ReasonAppliedFailed, err.Error()
			continue
		}
		statuses = append(statuses, a.observe(o, i))
	}
	return conditions, statuses
}

// observe tells of an object as the native interpreter sees it in the member.
func (a *agent) observe(o *unstructured.Unstructured, ordinal int) workv1alpha1.ManifestStatus {
	gvk := o.GroupVersionKind()
	s := workv1alpha1.ManifestStatus{Identifier: workv1alpha1.ResourceIdentifier{
		Ordinal: ordinal, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
	o.SetGeneration(1)
	play(o)
	// The native kinds are interpreted without asking anybody: no error is left out.
	s.Status, _ = a.interpreter.Reflect(context.Background(), o)
	s.Health, _ = a.interpreter.Health(context.Background(), o)
	return s
}

// play does at once what a member's controllers do to workloads.
func play(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet":
		replicas, set, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if !set {
			replicas = 1
		}
		o.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": replicas, "updatedReplicas": replicas,
			"readyReplicas": replicas, "availableReplicas": replicas, "currentReplicas": replicas}
	case "Job":
		o.Object["status"] = map[string]any{"succeeded": int64(1), "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	}
}
