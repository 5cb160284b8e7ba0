package native

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Aggregate adds the members' status up (contract 11.6). changed is a copy of the
// template with its new status, nil if that is the old one. known is false for
// kinds without a rule.
func Aggregate(template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (changed *unstructured.Unstructured, known bool, err error) {
	rule, ok := aggregators[template.GroupVersionKind().GroupKind()]
	if !ok {
		return nil, false, nil
	}
	parts, err := decodeParts(items)
	if err != nil {
		return nil, true, err
	}
	before, _, err := unstructured.NestedMap(template.Object, "status")
	if err != nil {
		return nil, true, fmt.Errorf("read the status: %w", err)
	}
	s := &sum{template: template, parts: parts, status: before}
	if s.status == nil {
		s.status = map[string]any{}
	}
	rule(s)
	old, _, _ := unstructured.NestedMap(template.Object, "status")
	if len(old) == 0 && len(s.status) == 0 || equality.Semantic.DeepEqual(old, s.status) {
		return nil, true, nil
	}
	changed = template.DeepCopy()
	changed.Object["status"] = s.status
	return changed, true, nil
}

// part is what one cluster tells of its object.
type part struct {
	cluster string
	health  workv1alpha2.ResourceHealth
	status  map[string]any // nil: none yet
}

func decodeParts(items []workv1alpha2.AggregatedStatusItem) ([]part, error) {
	parts := make([]part, 0, len(items))
	for i := range items {
		p := part{cluster: items[i].ClusterName, health: items[i].Health}
		if raw := items[i].Status; raw != nil && len(raw.Raw) > 0 {
			if err := kjson.Unmarshal(raw.Raw, &p.status); err != nil {
				return nil, fmt.Errorf("status of cluster %s: %w", p.cluster, err)
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (p *part) number(field string) int64 {
	n, _ := p.status[field].(int64)
	return n
}

func (p *part) text(field string) string {
	t, _ := p.status[field].(string)
	return t
}

func (p *part) list(path ...string) []any {
	l, _, _ := unstructured.NestedSlice(p.status, path...)
	return l
}

// sum is one aggregation: status begins as a copy of the template's and becomes
// the result.
type sum struct {
	template *unstructured.Unstructured
	parts    []part
	status   map[string]any
}

var aggregators = map[schema.GroupKind]func(*sum){
	{Group: "apps", Kind: "Deployment"}: workloadSum("replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"),
	{Group: "apps", Kind: "ReplicaSet"}: workloadSum("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
	{Group: "apps", Kind: "DaemonSet"}: workloadSum("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
		"updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
	{Group: "apps", Kind: "StatefulSet"}: func(s *sum) {
		workloadSum("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")(s)
		s.revisions()
	},
	{Group: "batch", Kind: "Job"}:                 sumJob,
	{Group: "batch", Kind: "CronJob"}:             sumCronJob,
	{Kind: "Service"}:                             sumService,
	{Group: "networking.k8s.io", Kind: "Ingress"}: func(s *sum) { s.ingress("") },
	{Kind: "Pod"}:                                 sumPod,
	{Kind: "PersistentVolume"}: func(s *sum) {
		s.phase(func(present map[string]bool) string {
			return first(present, "Failed", "Pending", "Available", "Bound", "Released")
		})
	},
	{Kind: "PersistentVolumeClaim"}:                         sumClaim,
	{Group: "policy", Kind: "PodDisruptionBudget"}:          sumBudget,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: func(s *sum) { s.numbers("currentReplicas", "desiredReplicas") },
}

// numbers adds fields up. A sum of zero is not put where there was no value: the
// server would leave it out again.
func (s *sum) numbers(fields ...string) {
	for _, field := range fields {
		total := int64(0)
		for i := range s.parts {
			total += s.parts[i].number(field)
		}
		if _, present := s.status[field]; present || total != 0 {
			s.status[field] = total
		}
	}
}

// workloadSum adds up fields of a kind that counts replicas, and says which
// generation of the template all members have seen.
func workloadSum(fields ...string) func(*sum) {
	return func(s *sum) {
		s.numbers(fields...)
		if generation := s.template.GetGeneration(); generation > 0 && s.observed(generation) {
			s.status["observedGeneration"] = generation
		}
	}
}

// observed says whether every member has a status of the template's present
// generation.
func (s *sum) observed(generation int64) bool {
	if len(s.parts) == 0 {
		return false
	}
	for i := range s.parts {
		p := &s.parts[i]
		if p.status == nil || p.number("resourceTemplateGeneration") < generation {
			return false
		}
		if _, told := p.status["observedGeneration"]; !told && s.template.GetKind() == "StatefulSet" {
			// The unmodified agent leaves it out, but calls only those healthy
			// whose present generation has been observed.
			if p.health != workv1alpha2.ResourceHealthy {
				return false
			}
			continue
		}
		if p.number("observedGeneration") < p.number("generation") {
			return false
		}
	}
	return true
}

// revisions tells a StatefulSet's revisions: the current one equals the updated
// one only once this holds in every member.
func (s *sum) revisions() {
	current, updated := "", ""
	for i := range s.parts {
		c, u := s.parts[i].text("currentRevision"), s.parts[i].text("updateRevision")
		if updated == "" {
			current, updated = c, u
		}
		if c != u && current == updated {
			current, updated = c, u
		}
	}
	for field, value := range map[string]string{"currentRevision": current, "updateRevision": updated} {
		if value != "" {
			s.status[field] = value
		}
	}
}

// phase sets the phase that choose picks of those present; a member without one
// counts as Pending. Without members nothing changes.
func (s *sum) phase(choose func(present map[string]bool) string) {
	present := map[string]bool{}
	for i := range s.parts {
		phase := s.parts[i].text("phase")
		if phase == "" {
			phase = "Pending"
		}
		present[phase] = true
	}
	if phase := choose(present); phase != "" {
		s.status["phase"] = phase
	}
}

// first returns the first of some values that is present.
func first(present map[string]bool, order ...string) string {
	i := slices.IndexFunc(order, func(v string) bool { return present[v] })
	if i < 0 {
		return ""
	}
	return order[i]
}

// concatenate sets a field to the lists of all members, one after the other.
func (s *sum) concatenate(field string) {
	var all []any
	for i := range s.parts {
		all = append(all, s.parts[i].list(field)...)
	}
	if len(all) > 0 {
		s.status[field] = all
	} else {
		delete(s.status, field)
	}
}
