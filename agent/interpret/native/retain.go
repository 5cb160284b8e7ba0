package native

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/apis"
)

// Retain returns desired with those fields of observed that belong to the member
// by the rules of the kind (contract 11.4). RetainMetadata does the rest.
func Retain(desired, observed *unstructured.Unstructured) *unstructured.Unstructured {
	o := desired.DeepCopy()
	if retain := retainers[o.GroupVersionKind().GroupKind()]; retain != nil {
		retain(o, observed)
	}
	return o
}

// RetainMetadata puts into o, which is to replace observed, the metadata of
// every kind that belongs to the member: who it is, who owns it, and labels and
// annotations that the hub never set.
func RetainMetadata(o, observed *unstructured.Unstructured) {
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "finalizers", "ownerReferences"} {
		keep(o, observed, "metadata", field)
	}
	marks := observed.GetAnnotations()
	o.SetLabels(mergeMarks(o.GetLabels(), observed.GetLabels(), marks[apis.ManagedLabelsAnnotation]))
	o.SetAnnotations(mergeMarks(o.GetAnnotations(), marks, marks[apis.ManagedAnnotationsAnnotation]))
}

// mergeMarks returns the labels, or annotations, of the updated object: those
// wanted, and those only the member has, except the ones we set before and now
// want no more. owned is the comma separated list of what we set before.
func mergeMarks(desired, observed map[string]string, owned string) map[string]string {
	merged := maps.Clone(observed)
	if merged == nil {
		merged = map[string]string{}
	}
	for key := range strings.SplitSeq(owned, ",") {
		delete(merged, key)
	}
	maps.Copy(merged, desired)
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// retainers keep fields of native kinds: what the member's own controllers have
// decided, and what cannot be changed.
var retainers = map[schema.GroupKind]func(o, observed *unstructured.Unstructured){
	{Group: "apps", Kind: "Deployment"}: func(o, observed *unstructured.Unstructured) {
		if o.GetLabels()[apis.RetainReplicasLabel] == apis.LabelTrue {
			keep(o, observed, "spec", "replicas")
		}
	},
	{Group: "batch", Kind: "Job"}: func(o, observed *unstructured.Unstructured) {
		keep(o, observed, "spec", "selector", "matchLabels")
		keep(o, observed, "spec", "template", "metadata", "labels")
	},
	{Kind: "Namespace"}: func(o, observed *unstructured.Unstructured) {
		keep(o, observed, "spec", "finalizers")
	},
	{Kind: "PersistentVolume"}: func(o, observed *unstructured.Unstructured) {
		keep(o, observed, "spec", "claimRef")
	},
	{Kind: "PersistentVolumeClaim"}: func(o, observed *unstructured.Unstructured) {
		keep(o, observed, "spec", "volumeName")
		fill(o, observed, "spec", "storageClassName") // chosen by the member if the hub did not
		fill(o, observed, "spec", "volumeMode")
	},
	{Kind: "Pod"}:            retainPod,
	{Kind: "Secret"}:         retainSecret,
	{Kind: "Service"}:        retainService,
	{Kind: "ServiceAccount"}: retainServiceAccount,
}

func retainPod(o, observed *unstructured.Unstructured) {
	for _, field := range []string{"nodeName", "serviceAccountName", "serviceAccount", "volumes"} {
		keep(o, observed, "spec", field)
	}
	for _, field := range []string{"containers", "initContainers"} {
		wanted, _, _ := unstructured.NestedSlice(o.Object, "spec", field)
		running, _, _ := unstructured.NestedSlice(observed.Object, "spec", field)
		for _, w := range wanted {
			i := slices.IndexFunc(running, func(r any) bool { return sameName(r, w) })
			if i < 0 {
				continue
			}
			if mounts, ok := running[i].(map[string]any)["volumeMounts"]; ok {
				w.(map[string]any)["volumeMounts"] = mounts
			}
		}
		if len(wanted) > 0 {
			_ = unstructured.SetNestedSlice(o.Object, wanted, "spec", field)
		}
	}
}

func retainSecret(o, observed *unstructured.Unstructured) {
	if observed.Object["type"] == "kubernetes.io/service-account-token" {
		keep(o, observed, "data")
	}
}

func retainService(o, observed *unstructured.Unstructured) {
	fill(o, observed, "spec", "healthCheckNodePort")
	switch kind, _, _ := unstructured.NestedString(o.Object, "spec", "type"); kind {
	case "", "ClusterIP", "NodePort", "LoadBalancer":
		if ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); ip != "None" {
			keep(o, observed, "spec", "clusterIP")
			keep(o, observed, "spec", "clusterIPs")
		}
	}
}

// retainServiceAccount unites the references of both sides: the member adds its
// own.
func retainServiceAccount(o, observed *unstructured.Unstructured) {
	for _, field := range []string{"secrets", "imagePullSecrets"} {
		united, _, _ := unstructured.NestedSlice(o.Object, field)
		theirs, _, _ := unstructured.NestedSlice(observed.Object, field)
		for _, ref := range theirs {
			if !slices.ContainsFunc(united, func(u any) bool { return sameName(u, ref) }) {
				united = append(united, ref)
			}
		}
		if len(united) > 0 {
			_ = unstructured.SetNestedSlice(o.Object, united, field)
		}
	}
}

func sameName(a, b any) bool {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	return okX && okY && x["name"] == y["name"]
}

// keep makes a field what it is in the member: its value there, or absent.
func keep(o, observed *unstructured.Unstructured, path ...string) {
	value, ok, err := unstructured.NestedFieldCopy(observed.Object, path...)
	if err != nil {
		return
	}
	if !ok {
		unstructured.RemoveNestedField(o.Object, path...)
		return
	}
	_ = unstructured.SetNestedField(o.Object, value, path...) // fails only if o has another shape; the server will say so
}

// fill keeps a field of the member that the desired object leaves open.
func fill(o, observed *unstructured.Unstructured, path ...string) {
	if _, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...); !ok {
		keep(o, observed, path...)
	}
}
