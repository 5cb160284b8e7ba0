package eviction

import (
	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// Reasons of Events about bindings and their templates (contract section 3.8).
const (
	eventEvicted      = "EvictWorkloadFromClusterSucceed"
	eventEvictionFail = "EvictWorkloadFromClusterFailed"
)

// tell makes an Event on a binding, and on its template, where people look.
func (r *BindingReconciler) tell(b workv1alpha2.Binding, kind, reason, note string) {
	of := b.BindingSpec().Resource
	template := &corev1.ObjectReference{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID}
	kube.Tell(r.events, b, kind, reason, "Evict", note)
	kube.Tell(r.events, template, kind, reason, "Evict", note)
}
