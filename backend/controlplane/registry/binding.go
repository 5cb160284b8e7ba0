package registry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Limits of contract section 2.4.
const (
	maxReasonLength    = 32
	maxMessageLength   = 1024
	maxComponentLength = 32
)

type bindingKind[T any] = kind[T, workv1alpha2.ResourceBindingSpec, workv1alpha2.ResourceBindingStatus]

func resourceBindingKind() bindingKind[workv1alpha2.ResourceBinding] {
	return bindingKind[workv1alpha2.ResourceBinding]{
		groupVersion: workv1alpha2.GroupVersion,
		views:        []schema.GroupVersion{workv1alpha1.GroupVersion},
		namespaced:   true,
		bornComplete: true,
		parts: func(b *workv1alpha2.ResourceBinding) (*metav1.ObjectMeta, *workv1alpha2.ResourceBindingSpec, *workv1alpha2.ResourceBindingStatus) {
			return &b.ObjectMeta, &b.Spec, &b.Status
		},
		validateName:   subdomainName,
		validateSpec:   validateBindingSpec,
		validateStatus: validateBindingStatus,
	}
}

func clusterResourceBindingKind() bindingKind[workv1alpha2.ClusterResourceBinding] {
	return bindingKind[workv1alpha2.ClusterResourceBinding]{
		groupVersion: workv1alpha2.GroupVersion,
		views:        []schema.GroupVersion{workv1alpha1.GroupVersion},
		bornComplete: true,
		parts: func(b *workv1alpha2.ClusterResourceBinding) (*metav1.ObjectMeta, *workv1alpha2.ResourceBindingSpec, *workv1alpha2.ResourceBindingStatus) {
			return &b.ObjectMeta, &b.Spec, &b.Status
		},
		validateName:   subdomainName,
		validateSpec:   validateBindingSpec,
		validateStatus: validateBindingStatus,
	}
}

// defaultBindingSpec sets what the API promises for absent fields. The policies have the same defaults in their schema.
func defaultBindingSpec(spec *workv1alpha2.ResourceBindingSpec) {
	if spec.ConflictResolution == "" {
		spec.ConflictResolution = policyv1alpha1.ConflictAbort
	}
	if spec.Placement != nil && spec.Placement.ReplicaScheduling != nil && spec.Placement.ReplicaScheduling.ReplicaSchedulingType == "" {
		spec.Placement.ReplicaScheduling.ReplicaSchedulingType = policyv1alpha1.ReplicaSchedulingTypeDivided
	}
	if spec.Failover == nil {
		return
	}
	if cluster := spec.Failover.Cluster; cluster != nil && cluster.PurgeMode == "" {
		cluster.PurgeMode = policyv1alpha1.PurgeModeGracefully
	}
	if application := spec.Failover.Application; application != nil {
		if application.PurgeMode == "" {
			application.PurgeMode = policyv1alpha1.PurgeModeGracefully
		}
		if application.DecisionConditions.TolerationSeconds == nil {
			application.DecisionConditions.TolerationSeconds = ptr.To(policyv1alpha1.DefaultTolerationSeconds)
		}
	}
}

func validateBindingSpec(spec *workv1alpha2.ResourceBindingSpec, path *field.Path) field.ErrorList {
	resource := path.Child("resource")
	errs := required(spec.Resource.APIVersion, resource.Child("apiVersion"))
	errs = append(errs, required(spec.Resource.Kind, resource.Child("kind"))...)
	errs = append(errs, required(spec.Resource.Name, resource.Child("name"))...)
	errs = append(errs, oneOf(spec.ConflictResolution, path.Child("conflictResolution"), policyv1alpha1.ConflictAbort, policyv1alpha1.ConflictOverwrite)...)
	for i, component := range spec.Components {
		at := path.Child("components").Index(i).Child("name")
		errs = append(errs, required(component.Name, at)...)
		errs = append(errs, atMost(component.Name, maxComponentLength, at)...)
	}
	for i, cluster := range spec.Clusters {
		errs = append(errs, required(cluster.Name, path.Child("clusters").Index(i).Child("name"))...)
	}
	for i, parent := range spec.RequiredBy {
		errs = append(errs, required(parent.Name, path.Child("requiredBy").Index(i).Child("name"))...)
	}
	for i := range spec.GracefulEvictionTasks {
		errs = append(errs, validateEviction(&spec.GracefulEvictionTasks[i], path.Child("gracefulEvictionTasks").Index(i))...)
	}
	if spec.Placement != nil {
		errs = append(errs, validatePlacementShape(spec.Placement, path.Child("placement"))...)
	}
	return errs
}

func validateEviction(task *workv1alpha2.GracefulEvictionTask, path *field.Path) field.ErrorList {
	errs := required(task.FromCluster, path.Child("fromCluster"))
	errs = append(errs, required(task.Reason, path.Child("reason"))...)
	errs = append(errs, atMost(task.Reason, maxReasonLength, path.Child("reason"))...)
	errs = append(errs, required(task.Producer, path.Child("producer"))...)
	errs = append(errs, atMost(task.Message, maxMessageLength, path.Child("message"))...)
	return append(errs, oneOf(task.PurgeMode, path.Child("purgeMode"), policyv1alpha1.PurgeModeDirectly, policyv1alpha1.PurgeModeGracefully, policyv1alpha1.PurgeModeNever)...)
}

// validatePlacementShape holds the rules that the schema of the policies holds for them; the deeper rules were applied to the policy.
func validatePlacementShape(placement *policyv1alpha1.Placement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, term := range placement.ClusterAffinities {
		at := path.Child("clusterAffinities").Index(i).Child("affinityName")
		errs = append(errs, required(term.AffinityName, at)...)
		errs = append(errs, atMost(term.AffinityName, policyv1alpha1.MaxAffinityNameLength, at)...)
	}
	for i, constraint := range placement.SpreadConstraints {
		errs = append(errs, oneOf(constraint.SpreadByField, path.Child("spreadConstraints").Index(i).Child("spreadByField"), policyv1alpha1.SpreadByFieldCluster,
			policyv1alpha1.SpreadByFieldRegion, policyv1alpha1.SpreadByFieldZone, policyv1alpha1.SpreadByFieldProvider)...)
	}
	if placement.ReplicaScheduling == nil {
		return errs
	}
	scheduling, at := placement.ReplicaScheduling, path.Child("replicaScheduling")
	errs = append(errs, oneOf(scheduling.ReplicaSchedulingType, at.Child("replicaSchedulingType"), policyv1alpha1.ReplicaSchedulingTypeDuplicated, policyv1alpha1.ReplicaSchedulingTypeDivided)...)
	errs = append(errs, oneOf(scheduling.ReplicaDivisionPreference, at.Child("replicaDivisionPreference"), policyv1alpha1.ReplicaDivisionPreferenceAggregated, policyv1alpha1.ReplicaDivisionPreferenceWeighted)...)
	if weights := scheduling.WeightPreference; weights != nil {
		at := at.Child("weightPreference")
		errs = append(errs, oneOf(weights.DynamicWeight, at.Child("dynamicWeight"), policyv1alpha1.DynamicWeightByAvailableReplicas)...)
		for i, weight := range weights.StaticWeightList {
			if weight.Weight < 1 {
				errs = append(errs, field.Invalid(at.Child("staticWeightList").Index(i).Child("weight"), weight.Weight, "must be at least 1"))
			}
		}
	}
	return errs
}

func validateBindingStatus(status *workv1alpha2.ResourceBindingStatus, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))
	for i, item := range status.AggregatedStatus {
		at := path.Child("aggregatedStatus").Index(i)
		errs = append(errs, required(item.ClusterName, at.Child("clusterName"))...)
		errs = append(errs, oneOf(item.Health, at.Child("health"), workv1alpha2.ResourceHealthy, workv1alpha2.ResourceUnhealthy, workv1alpha2.ResourceUnknown)...)
	}
	return errs
}

func atMost(value string, limit int, path *field.Path) field.ErrorList {
	if len(value) > limit {
		return field.ErrorList{field.TooLong(path, "", limit)}
	}
	return nil
}
