package template

import "muster.dev/muster/backend/kube"

// The metrics of contract section 14 about policies and what they take.
var (
	matching    = kube.NewDurations("resource_match_policy_duration_seconds", "How long finding the policy of a template took.", 12)
	applying    = kube.NewDurations("resource_apply_policy_duration_seconds", "How long giving a template its policy and its binding took.", 12, "result")
	attempts    = kube.NewCounters("policy_apply_attempts_total", "Attempts to give a template its policy and its binding.", "result")
	preemptions = kube.NewCounters("policy_preemption_total", "Templates that a policy took from another.", "result")
)
