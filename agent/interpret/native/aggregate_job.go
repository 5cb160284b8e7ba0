package native

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sumJob adds up a Job: failed as soon as it failed in one member, complete once
// it is in all. What a server refuses in a Job's status is avoided: counters that
// go down, another start time, an end without the condition that announces it,
// and active pods after the end. As the start cannot be mended it is told when all
// have started, or with the end. A finished Job is left as it is.
func sumJob(s *sum) {
	if finished(s.status, "Complete") || finished(s.status, "Failed") {
		return
	}
	succeeded, _ := s.status["succeeded"].(int64)
	failed, _ := s.status["failed"].(int64)
	s.numbers("active", "succeeded", "failed")
	s.atLeast("succeeded", succeeded)
	s.atLeast("failed", failed)
	if _, started := s.status["startTime"]; !started && s.allHave("startTime") {
		s.status["startTime"] = s.extreme("startTime", time.Time.Before)
	}
	var broken []string
	done, ended := 0, ""
	for i := range s.parts {
		p := &s.parts[i]
		if finished(p.status, "Failed") {
			broken = append(broken, p.cluster)
			ended = max(ended, transition(p.status, "Failed"))
		}
		if finished(p.status, "Complete") {
			done++
		}
	}
	switch {
	case len(broken) > 0:
		message := "The job failed in: " + strings.Join(broken, ", ")
		s.finish(ended, condition("FailureTarget", "JobFailed", message, ended), condition("Failed", "JobFailed", message, ended))
	case done > 0 && done == len(s.parts):
		ended = s.extreme("completionTime", time.Time.After)
		if ended == "" {
			ended = transition(s.parts[0].status, "Complete")
		}
		if ended != "" {
			s.status["completionTime"] = ended
		}
		const message = "The job is complete in every cluster."
		s.finish(ended, condition("SuccessCriteriaMet", "Completed", message, ended), condition("Complete", "Completed", message, ended))
	}
}

// allHave says whether every member tells something in a field.
func (s *sum) allHave(field string) bool {
	return len(s.parts) > 0 && !slices.ContainsFunc(s.parts, func(p part) bool { return p.text(field) == "" })
}

func (s *sum) atLeast(field string, least int64) {
	if n, _ := s.status[field].(int64); n < least {
		s.status[field] = least
	}
}

// finish ends a Job with conditions.
func (s *sum) finish(at string, conditions ...map[string]any) {
	delete(s.status, "active")
	delete(s.status, "ready")
	if at == "" {
		at, _, _ = unstructured.NestedString(s.template.Object, "metadata", "creationTimestamp") // an end has a time
	}
	if _, started := s.status["startTime"]; !started {
		if start := cmp.Or(s.extreme("startTime", time.Time.Before), at); start != "" {
			s.status["startTime"] = start
		}
	}
	list, _, _ := unstructured.NestedSlice(s.status, "conditions")
	for _, c := range conditions {
		list = slices.DeleteFunc(list, func(old any) bool {
			fields, ok := old.(map[string]any)
			return ok && fields["type"] == c["type"]
		})
		list = append(list, c)
	}
	s.status["conditions"] = list
}

func condition(kind, reason, message, at string) map[string]any {
	c := map[string]any{"type": kind, "status": "True", "reason": reason, "message": message}
	if at != "" {
		c["lastProbeTime"], c["lastTransitionTime"] = at, at
	}
	return c
}

// finished says whether a Job's status has a condition that is true.
func finished(status map[string]any, kind string) bool {
	_, ok := conditionOf(status, kind)
	return ok
}

// transition returns since when a condition holds.
func transition(status map[string]any, kind string) string {
	c, _ := conditionOf(status, kind)
	at, _ := c["lastTransitionTime"].(string)
	return at
}

// conditionOf returns a condition that is true.
func conditionOf(status map[string]any, kind string) (map[string]any, bool) {
	list, _, _ := unstructured.NestedSlice(status, "conditions")
	for _, entry := range list {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind && c["status"] == "True" {
			return c, true
		}
	}
	return nil, false
}
