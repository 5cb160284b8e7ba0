package catalog

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
)

// DefaultSkippedNamespaces are the namespaces that nothing is propagated from
// unless an operator says otherwise (contract section 3.1).
var DefaultSkippedNamespaces = []string{"kube-.*"}

// ocmPrefix begins the names of the namespaces that Open Cluster Management's
// own components live in.
const ocmPrefix = "open-cluster-management"

// Scope says which objects of the hub are templates (contract section 8.2).
type Scope struct {
	skipped []*regexp.Regexp
}

// NewScope returns a Scope. skipped are regular expressions for whole names of
// namespaces, in addition to the reserved ones.
func NewScope(skipped []string) (*Scope, error) {
	s := &Scope{}
	for _, pattern := range skipped {
		compiled, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil {
			return nil, fault.Invalid("skipped namespaces: %q is no regular expression: %s", pattern, err.Error())
		}
		s.skipped = append(s.skipped, compiled)
	}
	return s, nil
}

// ReservedNamespace says whether a namespace belongs to the hub itself, so that
// nothing is ever propagated from it.
func ReservedNamespace(name string) bool {
	return name == apis.SystemNamespace || name == apis.ClusterNamespace || name == agentapi.AgentNamespace ||
		strings.HasPrefix(name, apis.ExecutionSpacePrefix) || name == ocmPrefix || strings.HasPrefix(name, ocmPrefix+"-")
}

// SkipsNamespace says whether nothing is propagated from a namespace.
func (s *Scope) SkipsNamespace(name string) bool {
	if ReservedNamespace(name) {
		return true
	}
	if s == nil {
		return false
	}
	for _, pattern := range s.skipped {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// ignoredGroups are the API groups whose objects steer propagation or come and
// go by themselves.
var ignoredGroups = map[string]bool{
	"cluster.karmada.io": true, "policy.karmada.io": true, "work.karmada.io": true, "config.karmada.io": true,
	"networking.karmada.io": true, "autoscaling.karmada.io": true, "remedy.karmada.io": true, "apps.karmada.io": true,
	"events.k8s.io": true, "coordination.k8s.io": true,
}

// SkipsKind says whether objects of a kind are no templates.
func (s *Scope) SkipsKind(kind schema.GroupKind) bool {
	return ignoredGroups[kind.Group] || kind == schema.GroupKind{Kind: "Event"}
}

// Skips says whether an object is no template. What every namespace of every
// cluster has of its own is none: the root CA and the default service account.
func (s *Scope) Skips(ref Ref) bool {
	switch {
	case ref.Namespace != "" && s.SkipsNamespace(ref.Namespace):
		return true
	case ref.APIVersion == "v1" && ref.Kind == "Namespace":
		return s.SkipsNamespace(ref.Name)
	case ref.APIVersion == "v1" && ref.Kind == "ConfigMap":
		return ref.Name == "kube-root-ca.crt" || ref.Namespace == "kube-system" && ref.Name == "extension-apiserver-authentication"
	case ref.APIVersion == "v1" && ref.Kind == "ServiceAccount":
		return ref.Name == "default"
	}
	return s.SkipsKind(ref.GroupVersionKind().GroupKind())
}
