package workload

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/template"
)

// What stands in paths for the group without a name and for no namespace.
const (
	coreGroup   = "core"
	noNamespace = "-"
)

// idOf is how paths and rows name a workload.
func idOf(ref template.Ref) string {
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

// ref is the object that a path means.
func (k Key) ref() template.Ref {
	group, namespace := k.Group, k.Namespace
	if group == coreGroup {
		group = ""
	}
	if namespace == noNamespace {
		namespace = ""
	}
	return template.Ref{APIVersion: schema.GroupVersion{Group: group, Version: k.Version}.String(), Kind: k.Kind, Namespace: namespace, Name: k.Name}
}

// kinds are the policies' kinds by their segment in paths.
var kinds = map[string]string{
	"propagationpolicies":        policyv1alpha1.ResourceKindPropagationPolicy,
	"clusterpropagationpolicies": policyv1alpha1.ResourceKindClusterPropagationPolicy,
	"overridepolicies":           policyv1alpha1.ResourceKindOverridePolicy,
	"clusteroverridepolicies":    policyv1alpha1.ResourceKindClusterOverridePolicy,
}

// resources are the segments in paths by the policies' kinds.
var resources = map[string]string{
	policyv1alpha1.ResourceKindPropagationPolicy:        "propagationpolicies",
	policyv1alpha1.ResourceKindClusterPropagationPolicy: "clusterpropagationpolicies",
	policyv1alpha1.ResourceKindOverridePolicy:           "overridepolicies",
	policyv1alpha1.ResourceKindClusterOverridePolicy:    "clusteroverridepolicies",
}

func policyRef(kind, namespace, name string) PolicyRef {
	return PolicyRef{Kind: kind, Resource: resources[kind], Namespace: namespace, Name: name}
}

// claimRef is the policy that a claim names.
func claimRef(claim template.Claim) PolicyRef {
	return policyRef(claim.Kind, claim.Namespace, claim.Name)
}

// policyAt is the policy that the segments of a path mean.
func policyAt(resource, namespace, name string) (PolicyRef, error) {
	kind, known := kinds[resource]
	if !known {
		return PolicyRef{}, fault.NotFound("there are no policies called %s", resource)
	}
	if namespace == noNamespace {
		namespace = ""
	}
	return policyRef(kind, namespace, name), nil
}

// String is the policy as sentences name it.
func (p PolicyRef) String() string {
	if p.Namespace == "" {
		return p.Kind + " " + p.Name
	}
	return p.Kind + " " + p.Namespace + "/" + p.Name
}

// path is the policy as queries name it.
func (p PolicyRef) path() string {
	namespace := p.Namespace
	if namespace == "" {
		namespace = noNamespace
	}
	return p.Resource + "/" + namespace + "/" + p.Name
}

// object is the policy as an object.
func (p PolicyRef) object() *ObjectRef {
	return &ObjectRef{APIVersion: policyv1alpha1.GroupVersion.String(), Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
}
