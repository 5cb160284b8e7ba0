package native

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Health judges a member object by its kind (contract 11.5). Kinds without a rule
// are healthy once they exist; Unknown means that the object has not the shape
// its kind should have.
func Health(o *unstructured.Unstructured) workv1alpha1.ResourceHealth {
	rule, ok := healthRules[o.GroupVersionKind().GroupKind()]
	if !ok {
		return workv1alpha1.ResourceHealthy
	}
	s := shape{fields: o.Object}
	healthy := rule(&s)
	switch {
	case s.broken:
		return workv1alpha1.ResourceUnknown
	case healthy:
		return workv1alpha1.ResourceHealthy
	}
	return workv1alpha1.ResourceUnhealthy
}

var healthRules = map[schema.GroupKind]func(*shape) bool{
	{Group: "apps", Kind: "Deployment"}: func(s *shape) bool {
		updated := s.number("status", "updatedReplicas")
		return s.observed() && updated >= s.replicas() && s.number("status", "availableReplicas") >= updated
	},
	{Group: "apps", Kind: "StatefulSet"}: func(s *shape) bool {
		return s.observed() && s.number("status", "updatedReplicas") >= s.replicas() &&
			s.number("status", "availableReplicas") >= s.number("status", "updatedReplicas")
	},
	{Group: "apps", Kind: "ReplicaSet"}: func(s *shape) bool {
		return s.observed() && s.number("status", "availableReplicas") >= s.replicas()
	},
	{Group: "apps", Kind: "DaemonSet"}: func(s *shape) bool {
		desired := s.number("status", "desiredNumberScheduled")
		return s.observed() && s.number("status", "updatedNumberScheduled") >= desired && s.number("status", "numberAvailable") >= desired
	},
	{Kind: "Service"}: func(s *shape) bool {
		return s.text("spec", "type") != "LoadBalancer" || s.entries("status", "loadBalancer", "ingress") > 0
	},
	{Group: "networking.k8s.io", Kind: "Ingress"}: func(s *shape) bool {
		return s.entries("status", "loadBalancer", "ingress") > 0
	},
	{Kind: "PersistentVolumeClaim"}: func(s *shape) bool { return s.text("status", "phase") == "Bound" },
	{Kind: "Pod"}: func(s *shape) bool {
		phase := s.text("status", "phase")
		return phase == "Succeeded" || phase == "Running" && s.condition("Ready") == "True"
	},
	{Group: "policy", Kind: "PodDisruptionBudget"}: func(s *shape) bool {
		return s.number("status", "currentHealthy") >= s.number("status", "desiredHealthy")
	},
}

// shape reads fields and remembers whether one had another type than expected.
type shape struct {
	fields map[string]any
	broken bool
}

func (s *shape) number(path ...string) int64 {
	n, _, err := unstructured.NestedInt64(s.fields, path...)
	s.broken = s.broken || err != nil
	return n
}

func (s *shape) text(path ...string) string {
	t, _, err := unstructured.NestedString(s.fields, path...)
	s.broken = s.broken || err != nil
	return t
}

func (s *shape) entries(path ...string) int {
	l, _, err := unstructured.NestedSlice(s.fields, path...)
	s.broken = s.broken || err != nil
	return len(l)
}

// observed says whether the member's controller has seen the current generation.
func (s *shape) observed() bool {
	return s.number("status", "observedGeneration") == s.number("metadata", "generation")
}

// replicas returns how many are wanted: one, unless the object says otherwise.
func (s *shape) replicas() int64 {
	n, ok, err := unstructured.NestedInt64(s.fields, "spec", "replicas")
	s.broken = s.broken || err != nil
	if !ok {
		return 1
	}
	return n
}

func (s *shape) condition(kind string) string {
	list, _, err := unstructured.NestedSlice(s.fields, "status", "conditions")
	s.broken = s.broken || err != nil
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}
