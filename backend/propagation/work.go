package propagation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
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

// clusterWork is a Work that belongs to a Cluster and carries one object without
// a namespace. The hub's admission completes the manifest's metadata.
func clusterWork(cluster *clusterv1alpha1.Cluster, object client.Object, kind string) (*workv1alpha1.Work, error) {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Name:       WorkName("", object.GetName(), kind),
		Namespace:  apis.ExecutionSpace(cluster.Name),
		Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: clusterv1alpha1.ResourceKindCluster,
			Name: cluster.Name, UID: cluster.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}},
	}}
	object.SetLabels(map[string]string{apis.ManagedLabel: apis.LabelTrue, apis.SystemLabel: apis.LabelTrue})
	object.SetAnnotations(map[string]string{
		apis.TemplateUIDAnnotation:           "",
		workv1alpha1.WorkNamespaceAnnotation: work.Namespace,
		workv1alpha1.WorkNameAnnotation:      work.Name,
	})
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode manifest of work %s: %w", work.Name, err)
	}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
	return work, nil
}

// sameTask tells that two Works of one name carry the same objects for the same
// owner. Metadata of manifests is left out: the hub's admission completes it.
func sameTask(a, b *workv1alpha1.Work) bool {
	if !equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) || len(a.Spec.Workload.Manifests) != len(b.Spec.Workload.Manifests) {
		return false
	}
	for i := range a.Spec.Workload.Manifests {
		first, okFirst := withoutMetadata(a.Spec.Workload.Manifests[i].Raw)
		second, okSecond := withoutMetadata(b.Spec.Workload.Manifests[i].Raw)
		if !okFirst || !okSecond || !equality.Semantic.DeepEqual(first, second) {
			return false
		}
	}
	return true
}

func withoutMetadata(raw []byte) (map[string]any, bool) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, false
	}
	delete(object, "metadata")
	return object, true
}
