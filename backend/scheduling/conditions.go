package scheduling

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// Reasons of Events (contract section 3.8).
const (
	eventScheduleSucceed = "ScheduleBindingSucceed"
	eventScheduleFailed  = "ScheduleBindingFailed"
	actionSchedule       = "Schedule"
)

// noteLimit is the longest text of an Event that the API takes.
const noteLimit = 1024

// outcome is what came of looking at a binding.
type outcome struct {
	failure *Failure
	// affinity is the term in use.
	affinity string
	// renewed is set when the binding was scheduled again, fresh when that was
	// asked for, moved when its clusters changed.
	renewed, fresh, moved bool
	// revisited is set when a cluster's labels asked for it.
	revisited bool
}

// report writes the outcome into a status (contract section 9.7). A failure
// leaves what the last success recorded.
func (o *outcome) report(b workv1alpha2.Binding, now time.Time) {
	status := b.BindingStatus()
	condition := metav1.Condition{Type: workv1alpha2.Scheduled, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonSuccess, Message: "clusters are chosen"}
	condition.LastTransitionTime = metav1.NewTime(now)
	if o.failure != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, o.failure.Reason, o.failure.Message
		meta.SetStatusCondition(&status.Conditions, condition)
		return
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	if status.LastScheduledTime == nil || o.renewed && (o.fresh || o.moved || o.revisited || status.SchedulerObservedGeneration != b.GetGeneration()) {
		status.LastScheduledTime = o.scheduledAt(b, now)
	}
	status.SchedulerObservedGeneration = b.GetGeneration()
	status.SchedulerObservedAffinityName = o.affinity
}

// scheduledAt is when a binding counts as scheduled. Times in the API have whole
// seconds and a request of the same second counts as open (RescheduleRequested), so an
// answered one is followed by the next second; and time does not go back, or the
// request would be open again.
func (o *outcome) scheduledAt(b workv1alpha2.Binding, now time.Time) *metav1.Time {
	at := metav1.NewTime(now).Rfc3339Copy()
	if asked := b.BindingSpec().RescheduleTriggeredAt; o.fresh && !at.After(asked.Time) {
		at = metav1.NewTime(asked.Add(time.Second))
	}
	if last := b.BindingStatus().LastScheduledTime; at.Before(last) {
		at = *last
	}
	return &at
}

// announcer tells people, on the binding and on its template, what changed.
type announcer struct {
	recorder events.EventRecorder
	// limit is for what went well, troubles for what did not, and its end.
	limit, troubles *rate.Limiter
}

// announce compares the condition before with that of the binding now.
func (a *announcer) announce(b workv1alpha2.Binding, before *metav1.Condition, moved bool) {
	now := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.Scheduled)
	same := before != nil && before.Status == now.Status && before.Reason == now.Reason
	if same && !moved {
		return
	}
	if well := now.Status == metav1.ConditionTrue && (before == nil || same); well {
		if !a.limit.AllowN(time.Now(), 1) || !kube.MayTell(b) {
			return
		}
	} else if !a.troubles.AllowN(time.Now(), 1) {
		return
	}
	spec := b.BindingSpec()
	kind, reason, note := corev1.EventTypeNormal, eventScheduleSucceed, "scheduled to "+resultList(spec)
	if now.Status != metav1.ConditionTrue {
		kind, reason, note = corev1.EventTypeWarning, eventScheduleFailed, shorten(now.Message)
	}
	template := &corev1.ObjectReference{
		APIVersion: spec.Resource.APIVersion, Kind: spec.Resource.Kind,
		Namespace: spec.Resource.Namespace, Name: spec.Resource.Name, UID: spec.Resource.UID,
	}
	kube.Tell(a.recorder, b, kind, reason, actionSchedule, note)
	kube.Tell(a.recorder, template, kind, reason, actionSchedule, note)
}

// resultList is the result in the form that users know: "member1:1, member2:1".
func resultList(spec *workv1alpha2.ResourceBindingSpec) string {
	if len(spec.Clusters) == 0 {
		return "no cluster"
	}
	var list strings.Builder
	for i, target := range spec.Clusters {
		more := fmt.Sprintf(" and %d more", len(spec.Clusters)-i)
		item := target.Name
		if isWorkload(spec) {
			item = fmt.Sprintf("%s:%d", target.Name, target.Replicas)
		}
		if list.Len()+len(item)+2*len(more) > noteLimit {
			list.WriteString(more)
			break
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(item)
	}
	return list.String()
}

func shorten(text string) string {
	if len(text) <= noteLimit {
		return text
	}
	return strings.ToValidUTF8(text[:noteLimit-len("…")], "") + "…"
}
