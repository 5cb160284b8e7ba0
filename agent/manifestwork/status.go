package manifestwork

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

const (
	conditionDeleting        = "Deleting"
	reasonWorkDeleting       = "WorkDeleting"
	reasonStatusUnknown      = "ResourceStatusUnknown"
	reasonStatusesUnknown    = "ResourcesStatusUnknown"
	messageWorkApplied       = "Apply manifest work complete"
	messageWorkNotApplied    = "Failed to apply manifest work"
	messageManifestApplied   = "Apply manifest complete"
	messageApplyFailedPrefix = "Failed to apply manifest: "
)

// outcome is what became of one manifest in a pass.
type outcome struct {
	meta   ocmworkv1.ManifestResourceMeta
	place  place
	option *ocmworkv1.ManifestConfigOption
	// tried says whether it was applied in this pass; err then says why it was not.
	tried bool
	err   error
	// object is as the member has it, nil if it has none; unread says why that is
	// not known.
	object *unstructured.Unstructured
	unread error
	// unwatched tells that changes of the object are not heard of.
	unwatched bool
}

// reporter makes statuses.
type reporter struct {
	expressions *expressions
	raw         bool // values of any shape are told
	every       time.Duration
	now         func() time.Time
}

// status returns what a work's status becomes with the outcomes of a pass. Times of
// conditions that have not turned are kept. Conditions of others are left alone.
func (r *reporter) status(work *ocmworkv1.ManifestWork, outcomes []outcome) *ocmworkv1.ManifestWorkStatus {
	status := work.Status.DeepCopy()
	manifests := make([]ocmworkv1.ManifestCondition, 0, len(outcomes))
	for i := range outcomes {
		manifests = append(manifests, r.manifest(work, &outcomes[i]))
	}
	status.ResourceStatus.Manifests = manifests
	if work.DeletionTimestamp != nil {
		r.set(&status.Conditions, work.Generation, metav1.Condition{Type: conditionDeleting, Status: metav1.ConditionTrue, Reason: reasonWorkDeleting, Message: "ManifestWork is being deleted"})
	} else if applied, ok := appliedOf(manifests); ok {
		r.set(&status.Conditions, work.Generation, applied)
	}
	if available, ok := availableOf(manifests); ok {
		r.set(&status.Conditions, work.Generation, available)
	}
	made := ruleConditions(manifests)
	for _, c := range made {
		r.set(&status.Conditions, work.Generation, c)
	}
	for _, c := range append([]metav1.Condition{}, status.Conditions...) { // of rules that are gone
		if c.Reason == ocmworkv1.ReasonConditionRulesAggregated && meta.FindStatusCondition(made, c.Type) == nil {
			meta.RemoveStatusCondition(&status.Conditions, c.Type)
		}
	}
	return status
}

func (r *reporter) set(conditions *[]metav1.Condition, generation int64, c metav1.Condition) {
	c.ObservedGeneration = generation
	c.LastTransitionTime = metav1.NewTime(r.now()).Rfc3339Copy()
	meta.SetStatusCondition(conditions, c)
}

// manifest returns the state of one manifest.
func (r *reporter) manifest(work *ocmworkv1.ManifestWork, o *outcome) ocmworkv1.ManifestCondition {
	state := ocmworkv1.ManifestCondition{ResourceMeta: o.meta}
	for _, old := range work.Status.ResourceStatus.Manifests {
		if sameManifest(old.ResourceMeta, o.meta) {
			state.Conditions = append(state.Conditions, old.Conditions...)
			state.StatusFeedbacks = *old.StatusFeedbacks.DeepCopy()
			break
		}
	}
	if o.tried {
		applied := metav1.Condition{Type: ocmworkv1.ConditionApplied, Status: metav1.ConditionTrue, Reason: ocmworkv1.ReasonManifestApplied, Message: messageManifestApplied}
		if o.err != nil {
			applied.Status, applied.Reason, applied.Message = metav1.ConditionFalse, ocmworkv1.ReasonManifestApplyFailed, messageApplyFailedPrefix+brief(o.err.Error())
		}
		r.set(&state.Conditions, work.Generation, applied)
	}
	r.set(&state.Conditions, 0, presence(o))
	if o.object == nil {
		return state
	}
	r.feedback(o, &state)
	made := map[string]struct{}{}
	if o.option != nil {
		for _, rule := range o.option.ConditionRules {
			if c, ok := r.expressions.judge(rule, o.object); ok {
				r.set(&state.Conditions, work.Generation, c)
				made[c.Type] = struct{}{}
			}
		}
	}
	for _, c := range append([]metav1.Condition{}, state.Conditions...) {
		if _, ok := made[c.Type]; !ok && fromRule(c) {
			meta.RemoveStatusCondition(&state.Conditions, c.Type)
		}
	}
	return state
}

func sameManifest(a, b ocmworkv1.ManifestResourceMeta) bool {
	a.Ordinal, b.Ordinal = 0, 0
	if a.Resource == "" || b.Resource == "" { // not known at one time
		a.Resource, b.Resource = "", ""
	}
	return a == b
}

// presence says whether the member has an object.
func presence(o *outcome) metav1.Condition {
	c := metav1.Condition{Type: ocmworkv1.ConditionAvailable}
	switch {
	case o.meta.Resource == "":
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ocmworkv1.ReasonIncompleteResourceMeta, "Resource meta is incomplete"
	case o.unread != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonStatusUnknown, brief(o.unread.Error())
	case o.object == nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, ocmworkv1.ReasonResourceNotAvailable, "Resource is not available"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ocmworkv1.ReasonResourceAvailable, "Resource is available"
	}
	return c
}

func (r *reporter) feedback(o *outcome, state *ocmworkv1.ManifestCondition) {
	c := metav1.Condition{Type: ocmworkv1.ConditionStatusFeedbackSynced, Status: metav1.ConditionTrue, Reason: ocmworkv1.ReasonNoStatusFeedbackSynced}
	state.StatusFeedbacks = ocmworkv1.StatusFeedbackResult{}
	if o.option != nil && len(o.option.FeedbackRules) > 0 {
		values, err := feedback(o.object, o.option.FeedbackRules, r.raw)
		state.StatusFeedbacks.Values = values
		c.Reason = ocmworkv1.ReasonStatusFeedbackSynced
		if o.unwatched && o.option.FeedbackScrapeType == ocmworkv1.FeedbackWatch { // what is watched is told on each change, whatever the type
			c.Message = fmt.Sprintf("The values are read every %s and not on each change: %s cannot be watched in this cluster", r.every, o.meta.Resource)
		}
		if err != nil {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, ocmworkv1.ReasonStatusFeedbackSyncFailed, "Sync status feedback failed with error "+brief(err.Error())
		}
	}
	r.set(&state.Conditions, 0, c)
}

func fromRule(c metav1.Condition) bool {
	return c.Reason == reasonRuleEvaluated || c.Reason == reasonRuleError || c.Reason == reasonRuleInvalid
}

// appliedOf sums up whether all manifests are applied.
func appliedOf(manifests []ocmworkv1.ManifestCondition) (metav1.Condition, bool) {
	for _, m := range manifests {
		c := meta.FindStatusCondition(m.Conditions, ocmworkv1.ConditionApplied)
		if c == nil {
			return metav1.Condition{}, false
		}
		if c.Status != metav1.ConditionTrue {
			return metav1.Condition{Type: ocmworkv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: ocmworkv1.ReasonWorkApplyFailed, Message: messageWorkNotApplied}, true
		}
	}
	return metav1.Condition{Type: ocmworkv1.ConditionApplied, Status: metav1.ConditionTrue, Reason: ocmworkv1.ReasonWorkApplied, Message: messageWorkApplied}, len(manifests) > 0
}

// availableOf sums up whether all objects are there.
func availableOf(manifests []ocmworkv1.ManifestCondition) (metav1.Condition, bool) {
	missing, unknown := 0, 0
	for _, m := range manifests {
		switch c := meta.FindStatusCondition(m.Conditions, ocmworkv1.ConditionAvailable); {
		case c == nil || c.Status == metav1.ConditionUnknown:
			unknown++
		case c.Status == metav1.ConditionFalse:
			missing++
		}
	}
	c := metav1.Condition{Type: ocmworkv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: ocmworkv1.ReasonResourcesAvailable, Message: "All resources are available"}
	switch {
	case missing > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, ocmworkv1.ReasonResourcesNotAvailable, fmt.Sprintf("%d of %d resources are not available", missing, len(manifests))
	case unknown > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonStatusesUnknown, fmt.Sprintf("%d of %d resources have unknown status", unknown, len(manifests))
	}
	return c, len(manifests) > 0
}

// ruleConditions sums up, for each type, what the rules of all manifests made: true
// if all are, false if one is, else unknown. Those that decide give the message.
func ruleConditions(manifests []ocmworkv1.ManifestCondition) []metav1.Condition {
	var types []string
	byType := map[string][]metav1.Condition{}
	for _, m := range manifests {
		for _, c := range m.Conditions {
			if !fromRule(c) {
				continue
			}
			if byType[c.Type] == nil {
				types = append(types, c.Type)
			}
			byType[c.Type] = append(byType[c.Type], c)
		}
	}
	conditions := make([]metav1.Condition, 0, len(types))
	for _, t := range types {
		status := metav1.ConditionTrue
		for _, c := range byType[t] {
			if c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown && status == metav1.ConditionTrue {
				status = c.Status
			}
		}
		var messages []string
		for _, c := range byType[t] {
			if c.Status == status && c.Message != "" {
				messages = append(messages, c.Message)
			}
		}
		conditions = append(conditions, metav1.Condition{Type: t, Status: status, Reason: ocmworkv1.ReasonConditionRulesAggregated, Message: brief(strings.Join(unique(messages), "; "))})
	}
	return conditions
}

func unique(texts []string) []string {
	seen := map[string]struct{}{}
	var kept []string
	for _, text := range texts {
		if _, ok := seen[text]; !ok {
			seen[text] = struct{}{}
			kept = append(kept, text)
		}
	}
	return kept
}
