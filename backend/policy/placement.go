package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// ValidatePlacement judges where a policy may place (contract section 2.2.1).
func ValidatePlacement(placement *policyv1alpha1.Placement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if placement.ClusterAffinity != nil && len(placement.ClusterAffinities) > 0 {
		errs = append(errs, field.Invalid(path.Child("clusterAffinities"), len(placement.ClusterAffinities), "cannot be given together with clusterAffinity"))
	}
	errs = append(errs, ValidateAffinity(placement.ClusterAffinity, path.Child("clusterAffinity"))...)
	errs = append(errs, validateAffinities(placement, path.Child("clusterAffinities"))...)
	errs = append(errs, validateTolerations(placement.ClusterTolerations, path.Child("clusterTolerations"))...)
	errs = append(errs, validateSpread(placement.SpreadConstraints, path.Child("spreadConstraints"))...)
	if placement.ReplicaScheduling != nil && placement.ReplicaScheduling.WeightPreference != nil {
		weights := path.Child("replicaScheduling", "weightPreference", "staticWeightList")
		for i, weight := range placement.ReplicaScheduling.WeightPreference.StaticWeightList {
			errs = append(errs, ValidateAffinity(&weight.TargetCluster, weights.Index(i).Child("targetCluster"))...)
		}
	}
	return append(errs, validateWorkloadAffinity(placement.WorkloadAffinity, path.Child("workloadAffinity"))...)
}

// ValidateAffinity judges a choice of clusters, which may be nil.
func ValidateAffinity(affinity *policyv1alpha1.ClusterAffinity, path *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	errs := metav1validation.ValidateLabelSelector(affinity.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("labelSelector"))
	if affinity.FieldSelector == nil {
		return errs
	}
	keys := []string{policyv1alpha1.ProviderField, policyv1alpha1.RegionField, policyv1alpha1.ZoneField}
	operators := []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}
	for i, requirement := range affinity.FieldSelector.MatchExpressions {
		at := path.Child("fieldSelector", "matchExpressions").Index(i)
		if !slices.Contains(keys, requirement.Key) {
			errs = append(errs, field.NotSupported(at.Child("key"), requirement.Key, keys))
		}
		if !slices.Contains(operators, requirement.Operator) {
			errs = append(errs, field.NotSupported(at.Child("operator"), requirement.Operator, operators))
		}
	}
	return errs
}

func validateAffinities(placement *policyv1alpha1.Placement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	claim := func(name string, at *field.Path) {
		errs = append(errs, labelKey(name, at)...)
		if names.Has(name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		names.Insert(name)
	}
	for i := range placement.ClusterAffinities {
		term, at := &placement.ClusterAffinities[i], path.Index(i)
		claim(term.AffinityName, at.Child("affinityName"))
		errs = append(errs, ValidateAffinity(&term.ClusterAffinity, at)...)
		overflows := at.Child("overflowAffinities")
		if len(term.OverflowAffinities) > 0 && !dividesByCapacity(placement.ReplicaScheduling) {
			errs = append(errs, field.Forbidden(overflows, "only where replicas are divided by capacity: Divided with Aggregated, or with Weighted and a dynamicWeight"))
		}
		for j := range term.OverflowAffinities {
			overflow, at := &term.OverflowAffinities[j], overflows.Index(j)
			claim(overflow.AffinityName, at.Child("affinityName"))
			if isEmpty(&overflow.ClusterAffinity) {
				errs = append(errs, field.Required(at, "must choose clusters"))
			}
			errs = append(errs, ValidateAffinity(&overflow.ClusterAffinity, at)...)
		}
	}
	return errs
}

func dividesByCapacity(scheduling *policyv1alpha1.ReplicaSchedulingStrategy) bool {
	if scheduling == nil || scheduling.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDivided {
		return false
	}
	switch scheduling.ReplicaDivisionPreference {
	case policyv1alpha1.ReplicaDivisionPreferenceAggregated:
		return true
	case policyv1alpha1.ReplicaDivisionPreferenceWeighted:
		return scheduling.WeightPreference != nil && scheduling.WeightPreference.DynamicWeight != ""
	}
	return false
}

func isEmpty(affinity *policyv1alpha1.ClusterAffinity) bool {
	return affinity.LabelSelector == nil && affinity.FieldSelector == nil && len(affinity.ClusterNames) == 0 && len(affinity.ExcludeClusters) == 0
}

// validateTolerations holds the rules of Kubernetes for tolerations, without the operators that compare numbers.
func validateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, toleration := range tolerations {
		at := path.Index(i)
		if toleration.Key != "" {
			errs = append(errs, labelKey(toleration.Key, at.Child("key"))...)
		} else if toleration.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), toleration.Operator, "must be Exists when the key is empty"))
		}
		switch toleration.Operator {
		case corev1.TolerationOpEqual, "":
		case corev1.TolerationOpExists:
			if toleration.Value != "" {
				errs = append(errs, field.Invalid(at.Child("value"), toleration.Value, "must be empty with the operator Exists"))
			}
		default:
			errs = append(errs, field.NotSupported(at.Child("operator"), toleration.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		}
		effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
		if toleration.Effect != "" && !slices.Contains(effects, toleration.Effect) {
			errs = append(errs, field.NotSupported(at.Child("effect"), toleration.Effect, effects))
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), toleration.Effect, "must be NoExecute when tolerationSeconds is given"))
		}
	}
	return errs
}

func validateSpread(constraints []policyv1alpha1.SpreadConstraint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	fields := sets.New[policyv1alpha1.SpreadFieldValue]()
	for i, constraint := range constraints {
		at := path.Index(i)
		if constraint.SpreadByField != "" && constraint.SpreadByLabel != "" {
			errs = append(errs, field.Invalid(at.Child("spreadByLabel"), constraint.SpreadByLabel, "cannot be given together with spreadByField"))
		}
		if constraint.MinGroups < 0 {
			errs = append(errs, field.Invalid(at.Child("minGroups"), constraint.MinGroups, "must not be negative"))
		}
		if constraint.MaxGroups < 0 {
			errs = append(errs, field.Invalid(at.Child("maxGroups"), constraint.MaxGroups, "must not be negative"))
		}
		if constraint.MaxGroups > 0 && constraint.MaxGroups < constraint.MinGroups {
			errs = append(errs, field.Invalid(at.Child("maxGroups"), constraint.MaxGroups, fmt.Sprintf("must be at least minGroups, which is %d", constraint.MinGroups)))
		}
		if constraint.SpreadByField == "" {
			continue
		}
		if fields.Has(constraint.SpreadByField) {
			errs = append(errs, field.Duplicate(at.Child("spreadByField"), constraint.SpreadByField))
		}
		fields.Insert(constraint.SpreadByField)
	}
	if len(fields) > 0 && !fields.Has(policyv1alpha1.SpreadByFieldCluster) {
		errs = append(errs, field.Required(path, "spreading by a field needs a constraint for cluster as well"))
	}
	return errs
}

func validateWorkloadAffinity(affinity *policyv1alpha1.WorkloadAffinity, path *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	var errs field.ErrorList
	if affinity.Affinity != nil {
		errs = append(errs, labelKey(affinity.Affinity.GroupByLabelKey, path.Child("affinity", "groupByLabelKey"))...)
	}
	if affinity.AntiAffinity == nil {
		return errs
	}
	at := path.Child("antiAffinity", "groupByLabelKey")
	errs = append(errs, labelKey(affinity.AntiAffinity.GroupByLabelKey, at)...)
	if affinity.Affinity != nil && affinity.Affinity.GroupByLabelKey == affinity.AntiAffinity.GroupByLabelKey {
		errs = append(errs, field.Invalid(at, affinity.AntiAffinity.GroupByLabelKey, "must differ from the key of affinity: no workload can be together with and apart from the same group"))
	}
	return errs
}
