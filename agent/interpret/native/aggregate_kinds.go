package native

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func sumPod(s *sum) {
	s.phase(func(present map[string]bool) string {
		return first(present, "Failed", "Pending", "Running", "Succeeded")
	})
	s.concatenate("containerStatuses")
	s.concatenate("initContainerStatuses")
}

// sumClaim: one lost claim is a loss; otherwise the claim that is not bound yet
// counts.
func sumClaim(s *sum) {
	s.phase(func(present map[string]bool) string {
		if present["Lost"] {
			return "Lost"
		}
		others := make([]string, 0, len(present))
		for phase := range present {
			if phase != "Bound" {
				others = append(others, phase)
			}
		}
		slices.Sort(others)
		return first(present, append(others, "Bound")...)
	})
}

func sumBudget(s *sum) {
	s.numbers("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
	disrupted := map[string]any{}
	for i := range s.parts {
		pods, _, _ := unstructured.NestedMap(s.parts[i].status, "disruptedPods")
		for pod, since := range pods {
			disrupted[s.parts[i].cluster+"/"+pod] = since
		}
	}
	if len(disrupted) > 0 {
		s.status["disruptedPods"] = disrupted
	} else {
		delete(s.status, "disruptedPods")
	}
}

func sumCronJob(s *sum) {
	s.concatenate("active")
	for _, field := range []string{"lastScheduleTime", "lastSuccessfulTime"} {
		if latest := s.extreme(field, time.Time.After); latest != "" {
			s.status[field] = latest
		}
	}
}

// extreme returns the time of a field that comes before all others in the sense
// of better, "" if no member has one.
func (s *sum) extreme(field string, better func(a, b time.Time) bool) string {
	best, text := time.Time{}, ""
	for i := range s.parts {
		value := s.parts[i].text(field)
		t, err := time.Parse(time.RFC3339, value)
		if err == nil && (text == "" || better(t, best)) {
			best, text = t, value
		}
	}
	return text
}

func sumService(s *sum) {
	if kind, _, _ := unstructured.NestedString(s.template.Object, "spec", "type"); kind == "LoadBalancer" {
		s.ingress("ipMode")
	}
}

// ingress unites the load balancers' addresses. The field defaulted is one that
// servers fill in; entries that differ in nothing else are the same.
func (s *sum) ingress(defaulted string) {
	var all []any
	for i := range s.parts {
		for _, entry := range s.parts[i].list("loadBalancer", "ingress") {
			if !slices.ContainsFunc(all, func(known any) bool { return sameEntry(known, entry, defaulted) }) {
				all = append(all, entry)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b any) int {
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		return cmp.Or(compareText(x["ip"], y["ip"]), compareText(x["hostname"], y["hostname"]))
	})
	old, _, _ := unstructured.NestedSlice(s.status, "loadBalancer", "ingress")
	if slices.EqualFunc(old, all, func(a, b any) bool { return sameEntry(a, b, defaulted) }) {
		return
	}
	balancer := map[string]any{}
	if len(all) > 0 {
		balancer["ingress"] = all
	}
	s.status["loadBalancer"] = balancer
}

func compareText(a, b any) int {
	x, _ := a.(string)
	y, _ := b.(string)
	return strings.Compare(x, y)
}

func sameEntry(a, b any, ignored string) bool {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	return okX && okY && equality.Semantic.DeepEqual(without(x, ignored), without(y, ignored))
}

func without(fields map[string]any, field string) map[string]any {
	rest := make(map[string]any, len(fields))
	for key, value := range fields {
		if key != field {
			rest[key] = value
		}
	}
	return rest
}
