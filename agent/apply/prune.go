package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serverMetadata are fields of metadata that a server fills in.
var serverMetadata = []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid", "ownerReferences", "finalizers"}

// jobLabels are set by the job controller on a Job's pods, and in its selector.
var jobLabels = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}

// Prune removes from an object what the server of the cluster it came from has
// put there, so that the rest can be compared with, or sent to, another one
// (contract 11.2). It changes the object.
func Prune(o *unstructured.Unstructured) {
	for _, field := range serverMetadata {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	delete(o.Object, "status")
	if prune := pruners[o.GroupVersionKind().GroupKind()]; prune != nil {
		prune(o)
	}
}

var pruners = map[schema.GroupKind]func(*unstructured.Unstructured){
	{Group: "apps", Kind: "Deployment"}: pruneDeployment,
	{Group: "batch", Kind: "Job"}:       pruneJob,
	{Kind: "ServiceAccount"}:            pruneServiceAccount,
	{Kind: "Service"}:                   pruneService,
	{Kind: "Secret"}:                    pruneSecret,
	{Kind: "PersistentVolumeClaim"}:     prunePersistentVolumeClaim,
}

func pruneDeployment(o *unstructured.Unstructured) {
	removeAnnotations(o, "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history")
}

func pruneJob(o *unstructured.Unstructured) {
	unstructured.RemoveNestedField(o.Object, "spec", "ttlSecondsAfterFinished")
	if manual, _, _ := unstructured.NestedBool(o.Object, "spec", "manualSelector"); manual {
		return
	}
	for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
		for _, label := range jobLabels {
			unstructured.RemoveNestedField(o.Object, append(path[:len(path):len(path)], label)...)
		}
		removeEmpty(o.Object, path)
	}
	removeEmpty(o.Object, []string{"spec", "selector"})
}

// pruneServiceAccount drops references to the token Secrets that old clusters
// made for every account.
func pruneServiceAccount(o *unstructured.Unstructured) {
	secrets, ok, _ := unstructured.NestedSlice(o.Object, "secrets")
	if !ok {
		return
	}
	kept := make([]any, 0, len(secrets))
	for _, s := range secrets {
		if ref, ok := s.(map[string]any); ok {
			if name, _ := ref["name"].(string); strings.HasPrefix(name, o.GetName()+"-token-") {
				continue
			}
		}
		kept = append(kept, s)
	}
	if len(kept) == 0 {
		delete(o.Object, "secrets")
		return
	}
	o.Object["secrets"] = kept
}

func pruneService(o *unstructured.Unstructured) {
	if ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); ip == "None" {
		return // headless on purpose
	}
	unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
}

func pruneSecret(o *unstructured.Unstructured) {
	if o.Object["type"] != "kubernetes.io/service-account-token" {
		return
	}
	delete(o.Object, "data")
	removeAnnotations(o, "kubernetes.io/service-account.uid")
}

func prunePersistentVolumeClaim(o *unstructured.Unstructured) {
	removeAnnotations(o, "volume.kubernetes.io/selected-node")
}

func removeAnnotations(o *unstructured.Unstructured, keys ...string) {
	for _, key := range keys {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", key)
	}
	removeEmpty(o.Object, []string{"metadata", "annotations"})
}

// removeEmpty removes a map that has nothing left in it.
func removeEmpty(fields map[string]any, path []string) {
	if m, ok, _ := unstructured.NestedFieldNoCopy(fields, path...); ok {
		if m, ok := m.(map[string]any); ok && len(m) == 0 {
			unstructured.RemoveNestedField(fields, path...)
		}
	}
}
