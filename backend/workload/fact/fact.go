// Package fact says, in sentences, why workloads are as they are, and names what
// the sentences are about. Each sentence has a code that never changes once
// released and parameters, so that it can be said in another language.
package fact

import (
	"strconv"
	"strings"
	"time"
)

// Level says how much a fact asks for attention.
type Level string

// The levels of facts.
const (
	LevelOK    Level = "ok"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Code names a sentence, for translation. It never changes once released.
type Code string

// The sentences; what stands in braces are their parameters.
const (
	CodePolicyHolds     Code = "policy.holds"      // policy
	CodePolicyAttached  Code = "policy.attached"   // parent
	CodePolicyManagedBy Code = "policy.managed-by" // component
	CodePolicyNone      Code = "policy.none"
	CodePolicyComing    Code = "policy.coming"  // policy
	CodePolicyGone      Code = "policy.gone"    // policy
	CodePolicyRemoved   Code = "policy.removed" // nothing: the binding stays
	CodeTemplateGone    Code = "template.gone"
	CodeTemplateGoing   Code = "template.going"
	CodeTemplateStuck   Code = "template.stuck" // reason message
	CodeBindingMissing  Code = "binding.missing"
	CodeScheduled       Code = "schedule.done" // count clusters
	CodeSchedulePending Code = "schedule.pending"
	CodeSchedulePaused  Code = "schedule.suspended"
	CodeScheduleFailed  Code = "schedule.failed" // reason message
	CodeScheduleStale   Code = "schedule.stale"  // reason message
	CodeScheduleNowhere Code = "schedule.nowhere"
	CodeFiltered        Code = "schedule.filtered" // filter count reason
	CodeEvicting        Code = "schedule.evicting" // cluster reason
	CodeNeedsStuck      Code = "needs.stuck"       // reason message
	CodeWorkMissing     Code = "work.missing"      // cluster
	CodeWorkNotMade     Code = "work.not-made"     // cluster message
	CodeWorkStuck       Code = "work.stuck"        // cluster message
	CodeWorkPending     Code = "work.pending"      // cluster
	CodeWorkSuspended   Code = "work.suspended"    // cluster
	CodeWorkFailed      Code = "work.failed"       // cluster message
	CodeWorkConflict    Code = "work.conflict"     // cluster
	CodeWorkGoing       Code = "work.going"        // cluster
	CodeMemberGone      Code = "member.gone"       // cluster
	CodeMemberNotReady  Code = "member.not-ready"  // cluster message
	CodeHealthUnready   Code = "health.unready"    // cluster ready wanted
	CodeHealthUnhealthy Code = "health.unhealthy"  // cluster
	CodeHealthUnknown   Code = "health.unknown"    // cluster
	CodeHealthDegraded  Code = "health.degraded"   // cluster message
	CodeMore            Code = "more"              // count
	CodeAllReady        Code = "all.ready"         // clusters ready wanted
	CodeAllApplied      Code = "all.applied"       // clusters

	CodePodsWorst      Code = "pods.worst"       // cluster pod reason message
	CodePodsWorstPlain Code = "pods.worst-plain" // cluster pod reason
	CodePodsReady      Code = "pods.ready"       // cluster count
	CodePodsNone       Code = "pods.none"        // cluster
	CodePodsRefused    Code = "pods.refused"     // cluster message
	CodePodsNoObject   Code = "pods.no-object"   // cluster
	CodePodsForeign    Code = "pods.foreign"     // cluster
	CodePodsNoKind     Code = "pods.no-kind"     // kind
	CodePodsNotReady   Code = "pods.not-ready"   // cluster command
	CodePodsNoWay      Code = "pods.no-way"      // cluster command
	CodePodsNoAnswer   Code = "pods.no-answer"   // cluster command
	CodePodsDenied     Code = "pods.denied"      // cluster message command

	CodePreviewTakes     Code = "preview.takes"
	CodePreviewHolds     Code = "preview.holds"
	CodePreviewPreempts  Code = "preview.preempts" // policy
	CodePreviewHeld      Code = "preview.held"     // policy
	CodePreviewBeaten    Code = "preview.beaten"   // policy
	CodePreviewNoMatch   Code = "preview.no-match"
	CodePreviewReleases  Code = "preview.releases"
	CodePreviewPasses    Code = "preview.passes"    // policy
	CodePreviewComponent Code = "preview.component" // component
	CodePreviewWaits     Code = "preview.waits"     // override
	CodePreviewLazy      Code = "preview.lazy"
	CodePreviewScheduler Code = "preview.scheduler" // scheduler
	CodePreviewNowhere   Code = "preview.nowhere"
	CodePreviewChanges   Code = "preview.changes" // count clusters
)

// sentences are what codes say in English.
var sentences = map[Code]string{
	CodePolicyHolds:     "{policy} holds it.",
	CodePolicyAttached:  "It goes along with {parent}, which needs it.",
	CodePolicyManagedBy: "It is propagated by {component}.",
	CodePolicyNone:      "No policy matches it.",
	CodePolicyComing:    "{policy} matches it and will take it.",
	CodePolicyGone:      "{policy}, which holds it, does not exist any more.",
	CodePolicyRemoved:   "No policy holds it any more; it stays where it is.",
	CodeTemplateGone:    "The object does not exist on the hub any more.",
	CodeTemplateGoing:   "The object is being deleted on the hub.",
	CodeTemplateStuck:   "The hub cannot propagate it as it is now ({reason}): {message}",
	CodeBindingMissing:  "It has not been bound to clusters yet.",
	CodeScheduled:       "It is scheduled to clusters ({count}): {clusters}.",
	CodeSchedulePending: "The scheduler has not looked at it yet.",
	CodeSchedulePaused:  "Scheduling is suspended.",
	CodeScheduleFailed:  "No clusters were found ({reason}): {message}",
	CodeScheduleStale:   "It stays where it was, because scheduling it anew failed ({reason}): {message}",
	CodeScheduleNowhere: "It is scheduled to no cluster.",
	CodeFiltered:        "{filter} leaves out clusters ({count}): {reason}.",
	CodeEvicting:        "It is moving away from {cluster} ({reason}).",
	CodeNeedsStuck:      "What it needs cannot be sent along now ({reason}): {message}",
	CodeWorkMissing:     "{cluster}: the Work has not been made yet.",
	CodeWorkNotMade:     "{cluster}: the Work cannot be made: {message}",
	CodeWorkStuck:       "{cluster}: the latest change cannot be sent: {message}",
	CodeWorkPending:     "{cluster}: the object has not been applied yet.",
	CodeWorkSuspended:   "{cluster}: sending is suspended.",
	CodeWorkFailed:      "{cluster}: {message}",
	CodeWorkConflict:    "{cluster}: an object of this name exists there that the hub does not manage.",
	CodeWorkGoing:       "{cluster}: the object is being taken away.",
	CodeMemberGone:      "{cluster} does not exist any more.",
	CodeMemberNotReady:  "{cluster} is not ready: {message}",
	CodeHealthUnready:   "{cluster}: {ready} of {wanted} replicas are ready.",
	CodeHealthUnhealthy: "{cluster}: the object is not healthy yet.",
	CodeHealthUnknown:   "{cluster} has not reported how the object is.",
	CodeHealthDegraded:  "{cluster}: how the object is cannot be told: {message}",
	CodeMore:            "Further clusters are in the same way: {count}.",
	CodeAllReady:        "All clusters have it ({clusters}); {ready} of {wanted} replicas are ready.",
	CodeAllApplied:      "All clusters have it ({clusters}).",

	CodePodsWorst:      "{cluster}: pod {pod} is not ready, {reason}: {message}",
	CodePodsWorstPlain: "{cluster}: pod {pod} is not ready, {reason}.",
	CodePodsReady:      "{cluster}: all pods ({count}) are ready.",
	CodePodsNone:       "{cluster}: the object has no pods yet.",
	CodePodsRefused:    "{cluster}: no pods can be made for it: {message}",
	CodePodsNoObject:   "{cluster}: the object is not there, and so are no pods.",
	CodePodsForeign:    "{cluster}: the object there is not managed by the hub, which leaves its pods alone.",
	CodePodsNoKind:     "A {kind} has no pods of its own.",
	CodePodsNotReady:   "The hub does not ask {cluster} for pods while it is not ready. Look in the member ({command}).",
	CodePodsNoWay:      "The hub cannot ask {cluster} for pods: it has no address of it or no credential for it. Look in the member ({command}).",
	CodePodsNoAnswer:   "{cluster} did not answer the hub in time about its pods. Look in the member ({command}).",
	CodePodsDenied:     "{cluster} did not show its pods to the hub ({message}). Look in the member ({command}).",

	CodePreviewTakes:     "No policy holds it yet; this one would take it.",
	CodePreviewHolds:     "This policy holds it already.",
	CodePreviewPreempts:  "It would take it from {policy}.",
	CodePreviewHeld:      "{policy} holds it, and keeps it.",
	CodePreviewBeaten:    "{policy} would take it: it comes first by kind, priority, closeness of match or name.",
	CodePreviewNoMatch:   "The policy does not match it.",
	CodePreviewReleases:  "The policy would let it go; it stays where it is, and nobody holds it.",
	CodePreviewPasses:    "The policy would let it go, and {policy} would take it.",
	CodePreviewComponent: "{component} propagates it, so that policies leave it alone.",
	CodePreviewWaits:     "The policy waits for {override}, an override policy that does not exist yet.",
	CodePreviewLazy:      "Nothing changes until the object itself does, because the policy is activated lazily.",
	CodePreviewScheduler: "The scheduler {scheduler} decides where it goes, which is not ours.",
	CodePreviewNowhere:   "It goes to no cluster yet, so that there is nothing to change.",
	CodePreviewChanges:   "Overrides change it for {count} of its {clusters} clusters.",
}

// Fact is one link of the chain that says why a workload is as it is.
type Fact struct {
	Level Level `json:"level" enums:"ok,info,warn,error"`
	// Text says it in English; Code and Params say it for translation.
	Text   string            `json:"text"`
	Code   Code              `json:"code"`
	Params map[string]string `json:"params,omitempty" validate:"optional"`
	At     *time.Time        `json:"at,omitempty" validate:"optional"`
	Link   *ObjectRef        `json:"link,omitempty" validate:"optional"`
}

// Say makes a fact of a sentence and its parameters, as pairs.
func Say(level Level, code Code, pairs ...string) Fact {
	fact := Fact{Level: level, Code: code}
	if len(pairs) > 0 {
		fact.Params = make(map[string]string, len(pairs)/2)
	}
	filled := make([]string, 0, len(pairs))
	for i := 0; i+1 < len(pairs); i += 2 {
		fact.Params[pairs[i]] = pairs[i+1]
		filled = append(filled, "{"+pairs[i]+"}", pairs[i+1])
	}
	fact.Text = strings.NewReplacer(filled...).Replace(sentences[code])
	return fact
}

// Linked is the fact with what to look at next.
func (f Fact) Linked(link *ObjectRef) Fact {
	f.Link = link
	return f
}

// Since is the fact with the time it began; a zero time is none.
func (f Fact) Since(at time.Time) Fact {
	if !at.IsZero() {
		f.At = &at
	}
	return f
}

// Number is a count as a parameter.
func Number[N int | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
