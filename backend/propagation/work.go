package propagation

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
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/override"
)

// codeAlphabet are the characters of the code in a Work's name.
const codeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// WorkName is the name of the Work that carries an object, as clients compute it
// (contract section 3.2). namespace is empty for kinds without namespaces.
func WorkName(namespace, name, kind string) string {
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
	return strings.ReplaceAll(strings.ToLower(name), ":", ".") + "-" + string(digits)
}

// task is what a cluster is to get: everything of a Work but its permanent id,
// which a stored Work already has.
type task struct {
	cluster             string
	form                *form
	labels, annotations map[string]string
	// dropped are annotations of ours that must not stay on a stored Work.
	dropped []string
	owners  []metav1.OwnerReference
	// suspend and preserve are nil for Works that belong to no binding.
	suspend, preserve *bool
}

// task returns what a target of the binding is to get.
func (r *Renderer) task(target Target, rendered *Rendered) (*task, error) {
	spec := r.source.Binding.BindingSpec()
	key, id := r.source.Binding.PermanentID()
	t := &task{
		cluster: target.Cluster, form: &rendered.form,
		labels: map[string]string{key: id}, annotations: backReference(r.source.Binding),
		suspend:  ptr.To(suspended(spec, target.Cluster)),
		preserve: ptr.To(ptr.Deref(spec.PreserveResourcesOnDeletion, false)),
	}
	t.annotations[workv1alpha1.ConflictResolutionAnnotation] = rendered.form.annotations[workv1alpha1.ConflictResolutionAnnotation]
	return t, t.noteOverrides(rendered.Cluster, rendered.Namespaced)
}

// noteOverrides records on the Work what was applied to its object.
func (t *task) noteOverrides(cluster, namespaced []override.Applied) error {
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
			return fmt.Errorf("encode the overrides of work %s: %w", t.form.work, err)
		}
		if t.annotations == nil {
			t.annotations = map[string]string{}
		}
		t.annotations[note.annotation] = string(encoded)
	}
	return nil
}

func (t *task) namespace() string { return apis.ExecutionSpace(t.cluster) }

// made is the Work as it is created. It has its permanent id from the start: then
// the stored Work is what we wrote, and comparing it needs no guess at what the
// hub's admission does.
func (t *task) made() (*workv1alpha1.Work, error) {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: t.form.work}}
	return work, t.complete(work, string(uuid.NewUUID()))
}

// changed is the stored Work as it should be, nil if it is so already.
func (t *task) changed(stored *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	id := stored.Labels[workv1alpha1.WorkPermanentIDLabel]
	if id == "" {
		id = string(uuid.NewUUID())
	}
	// A deep copy would copy the manifest, which is about to be replaced.
	work := &workv1alpha1.Work{TypeMeta: stored.TypeMeta, ObjectMeta: *stored.ObjectMeta.DeepCopy(), Status: stored.Status}
	if err := t.complete(work, id); err != nil {
		return nil, err
	}
	if sameWork(stored, work) {
		return nil, nil
	}
	return work, nil
}

// complete writes the task into a Work. Labels and annotations of others stay.
func (t *task) complete(work *workv1alpha1.Work, id string) error {
	raw, err := t.form.manifest(work.Namespace, id)
	if err != nil {
		return err
	}
	work.Labels = with(work.Labels, t.labels)
	work.Labels[workv1alpha1.WorkPermanentIDLabel] = id
	if annotations := with(work.Annotations, t.annotations); len(annotations) > 0 {
		maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(t.dropped, key) })
		work.Annotations = annotations
	}
	if t.owners != nil {
		work.OwnerReferences = t.owners
	}
	if !slices.Contains(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
		work.Finalizers = append(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer)
	}
	work.Spec = workv1alpha1.WorkSpec{
		Workload:           workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}},
		SuspendDispatching: t.suspend, PreserveResourcesOnDeletion: t.preserve,
	}
	return nil
}

// sameWork says that two Works of one name ask for the same, down to the last
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

// ownedBy is the reference of what goes with its owner.
func ownedBy(apiVersion, kind string, owner metav1.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
}

// clusterTask is a task that belongs to a Cluster and carries one object without
// a namespace.
func clusterTask(cluster *clusterv1alpha1.Cluster, object any, kind string) (*task, error) {
	o, err := unstructuredOf(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s for cluster %s: %w", kind, cluster.Name, err)
	}
	f, err := newForm(o, systemMarks("", apis.SystemLabel))
	if err != nil {
		return nil, err
	}
	return &task{cluster: cluster.Name, form: &f, owners: ownedBy(clusterv1alpha1.GroupVersion.String(), clusterv1alpha1.ResourceKindCluster, cluster)}, nil
}
