package work

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/apis"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/override"
)

// codeAlphabet are the characters of the code in a Work's name.
const codeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// Name is the name of the Work that carries an object, as clients compute it
// (contract section 3.2). namespace is empty for kinds without namespaces.
func Name(namespace, name, kind string) string {
	name = strings.ReplaceAll(strings.ToLower(name), ":", ".") // first: the code is that of the name as it is shown
	key := name + "-" + kind
	if namespace != "" {
		key = namespace + "-" + key
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(strings.ToLower(key))) // never fails
	digits := []byte(strconv.FormatUint(uint64(sum.Sum32()), 10))
	for i, digit := range digits {
		digits[i] = codeAlphabet[int(digit)%len(codeAlphabet)]
	}
	return name + "-" + string(digits)
}

// Task is what a cluster is to get: everything of a Work but its permanent id,
// which a stored Work already has.
type Task struct {
	Cluster string
	Form    *Form
	// Labels and Annotations are added to those of others.
	Labels, Annotations map[string]string
	// Owners replace those that the Work has, unless nil.
	Owners []metav1.OwnerReference
	// Suspend and Preserve are nil for Works that belong to no binding.
	Suspend, Preserve *bool
	// Known is the Work as it was last written, for the time until the cache knows
	// it. Send sets it.
	Known *workv1alpha1.Work

	// dropped are annotations of ours that must not stay on a stored Work.
	dropped []string
}

// NoteOverrides records on the Work what was applied to its object.
func (t *Task) NoteOverrides(cluster, namespaced []override.Applied) error {
	for _, note := range []struct {
		annotation string
		applied    []override.Applied
	}{{policyv1alpha1.AppliedClusterOverridesAnnotation, cluster}, {policyv1alpha1.AppliedOverridesAnnotation, namespaced}} {
		if len(note.applied) == 0 {
			t.dropped = append(t.dropped, note.annotation)
			continue
		}
		encoded, err := json.Marshal(note.applied)
		if err != nil {
			return fmt.Errorf("encode the overrides of work %s: %w", t.Form.name, err)
		}
		if t.Annotations == nil {
			t.Annotations = map[string]string{}
		}
		t.Annotations[note.annotation] = string(encoded)
	}
	return nil
}

// Key is the Work's namespace and name.
func (t *Task) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: apis.ExecutionSpace(t.Cluster), Name: t.Form.name}
}

// Made is the Work as it is created. It has its permanent id from the start: then
// the stored Work is what we wrote, and comparing it needs no guess at what the
// hub's admission does.
func (t *Task) Made() (*workv1alpha1.Work, error) {
	key := t.Key()
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return work, t.Complete(work, string(uuid.NewUUID()))
}

// Changed is the stored Work as it should be, nil if it is so already.
func (t *Task) Changed(stored *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	id := stored.Labels[workv1alpha1.WorkPermanentIDLabel]
	if id == "" {
		id = string(uuid.NewUUID())
	}
	// A deep copy would copy the manifest, which is about to be replaced.
	work := &workv1alpha1.Work{TypeMeta: stored.TypeMeta, ObjectMeta: *stored.ObjectMeta.DeepCopy(), Status: stored.Status}
	if err := t.Complete(work, id); err != nil {
		return nil, err
	}
	if sameWork(stored, work) {
		return nil, nil
	}
	return work, nil
}

// Complete writes the task into a Work with a permanent id. Labels and annotations of others stay.
func (t *Task) Complete(work *workv1alpha1.Work, id string) error {
	raw, err := t.Form.manifest(work.Namespace, id)
	if err != nil {
		return err
	}
	work.Labels = with(work.Labels, t.Labels)
	work.Labels[workv1alpha1.WorkPermanentIDLabel] = id
	if annotations := with(work.Annotations, t.Annotations); len(annotations) > 0 {
		maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(t.dropped, key) })
		work.Annotations = annotations
	}
	if t.Owners != nil {
		work.OwnerReferences = t.Owners
	}
	if !slices.Contains(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
		work.Finalizers = append(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer)
	}
	work.Spec = workv1alpha1.WorkSpec{
		Workload:           workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}},
		SuspendDispatching: t.Suspend, PreserveResourcesOnDeletion: t.Preserve,
	}
	return nil
}

// same says that two Works of one name ask for the same, down to the last
// mark of their manifests.
func sameWork(a, b *workv1alpha1.Work) bool {
	return sameMaps(a.Labels, b.Labels) && sameMaps(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) &&
		ptr.Equal(a.Spec.SuspendDispatching, b.Spec.SuspendDispatching) &&
		ptr.Equal(a.Spec.PreserveResourcesOnDeletion, b.Spec.PreserveResourcesOnDeletion) &&
		slices.EqualFunc(a.Spec.Workload.Manifests, b.Spec.Workload.Manifests, sameManifest)
}

func sameMaps(a, b map[string]string) bool { return len(a) == len(b) && maps.Equal(a, b) }

// sameManifest compares the bytes first: they are equal unless somebody else
// wrote the Work.
func sameManifest(a, b workv1alpha1.Manifest) bool {
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var first, second map[string]any
	return utiljson.Unmarshal(a.Raw, &first) == nil && utiljson.Unmarshal(b.Raw, &second) == nil && equality.Semantic.DeepEqual(first, second)
}

// OwnedBy is the reference of what goes with its owner.
func OwnedBy(apiVersion, kind string, owner metav1.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
}
