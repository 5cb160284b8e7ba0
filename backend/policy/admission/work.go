package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"

	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// admitWork identifies a Work and prepares its manifests, on every write: an agent creates and updates Works too, and relies on it.
func (a *Admission) admitWork(attributes admission.Attributes) error {
	work, ok := attributes.GetObject().(*workv1alpha1.Work)
	if !ok {
		return nil
	}
	id := work.Labels[workv1alpha1.WorkPermanentIDLabel]
	if id == "" {
		id = a.newID()
		setLabel(work, workv1alpha1.WorkPermanentIDLabel, id)
	}
	for i := range work.Spec.Workload.Manifests {
		if err := prepareManifest(&work.Spec.Workload.Manifests[i], id); err != nil {
			return err
		}
	}
	return nil
}

// prepareManifest prunes and marks a manifest. Writing it back sorts its keys, so that equal manifests are equal bytes and do not raise
// the generation. What is no object is left to validation.
func prepareManifest(m *workv1alpha1.Manifest, workID string) error {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(m.Raw, &object.Object); err != nil || object.Object == nil {
		return nil
	}
	manifest.Prune(object)
	manifest.Mark(object, workID)
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return fmt.Errorf("prepare manifest: %w", err)
	}
	m.Raw = raw
	return nil
}
