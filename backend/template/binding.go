package template

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// Scale is what an interpreter says of a template's replicas.
type Scale struct {
	Replicas   int32
	Need       *workv1alpha2.ReplicaRequirements
	Components []workv1alpha2.Component
}

// Extras are what a binding takes over beyond template and policy.
type Extras struct {
	// Priority is the value of the priority class that the policy names, nil if
	// it names none.
	Priority *int32
	// AffinityGroups has the binding carry the groups of the placement's workload
	// affinity.
	AffinityGroups bool
}

// Lookup finds objects of the hub. *Cache is one.
type Lookup interface {
	Get(ref Ref) (*unstructured.Unstructured, bool)
}

// LookUpExtras finds what a policy only names. What it names and is not there is an
// error that says so: the detector tries again, the preview shows it.
func LookUpExtras(p PolicyObject, objects Lookup, gates policy.Gates) (Extras, error) {
	extras := Extras{AffinityGroups: gates.WorkloadAffinity}
	from := SpecOf(p).SchedulePriority
	if from == nil || !gates.PriorityBasedScheduling {
		return extras, nil
	}
	class, ok := objects.Get(Ref{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass", Name: from.PriorityClassName})
	if !ok {
		return Extras{}, fmt.Errorf("the hub has no PriorityClass %s, which %s names: create it or take it out of spec.schedulePriority", from.PriorityClassName, ClaimOf(p))
	}
	value, _, err := unstructured.NestedInt64(class.Object, "value")
	if err != nil {
		return Extras{}, fmt.Errorf("read PriorityClass %s: %w", from.PriorityClassName, err)
	}
	number := int32(value)
	extras.Priority = &number
	return extras, nil
}

// NewBinding is the binding of a template that a policy claims, as the detector
// creates it, before it is scheduled. It is a ClusterResourceBinding if the
// template has no namespace. Neither argument is changed.
func NewBinding(o *unstructured.Unstructured, policy PolicyObject, scale Scale, extras Extras) workv1alpha2.Binding {
	b := emptyBinding(o)
	follow(b, o, policy, scale, extras)
	return b
}

// emptyBinding is a binding that belongs to a template and says nothing yet. Its
// finalizer is on it from the start.
func emptyBinding(o *unstructured.Unstructured) workv1alpha2.Binding {
	metadata := metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: BindingName(o.GetName(), o.GetKind()),
		OwnerReferences: []metav1.OwnerReference{ownedBy(o)},
	}
	if metadata.Namespace == "" {
		metadata.Finalizers = []string{workv1alpha2.ClusterResourceBindingControllerFinalizer}
		return &workv1alpha2.ClusterResourceBinding{ObjectMeta: metadata, Spec: workv1alpha2.ResourceBindingSpec{Resource: referenceTo(o)}}
	}
	metadata.Finalizers = []string{workv1alpha2.BindingControllerFinalizer}
	return &workv1alpha2.ResourceBinding{ObjectMeta: metadata, Spec: workv1alpha2.ResourceBindingSpec{Resource: referenceTo(o)}}
}

func ownedBy(o *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

func referenceTo(o *unstructured.Unstructured) workv1alpha2.ObjectReference {
	return workv1alpha2.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}

// follow writes into a binding what it takes over from its template and policy.
// The schedule result, evictions, parents and what others suspend stay.
func follow(b workv1alpha2.Binding, o *unstructured.Unstructured, policy PolicyObject, scale Scale, extras Extras) {
	ClaimOf(policy).Put(b)
	from := SpecOf(policy).DeepCopy()
	spec := b.BindingSpec()
	spec.Resource = referenceTo(o)
	spec.Replicas, spec.ReplicaRequirements, spec.Components = scale.Replicas, scale.Need, scale.Components
	spec.PropagateDeps = from.PropagateDeps
	spec.Placement = &from.Placement
	spec.SchedulerName = from.SchedulerName
	spec.Failover = from.Failover
	spec.ConflictResolution = from.ConflictResolution
	spec.PreserveResourcesOnDeletion = from.PreserveResourcesOnDeletion
	spec.Suspension = suspension(spec.Suspension, from.Suspension)
	spec.SchedulePriority = nil
	if extras.Priority != nil {
		spec.SchedulePriority = &workv1alpha2.SchedulePriority{Priority: *extras.Priority}
	}
	spec.WorkloadAffinityGroups = nil
	if extras.AffinityGroups {
		spec.WorkloadAffinityGroups = affinityGroups(&from.Placement, o)
	}
}

// suspension is the policy's, with what another controller has said about
// scheduling.
func suspension(old *workv1alpha2.Suspension, from *policyv1alpha1.Suspension) *workv1alpha2.Suspension {
	var scheduling *bool
	if old != nil {
		scheduling = old.Scheduling
	}
	if from == nil && scheduling == nil {
		return nil
	}
	return &workv1alpha2.Suspension{Suspension: ptr.Deref(from, policyv1alpha1.Suspension{}), Scheduling: scheduling}
}

// affinityGroups are the groups that a template is in by its labels.
func affinityGroups(p *policyv1alpha1.Placement, o *unstructured.Unstructured) *workv1alpha2.WorkloadAffinityGroups {
	if p.WorkloadAffinity == nil {
		return nil
	}
	groups := workv1alpha2.WorkloadAffinityGroups{}
	if a := p.WorkloadAffinity.Affinity; a != nil {
		groups.AffinityGroup = group(a.GroupByLabelKey, o)
	}
	if a := p.WorkloadAffinity.AntiAffinity; a != nil {
		groups.AntiAffinityGroup = group(a.GroupByLabelKey, o)
	}
	if groups == (workv1alpha2.WorkloadAffinityGroups{}) {
		return nil
	}
	return &groups
}

func group(key string, o *unstructured.Unstructured) string {
	value, ok := o.GetLabels()[key]
	if !ok {
		return ""
	}
	return key + "=" + value
}

// belongsTo says whether a binding is that of this very template, not of one that
// was there before under the same name.
func belongsTo(b workv1alpha2.Binding, o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(b.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == o.GetUID() })
}
