package policy

import (
	"slices"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	multiclusterv1alpha1 "muster.dev/muster/backend/apis/multicluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// CompletePropagation fills in what a propagation policy leaves open, in place. The namespace is the policy's, and empty for a
// ClusterPropagationPolicy, whose selectors may mean any namespace.
func CompletePropagation(spec *policyv1alpha1.PropagationSpec, namespace string) {
	completeSelectors(spec.ResourceSelectors, namespace)
	// An imported service is of no use without the slices that come along with it.
	if slices.ContainsFunc(spec.ResourceSelectors, isServiceImport) {
		spec.PropagateDeps = true
	}
	for i := range spec.Placement.SpreadConstraints {
		constraint := &spec.Placement.SpreadConstraints[i]
		if constraint.SpreadByField == "" && constraint.SpreadByLabel == "" {
			constraint.SpreadByField = policyv1alpha1.SpreadByFieldCluster
		}
		if constraint.MinGroups == 0 {
			constraint.MinGroups = 1
		}
	}
	if scheduling := spec.Placement.ReplicaScheduling; scheduling != nil &&
		scheduling.ReplicaSchedulingType == policyv1alpha1.ReplicaSchedulingTypeDivided && scheduling.ReplicaDivisionPreference == "" {
		scheduling.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceWeighted
	}
	if spec.Failover != nil && spec.Failover.Application != nil {
		application := spec.Failover.Application
		if application.PurgeMode == policyv1alpha1.PurgeModeGracefully && application.GracePeriodSeconds == nil {
			seconds := policyv1alpha1.DefaultGracePeriodSeconds
			application.GracePeriodSeconds = &seconds
		}
	}
}

func completeSelectors(selectors []policyv1alpha1.ResourceSelector, namespace string) {
	for i := range selectors {
		if selectors[i].Namespace == "" {
			selectors[i].Namespace = namespace
		}
	}
}

func isServiceImport(selector policyv1alpha1.ResourceSelector) bool {
	return selector.APIVersion == multiclusterv1alpha1.GroupVersion.String() && selector.Kind == multiclusterv1alpha1.ResourceKindServiceImport
}

// ValidatePropagation judges a completed propagation policy (contract section 2.2). The namespace is as in CompletePropagation.
func ValidatePropagation(spec *policyv1alpha1.PropagationSpec, namespace string, path *field.Path) field.ErrorList {
	errs := validateSelectors(spec.ResourceSelectors, path.Child("resourceSelectors"))
	for i, selector := range spec.ResourceSelectors {
		at := path.Child("resourceSelectors").Index(i)
		if namespace != "" && selector.Namespace != namespace {
			errs = append(errs, field.Invalid(at.Child("namespace"), selector.Namespace, "a PropagationPolicy propagates objects of its own namespace"))
		}
		if spec.Preemption == policyv1alpha1.PreemptAlways && selector.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "a policy that preempts must name what it takes over"))
		}
	}
	errs = append(errs, ValidatePlacement(&spec.Placement, path.Child("placement"))...)
	errs = append(errs, validateFailover(spec, path)...)
	return append(errs, validateSuspension(spec.Suspension, path.Child("suspension"))...)
}

// ValidatePropagationUpdate judges what a change may not touch.
func ValidatePropagationUpdate(spec, old *policyv1alpha1.PropagationSpec, path *field.Path) field.ErrorList {
	if spec.SchedulerName != old.SchedulerName {
		return field.ErrorList{field.Invalid(path.Child("schedulerName"), spec.SchedulerName, "cannot be changed")}
	}
	return nil
}

func validateSelectors(selectors []policyv1alpha1.ResourceSelector, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, selector := range selectors {
		errs = append(errs, metav1validation.ValidateLabelSelector(selector.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, path.Index(i).Child("labelSelector"))...)
	}
	return errs
}

func validateFailover(spec *policyv1alpha1.PropagationSpec, path *field.Path) field.ErrorList {
	if spec.Failover == nil {
		return nil
	}
	var errs field.ErrorList
	at := path.Child("failover")
	if cluster := spec.Failover.Cluster; cluster != nil {
		errs = append(errs, validatePreservation(cluster.StatePreservation, at.Child("cluster", "statePreservation"))...)
	}
	application := spec.Failover.Application
	if application == nil {
		return errs
	}
	at = at.Child("application")
	if !spec.PropagateDeps {
		errs = append(errs, field.Invalid(path.Child("propagateDeps"), false, "must be true when failover.application is set: an application moves with what it refers to"))
	}
	if seconds := application.DecisionConditions.TolerationSeconds; seconds != nil && *seconds < 0 {
		errs = append(errs, field.Invalid(at.Child("decisionConditions", "tolerationSeconds"), *seconds, "must not be negative"))
	}
	if seconds := application.GracePeriodSeconds; seconds != nil {
		switch {
		case application.PurgeMode != policyv1alpha1.PurgeModeGracefully:
			errs = append(errs, field.Invalid(at.Child("gracePeriodSeconds"), *seconds, "only allowed with the purge mode Gracefully"))
		case *seconds <= 0:
			errs = append(errs, field.Invalid(at.Child("gracePeriodSeconds"), *seconds, "must be greater than 0"))
		}
	}
	return append(errs, validatePreservation(application.StatePreservation, at.Child("statePreservation"))...)
}

func validatePreservation(preservation *policyv1alpha1.StatePreservation, path *field.Path) field.ErrorList {
	if preservation == nil {
		return nil
	}
	var errs field.ErrorList
	for i, rule := range preservation.Rules {
		errs = append(errs, labelKey(rule.AliasLabelName, path.Child("rules").Index(i).Child("aliasLabelName"))...)
	}
	return errs
}

func validateSuspension(suspension *policyv1alpha1.Suspension, path *field.Path) field.ErrorList {
	if suspension == nil || suspension.Dispatching == nil || !*suspension.Dispatching {
		return nil
	}
	if clusters := suspension.DispatchingOnClusters; clusters != nil && len(clusters.ClusterNames) > 0 {
		return field.ErrorList{field.Invalid(path.Child("dispatchingOnClusters", "clusterNames"), clusters.ClusterNames, "has no meaning while dispatching is suspended for all clusters")}
	}
	return nil
}

func labelKey(key string, path *field.Path) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(path, "must be a label key")}
	}
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(key) {
		errs = append(errs, field.Invalid(path, key, message))
	}
	return errs
}
