package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/parse"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	networkingv1alpha1 "muster.dev/muster/backend/apis/networking/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// Rules of the smaller kinds (contract sections 1.3 and 2.6) that a schema
// cannot express.

// ValidateCustomization judges a ResourceInterpreterCustomization. A script that
// does not parse is refused here, where its author sees it, rather than found by
// a controller later.
func ValidateCustomization(spec *configv1alpha1.ResourceInterpreterCustomizationSpec, path *field.Path) field.ErrorList {
	errs := validateTarget(spec.Target.APIVersion, spec.Target.Kind, path.Child("target"))
	at := path.Child("customizations")
	rules := spec.Customizations
	scripts := map[string]*string{}
	if r := rules.Retention; r != nil {
		scripts["retention"] = &r.LuaScript
	}
	if r := rules.ReplicaResource; r != nil {
		scripts["replicaResource"] = &r.LuaScript
	}
	if r := rules.ReplicaRevision; r != nil {
		scripts["replicaRevision"] = &r.LuaScript
	}
	if r := rules.ComponentResource; r != nil {
		scripts["componentResource"] = &r.LuaScript
	}
	if r := rules.StatusReflection; r != nil {
		scripts["statusReflection"] = &r.LuaScript
	}
	if r := rules.StatusAggregation; r != nil {
		scripts["statusAggregation"] = &r.LuaScript
	}
	if r := rules.HealthInterpretation; r != nil {
		scripts["healthInterpretation"] = &r.LuaScript
	}
	if r := rules.DependencyInterpretation; r != nil {
		scripts["dependencyInterpretation"] = &r.LuaScript
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		errs = append(errs, validateScript(*scripts[name], at.Child(name, "luaScript"))...)
	}
	return errs
}

func validateScript(script string, path *field.Path) field.ErrorList {
	if strings.TrimSpace(script) == "" {
		return field.ErrorList{field.Required(path, "a rule needs a script; leave the rule out to have the kind interpreted as usual")}
	}
	if _, err := parse.Parse(strings.NewReader(script), "script"); err != nil {
		return field.ErrorList{field.Invalid(path, "", "is not Lua: "+strings.Join(strings.Fields(err.Error()), " "))}
	}
	return nil
}

func validateTarget(apiVersion, kind string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if version, err := schema.ParseGroupVersion(apiVersion); err != nil || version.Version == "" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), apiVersion, "must be group/version, such as apps/v1, or v1 for the core group"))
	}
	if kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), "must name a kind, such as Deployment"))
	}
	return errs
}

// ValidateQuota judges a FederatedResourceQuota: what is assigned to members may
// not exceed what all may use together.
func ValidateQuota(spec *policyv1alpha1.FederatedResourceQuotaSpec, path *field.Path) field.ErrorList {
	overall := path.Child("overall")
	errs := validateResources(spec.Overall, overall)
	assigned := corev1.ResourceList{}
	clusters := sets.New[string]()
	for i, assignment := range spec.StaticAssignments {
		at := path.Child("staticAssignments").Index(i)
		errs = append(errs, validateClusterName(assignment.ClusterName, at.Child("clusterName"))...)
		if clusters.Has(assignment.ClusterName) {
			errs = append(errs, field.Duplicate(at.Child("clusterName"), assignment.ClusterName))
		}
		clusters.Insert(assignment.ClusterName)
		errs = append(errs, validateResources(assignment.Hard, at.Child("hard"))...)
		for name, quantity := range assignment.Hard {
			sum := assigned[name]
			sum.Add(quantity)
			assigned[name] = sum
		}
	}
	for _, name := range slices.Sorted(maps.Keys(assigned)) {
		sum := assigned[name]
		if most, bounded := spec.Overall[name]; bounded && sum.Cmp(most) > 0 {
			errs = append(errs, field.Invalid(overall.Key(string(name)), most.String(), fmt.Sprintf("is less than the %s that staticAssignments give out", sum.String())))
		}
	}
	return errs
}

func validateResources(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		for _, message := range validation.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(path.Key(string(name)), name, message))
		}
		if quantity := list[name]; quantity.Cmp(resource.Quantity{}) < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), quantity.String(), "must not be negative"))
		}
	}
	return errs
}

func validateClusterName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must name a cluster")}
	}
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Subdomain(name) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

// ValidateTaintPolicy judges a ClusterTaintPolicy.
func ValidateTaintPolicy(spec *policyv1alpha1.ClusterTaintPolicySpec, path *field.Path) field.ErrorList {
	errs := ValidateAffinity(spec.TargetClusters, path.Child("targetClusters"))
	errs = append(errs, validateConditions(spec.AddOnConditions, path.Child("addOnConditions"))...)
	errs = append(errs, validateConditions(spec.RemoveOnConditions, path.Child("removeOnConditions"))...)
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	known := sets.New[identity]()
	for i, taint := range spec.Taints {
		at := path.Child("taints").Index(i)
		errs = append(errs, labelKey(taint.Key, at.Child("key"))...)
		for _, message := range validation.IsValidLabelValue(taint.Value) {
			errs = append(errs, field.Invalid(at.Child("value"), taint.Value, message))
		}
		if is := (identity{taint.Key, taint.Effect}); known.Has(is) {
			errs = append(errs, field.Duplicate(at, taint.Key+":"+string(taint.Effect)))
		} else {
			known.Insert(is)
		}
	}
	return errs
}

func validateConditions(conditions []policyv1alpha1.MatchCondition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, condition := range conditions {
		if condition.ConditionType == "" {
			errs = append(errs, field.Required(path.Index(i).Child("conditionType"), "must name a condition of clusters, such as Ready"))
		}
		if len(condition.StatusValues) == 0 {
			errs = append(errs, field.Required(path.Index(i).Child("statusValues"), "must hold True, False or Unknown"))
		}
	}
	return errs
}

// ValidateRebalancer judges a WorkloadRebalancer. The workloads it names need
// not exist: that is told in its status.
func ValidateRebalancer(spec *appsv1alpha1.WorkloadRebalancerSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, workload := range spec.Workloads {
		at := path.Child("workloads").Index(i)
		errs = append(errs, validateTarget(workload.APIVersion, workload.Kind, at)...)
		if workload.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "must name a workload"))
		}
	}
	if seconds := spec.TTLSecondsAfterFinished; seconds != nil && *seconds < 0 {
		errs = append(errs, field.Invalid(path.Child("ttlSecondsAfterFinished"), *seconds, "must not be negative"))
	}
	return errs
}

// ValidateMultiClusterService judges a MultiClusterService.
func ValidateMultiClusterService(spec *networkingv1alpha1.MultiClusterServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	types := []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeCrossCluster, networkingv1alpha1.ExposureTypeLoadBalancer}
	for i, exposure := range spec.Types {
		if !slices.Contains(types, exposure) {
			errs = append(errs, field.NotSupported(path.Child("types").Index(i), exposure, types))
		}
	}
	names := sets.New[string]()
	for i, port := range spec.Ports {
		at := path.Child("ports").Index(i)
		for _, message := range validation.IsValidPortNum(int(port.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, message))
		}
		if port.Name != "" && names.Has(port.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		}
		names.Insert(port.Name)
	}
	for i, cluster := range spec.ProviderClusters {
		errs = append(errs, validateClusterName(cluster.Name, path.Child("providerClusters").Index(i).Child("name"))...)
	}
	for i, cluster := range spec.ConsumerClusters {
		errs = append(errs, validateClusterName(cluster.Name, path.Child("consumerClusters").Index(i).Child("name"))...)
	}
	return errs
}
