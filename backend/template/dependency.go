package template

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// codeAlphabet are the characters of the codes in names and keys.
const codeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// code is a short name for a text, as names and keys on the wire have it (contract
// section 3.2).
func code(text string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(text)) // never fails
	digits := []byte(strconv.FormatUint(uint64(sum.Sum32()), 10))
	for i, digit := range digits {
		digits[i] = codeAlphabet[int(digit)%len(codeAlphabet)]
	}
	return string(digits)
}

// dependedByKey is the label key that a binding brought along by another one
// carries; its value is the other one's permanent id (contract section 3.2).
func dependedByKey(parent types.NamespacedName) string {
	return workv1alpha2.DependedByLabelPrefix + code(parent.String())
}

// dependencies is what the template of a binding needs, as the binding's
// annotation has it; "" stands for nothing.
func dependencies(list []configv1alpha1.DependentObjectReference) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode dependencies: %w", err)
	}
	return string(text), nil
}

// needs says whether a reference means an object.
func needs(reference *configv1alpha1.DependentObjectReference, o *unstructured.Unstructured) bool {
	if reference.APIVersion != o.GetAPIVersion() || reference.Kind != o.GetKind() || reference.Namespace != o.GetNamespace() {
		return false
	}
	if reference.Name != "" {
		return reference.Name == o.GetName()
	}
	if reference.LabelSelector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(reference.LabelSelector)
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}

// attach notes in a binding that another one needs its template, and where.
func attach(b, parent *workv1alpha2.ResourceBinding) {
	snapshot := workv1alpha2.BindingSnapshot{Namespace: parent.Namespace, Name: parent.Name, Clusters: slices.Clone(parent.Spec.Clusters)}
	at := slices.IndexFunc(b.Spec.RequiredBy, isOf(types.NamespacedName{Namespace: parent.Namespace, Name: parent.Name}))
	if at < 0 {
		b.Spec.RequiredBy = append(slices.Clone(b.Spec.RequiredBy), snapshot)
	} else {
		b.Spec.RequiredBy = slices.Clone(b.Spec.RequiredBy)
		b.Spec.RequiredBy[at] = snapshot
	}
	b.Labels = maps.Clone(b.Labels)
	if b.Labels == nil {
		b.Labels = map[string]string{}
	}
	_, id := parent.PermanentID()
	b.Labels[dependedByKey(types.NamespacedName{Namespace: parent.Namespace, Name: parent.Name})] = id
}

// detach takes the note back. The binding stays, even without any (contract
// section 8.3).
func detach(b *workv1alpha2.ResourceBinding, parent types.NamespacedName) {
	b.Spec.RequiredBy = slices.DeleteFunc(slices.Clone(b.Spec.RequiredBy), isOf(parent))
	if len(b.Spec.RequiredBy) == 0 {
		b.Spec.RequiredBy = nil
	}
	b.Labels = maps.Clone(b.Labels)
	delete(b.Labels, dependedByKey(parent))
}

func isOf(parent types.NamespacedName) func(workv1alpha2.BindingSnapshot) bool {
	return func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == parent.Namespace && s.Name == parent.Name
	}
}

// inherit gives a binding that no policy has the settings of those that need it:
// overwriting wins, and so does leaving objects in the members. It says in what
// they disagree, in the words that the field's own test suite looks for.
func inherit(b *workv1alpha2.ResourceBinding, parents []*workv1alpha2.ResourceBinding) (clashes []string) {
	if _, claimed := ClaimIn(b); claimed {
		return nil
	}
	b.Spec.ConflictResolution, b.Spec.PreserveResourcesOnDeletion = policyv1alpha1.ConflictAbort, nil
	if len(parents) == 0 {
		return nil
	}
	overwrite, preserve := 0, 0
	for _, parent := range parents {
		if parent.Spec.ConflictResolution == policyv1alpha1.ConflictOverwrite {
			overwrite++
		}
		if ptr.Deref(parent.Spec.PreserveResourcesOnDeletion, false) {
			preserve++
		}
	}
	if overwrite > 0 {
		b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	}
	b.Spec.PreserveResourcesOnDeletion = ptr.To(preserve > 0)
	if overwrite%len(parents) != 0 {
		clashes = append(clashes, "ConflictResolution conflicted (Overwrite vs Abort)")
	}
	if preserve%len(parents) != 0 {
		clashes = append(clashes, "PreserveResourcesOnDeletion conflicted (true vs false)")
	}
	return clashes
}
