package fact

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/template"
)

// What stands in paths for the group without a name and for no namespace.
const (
	coreGroup   = "core"
	noNamespace = "-"
)

// PolicyRef names a policy.
type PolicyRef struct {
	Kind string `json:"kind"`
	// Resource is the policy's segment in paths.
	Resource  string `json:"resource" enums:"propagationpolicies,clusterpropagationpolicies,overridepolicies,clusteroverridepolicies"`
	Namespace string `json:"namespace,omitempty" validate:"optional"`
	Name      string `json:"name"`
}

// ObjectRef names an object of the hub or of a member.
type ObjectRef struct {
	APIVersion string `json:"apiVersion,omitempty" validate:"optional"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty" validate:"optional"`
	Name       string `json:"name"`
}

// ID is how paths and rows name a workload.
func ID(ref template.Ref) string {
	group, version, namespace := coreGroup, ref.APIVersion, noNamespace
	if before, after, found := strings.Cut(ref.APIVersion, "/"); found {
		group, version = before, after
	}
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return strings.Join([]string{group, version, ref.Kind, namespace, ref.Name}, "/")
}

// Key names a workload as the segments of a path do.
type Key struct {
	Group, Version, Kind, Namespace, Name string
}

// Ref is the object that a path means.
func (k Key) Ref() template.Ref {
	group, namespace := k.Group, k.Namespace
	if group == coreGroup {
		group = ""
	}
	if namespace == noNamespace {
		namespace = ""
	}
	return template.Ref{APIVersion: schema.GroupVersion{Group: group, Version: k.Version}.String(), Kind: k.Kind, Namespace: namespace, Name: k.Name}
}

// Kinds are the policies' kinds by their segment in paths.
var Kinds = map[string]string{
	"propagationpolicies":        policyv1alpha1.ResourceKindPropagationPolicy,
	"clusterpropagationpolicies": policyv1alpha1.ResourceKindClusterPropagationPolicy,
	"overridepolicies":           policyv1alpha1.ResourceKindOverridePolicy,
	"clusteroverridepolicies":    policyv1alpha1.ResourceKindClusterOverridePolicy,
}

// Resources are the segments in paths by the policies' kinds.
var Resources = map[string]string{
	policyv1alpha1.ResourceKindPropagationPolicy:        "propagationpolicies",
	policyv1alpha1.ResourceKindClusterPropagationPolicy: "clusterpropagationpolicies",
	policyv1alpha1.ResourceKindOverridePolicy:           "overridepolicies",
	policyv1alpha1.ResourceKindClusterOverridePolicy:    "clusteroverridepolicies",
}

// PolicyOf names a policy.
func PolicyOf(kind, namespace, name string) PolicyRef {
	return PolicyRef{Kind: kind, Resource: Resources[kind], Namespace: namespace, Name: name}
}

// ClaimedBy is the policy that a claim names.
func ClaimedBy(claim template.Claim) PolicyRef {
	return PolicyOf(claim.Kind, claim.Namespace, claim.Name)
}

// PolicyAt is the policy that the segments of a path mean.
func PolicyAt(resource, namespace, name string) (PolicyRef, error) {
	kind, known := Kinds[resource]
	if !known {
		return PolicyRef{}, fault.NotFound("there are no policies called %s", resource)
	}
	if namespace == noNamespace {
		namespace = ""
	}
	return PolicyOf(kind, namespace, name), nil
}

// String is the policy as sentences name it.
func (p PolicyRef) String() string {
	if p.Namespace == "" {
		return p.Kind + " " + p.Name
	}
	return p.Kind + " " + p.Namespace + "/" + p.Name
}

// Path is the policy as queries name it.
func (p PolicyRef) Path() string {
	namespace := p.Namespace
	if namespace == "" {
		namespace = noNamespace
	}
	return p.Resource + "/" + namespace + "/" + p.Name
}

// Object is the policy as an object.
func (p PolicyRef) Object() *ObjectRef {
	return &ObjectRef{APIVersion: policyv1alpha1.GroupVersion.String(), Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
}

// Counted says whether a binding places replicas (contract section 9.5).
func Counted(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Replicas > 0 || spec.ReplicaRequirements != nil
}
