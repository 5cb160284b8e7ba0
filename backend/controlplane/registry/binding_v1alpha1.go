package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Bindings are stored as v1alpha2 and served as v1alpha1 too, which has words for
// the template, its replicas and the schedule result only (contract section 1). A
// write in the old words changes what they can say; all else stays as it is stored.

// firstBindings serves the stores of a kind of binding in the words of v1alpha1.
type firstBindings struct{ listed }

// Update writes the words of v1alpha1 into the stored binding.
func (b firstBindings) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc, onUpdate rest.ValidateObjectUpdateFunc,
	forceCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return b.listed.Update(ctx, name, intoStored{info}, onCreate, onUpdate, forceCreate, options)
}

// ConvertToTable prints no conditions: v1alpha1 has the two columns that every
// kind has.
func (firstBindings) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return firstBindingTable().ConvertToTable(ctx, obj, options)
}

// firstBindingStatus serves their status.
type firstBindingStatus struct{ *statusREST }

// Update writes the words of v1alpha1 into the stored status.
func (b firstBindingStatus) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc, onUpdate rest.ValidateObjectUpdateFunc,
	forceCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return b.statusREST.Update(ctx, name, intoStored{info}, onCreate, onUpdate, forceCreate, options)
}

// ConvertToTable prints what the main resource prints.
func (firstBindingStatus) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return firstBindingTable().ConvertToTable(ctx, obj, options)
}

// intoStored completes what a request in the words of v1alpha1 asks for by what
// only the stored binding can say.
type intoStored struct{ rest.UpdatedObjectInfo }

// UpdatedObject returns the binding to store.
func (i intoStored) UpdatedObject(ctx context.Context, stored runtime.Object) (runtime.Object, error) {
	updated, err := i.UpdatedObjectInfo.UpdatedObject(ctx, stored)
	if err != nil {
		return nil, err
	}
	to, ok := updated.(workv1alpha2.Binding)
	from, known := stored.(workv1alpha2.Binding)
	if ok && known && from.GetResourceVersion() != "" { // without one it is about to be created, by apply
		keepSpec(to.BindingSpec(), from.BindingSpec().DeepCopy())
		keepStatus(to.BindingStatus(), from.BindingStatus().DeepCopy())
	}
	return updated, nil
}

// keepSpec leaves in spec, of which only the words of v1alpha1 are told, all else
// as it is stored. stored is used up.
func keepSpec(spec, stored *workv1alpha2.ResourceBindingSpec) {
	told := *spec
	*spec = *stored
	spec.Resource, spec.Replicas, spec.Clusters = told.Resource, told.Replicas, told.Clusters
	reference := stored.Resource
	reference.UID, reference.ResourceVersion = "", told.Resource.ResourceVersion
	if reference == told.Resource {
		// Another template has another uid.
		spec.Resource.UID = stored.Resource.UID
	}
	if told.ReplicaRequirements != nil && spec.ReplicaRequirements == nil {
		spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
	}
	if spec.ReplicaRequirements != nil {
		spec.ReplicaRequirements.ResourceRequest = nil
		if told.ReplicaRequirements != nil {
			spec.ReplicaRequirements.ResourceRequest = told.ReplicaRequirements.ResourceRequest
		}
	}
	components := map[string][]workv1alpha2.TargetComponent{}
	for _, cluster := range stored.Clusters {
		components[cluster.Name] = cluster.Components
	}
	for i := range spec.Clusters {
		spec.Clusters[i].Components = components[spec.Clusters[i].Name]
	}
}

// keepStatus is keepSpec for the status.
func keepStatus(status, stored *workv1alpha2.ResourceBindingStatus) {
	told := *status
	*status = *stored
	status.Conditions, status.AggregatedStatus = told.Conditions, told.AggregatedStatus
	health := map[string]workv1alpha2.ResourceHealth{}
	for _, item := range stored.AggregatedStatus {
		health[item.ClusterName] = item.Health
	}
	for i := range status.AggregatedStatus {
		status.AggregatedStatus[i].Health = health[status.AggregatedStatus[i].ClusterName]
	}
}
