package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Prune removes from an object what belongs to the cluster it was read from: what its server filled in, its status, and what its
// controllers added to it. It changes the object.
func Prune(object *unstructured.Unstructured) {
	for _, field := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields",
		"resourceVersion", "selfLink", "uid", "ownerReferences", "finalizers"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	if prune, ok := pruners[object.GroupVersionKind().GroupKind()]; ok {
		prune(object)
	}
}

var pruners = map[schema.GroupKind]func(*unstructured.Unstructured){
	{Group: "apps", Kind: "Deployment"}: func(object *unstructured.Unstructured) {
		removeAnnotations(object, "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history")
	},
	{Kind: "PersistentVolumeClaim"}: func(object *unstructured.Unstructured) {
		removeAnnotations(object, "volume.kubernetes.io/selected-node")
	},
	{Group: "batch", Kind: "Job"}: pruneJob,
	{Kind: "Secret"}:              pruneSecret,
	{Kind: "Service"}:             pruneService,
	{Kind: "ServiceAccount"}:      pruneServiceAccount,
}

// pruneJob removes the selector that the job controller generated, unless the user asked to write it himself, and the time to live: the
// hub's own Job would be gone before the members' are done.
func pruneJob(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "spec", "ttlSecondsAfterFinished")
	if manual, _, _ := unstructured.NestedBool(object.Object, "spec", "manualSelector"); manual {
		return
	}
	for _, label := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"} {
		unstructured.RemoveNestedField(object.Object, "spec", "selector", "matchLabels", label)
		unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "labels", label)
	}
	removeEmpty(object, "spec", "selector", "matchLabels")
	removeEmpty(object, "spec", "selector")
	removeEmpty(object, "spec", "template", "metadata", "labels")
}

// pruneSecret removes the token of a service account, which is good in its own cluster only.
func pruneSecret(object *unstructured.Unstructured) {
	if kind, _, _ := unstructured.NestedString(object.Object, "type"); kind != string(corev1.SecretTypeServiceAccountToken) {
		return
	}
	unstructured.RemoveNestedField(object.Object, "data")
	removeAnnotations(object, corev1.ServiceAccountUIDKey)
}

// pruneService removes the allocated addresses; a headless service stays headless.
func pruneService(object *unstructured.Unstructured) {
	if address, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); address == corev1.ClusterIPNone {
		return
	}
	unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
}

// pruneServiceAccount removes references to the token Secrets that its cluster generated for it.
func pruneServiceAccount(object *unstructured.Unstructured) {
	secrets, ok := object.Object["secrets"].([]any)
	if !ok {
		return
	}
	generated := object.GetName() + "-token-"
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(secret any) bool {
		reference, _ := secret.(map[string]any)
		name, _ := reference["name"].(string)
		return strings.HasPrefix(name, generated)
	})
	object.Object["secrets"] = secrets
	if len(secrets) == 0 {
		delete(object.Object, "secrets")
	}
}

func removeAnnotations(object *unstructured.Unstructured, keys ...string) {
	for _, key := range keys {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", key)
	}
	removeEmpty(object, "metadata", "annotations")
}

// removeEmpty removes the map at a path when nothing is left in it.
func removeEmpty(object *unstructured.Unstructured, path ...string) {
	value, ok, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	if fields, isMap := value.(map[string]any); ok && isMap && len(fields) == 0 {
		unstructured.RemoveNestedField(object.Object, path...)
	}
}
