package template

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// Claim says which policy a template or binding belongs to. On the object it is
// a label, by which everything of a policy is found, and annotations that name
// the policy (contract section 8.2). The zero value is no claim.
type Claim struct {
	// Kind is PropagationPolicy or ClusterPropagationPolicy.
	Kind string
	// Namespace is empty for a ClusterPropagationPolicy.
	Namespace, Name string
	// ID is the policy's permanent id.
	ID string
}

// claimLabels and claimAnnotations are all keys that claims use.
var (
	claimLabels = []string{
		policyv1alpha1.PropagationPolicyPermanentIDLabel,
		policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel,
	}
	claimAnnotations = []string{
		policyv1alpha1.PropagationPolicyNamespaceAnnotation,
		policyv1alpha1.PropagationPolicyNameAnnotation,
		policyv1alpha1.ClusterPropagationPolicyNameAnnotation,
	}
)

// ClaimIn reads the claim that an object carries. That of a PropagationPolicy
// counts before that of a ClusterPropagationPolicy.
func ClaimIn(o metav1.Object) (Claim, bool) {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if id := labels[policyv1alpha1.PropagationPolicyPermanentIDLabel]; id != "" {
		return Claim{
			Kind: policyv1alpha1.ResourceKindPropagationPolicy, ID: id,
			Namespace: annotations[policyv1alpha1.PropagationPolicyNamespaceAnnotation],
			Name:      annotations[policyv1alpha1.PropagationPolicyNameAnnotation],
		}, true
	}
	if id := labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]; id != "" {
		return Claim{
			Kind: policyv1alpha1.ResourceKindClusterPropagationPolicy, ID: id,
			Name: annotations[policyv1alpha1.ClusterPropagationPolicyNameAnnotation],
		}, true
	}
	return Claim{}, false
}

// labels and annotations are the claim as it is written.
func (c Claim) labels() map[string]string {
	switch c.Kind {
	case policyv1alpha1.ResourceKindPropagationPolicy:
		return map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: c.ID}
	case policyv1alpha1.ResourceKindClusterPropagationPolicy:
		return map[string]string{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: c.ID}
	}
	return nil
}

func (c Claim) annotations() map[string]string {
	switch c.Kind {
	case policyv1alpha1.ResourceKindPropagationPolicy:
		return map[string]string{
			policyv1alpha1.PropagationPolicyNamespaceAnnotation: c.Namespace,
			policyv1alpha1.PropagationPolicyNameAnnotation:      c.Name,
		}
	case policyv1alpha1.ResourceKindClusterPropagationPolicy:
		return map[string]string{policyv1alpha1.ClusterPropagationPolicyNameAnnotation: c.Name}
	}
	return nil
}

// Put writes the claim into an object in place of any other; the zero Claim
// takes away what is there.
func (c Claim) Put(o metav1.Object) {
	o.SetLabels(replaced(o.GetLabels(), claimLabels, c.labels()))
	o.SetAnnotations(replaced(o.GetAnnotations(), claimAnnotations, c.annotations()))
}

// Claimed is a template as the policy of its binding claims it, whether or not the
// claim has been written on it by now. The template is not changed.
func Claimed(o *unstructured.Unstructured, binding metav1.Object) *unstructured.Unstructured {
	claim, ok := ClaimIn(binding)
	metadata, has := o.Object["metadata"].(map[string]any)
	if !ok || !has || claim.patchOf(o) == nil {
		return o
	}
	claimed := &unstructured.Unstructured{Object: maps.Clone(o.Object)}
	claimed.Object["metadata"] = maps.Clone(metadata)
	claim.Put(claimed)
	return claimed
}

// replaced returns a copy of a map without some keys, with others put in.
func replaced(old map[string]string, drop []string, put map[string]string) map[string]string {
	changed := maps.Clone(old)
	for _, key := range drop {
		delete(changed, key)
	}
	if changed == nil && len(put) > 0 {
		changed = map[string]string{}
	}
	maps.Copy(changed, put)
	return changed
}

// differs gives, of what the claim says, the values that an object does not have;
// nil stands for a key that must go. It is empty if the object carries the claim
// and no other.
func differs(have map[string]string, keys []string, want map[string]string) map[string]any {
	changes := map[string]any{}
	for _, key := range keys {
		wanted, wants := want[key]
		value, has := have[key]
		switch {
		case wants && (!has || value != wanted):
			changes[key] = wanted
		case !wants && has:
			changes[key] = nil
		}
	}
	return changes
}

// patchOf is what a merge patch must change in an object's metadata so that it
// carries the claim, nil if it does.
func (c Claim) patchOf(o metav1.Object) map[string]any {
	metadata := map[string]any{}
	if labels := differs(o.GetLabels(), claimLabels, c.labels()); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if annotations := differs(o.GetAnnotations(), claimAnnotations, c.annotations()); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if len(metadata) == 0 {
		return nil
	}
	return metadata
}
