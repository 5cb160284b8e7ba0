package template

import (
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"muster.dev/muster/backend/kube"
)

// Reasons of Events about a template (contract section 3.8).
const (
	eventApplied          = "ApplyPolicySucceed"
	eventApplyFailed      = "ApplyPolicyFailed"
	eventPreempted        = "PreemptPolicySucceed"
	eventPreemptFailed    = "PreemptPolicyFailed"
	eventReplicas         = "GetReplicasSucceed"
	eventReplicasFailed   = "GetReplicasFailed"
	eventComponents       = "GetComponentsSucceed"
	eventComponentsFailed = "GetComponentsFailed"
)

// Trouble is what keeps a template from being propagated as it is now.
type Trouble struct {
	// Reason is that of the Event about it; Message says what is wrong, and what to
	// do about it as far as that is known.
	Reason, Message string
	Since           time.Time
}

// Troubles are the templates that cannot be propagated as they are now. What has
// no binding yet has no other place to say so. The controllers tell it, workloads
// show it.
type Troubles struct {
	mu      sync.Mutex
	last    map[Ref]Trouble
	changed func(Ref)
}

// NewTroubles returns an empty Troubles.
func NewTroubles() *Troubles { return &Troubles{last: map[Ref]Trouble{}} }

// Of is what is wrong with a template, if anything is.
func (t *Troubles) Of(ref Ref) (Trouble, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trouble, has := t.last[ref]
	return trouble, has
}

// Follow has changed told of every change from now on. One may follow.
func (t *Troubles) Follow(changed func(Ref)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = changed
}

// Set takes in what is wrong with a template. It says whether that is news.
func (t *Troubles) Set(ref Ref, reason, text string) (news bool) {
	t.mu.Lock()
	if t.last[ref].Message == text {
		t.mu.Unlock()
		return false
	}
	t.last[ref] = Trouble{Reason: reason, Message: text, Since: time.Now()}
	changed := t.changed
	t.mu.Unlock()
	if changed != nil {
		changed(ref)
	}
	return true
}

// Forget drops what is known of a template. It says whether something was wrong.
func (t *Troubles) Forget(ref Ref) (had bool) {
	t.mu.Lock()
	_, had = t.last[ref]
	delete(t.last, ref)
	changed := t.changed
	t.mu.Unlock()
	if had && changed != nil {
		changed(ref)
	}
	return had
}

// troubles tells of what keeps templates from being propagated, once for each
// trouble, and of its end. What goes well from the start is told in measure.
type troubles struct {
	*Troubles
	events *kube.Announcer
}

func newTroubles(known *Troubles, recorder events.EventRecorder) *troubles {
	if known == nil {
		known = NewTroubles()
	}
	return &troubles{Troubles: known, events: kube.NewAnnouncer(recorder)}
}

// tell says what is wrong with an object, unless that was said last.
func (t *troubles) tell(about runtime.Object, ref Ref, reason, text string) {
	if t.Set(ref, reason, text) {
		kube.Tell(t.events, about, corev1.EventTypeWarning, reason, "Propagate", text)
	}
}

// over says that a trouble has ended, if there was one.
func (t *troubles) over(about runtime.Object, ref Ref, reason, text string) {
	if t.Forget(ref) {
		t.events.Eventf(about, nil, corev1.EventTypeNormal, reason, "Propagate", "%s", text)
	}
}

// has says whether something is wrong with an object.
func (t *troubles) has(ref Ref) bool {
	_, has := t.Of(ref)
	return has
}

func (t *troubles) preempted(o *unstructured.Unstructured, by, from Claim) {
	t.events.Eventf(o, nil, corev1.EventTypeNormal, eventPreempted, "Propagate", "%s has taken the object over from %s", by, from)
}

// String names the policy of a claim for people.
func (c Claim) String() string {
	if c.Namespace == "" {
		return c.Kind + " " + c.Name
	}
	return c.Kind + " " + c.Namespace + "/" + c.Name
}

// failed is an error that has an event of its own.
type failed struct {
	reason string
	error
}

// Unwrap lets callers see the cause.
func (e *failed) Unwrap() error { return e.error }

// reasonOf is the reason of the event about an error.
func reasonOf(err error, otherwise string) string {
	var known *failed
	if errors.As(err, &known) {
		return known.reason
	}
	return otherwise
}

// missingOverride words that a policy waits for an override policy.
func missingOverride(claim Claim, name string) string {
	kind := "OverridePolicy " + claim.Namespace + "/"
	if claim.Namespace == "" {
		kind = "ClusterOverridePolicy "
	}
	return fmt.Sprintf("%s waits for %s%s: create it or take it out of spec.dependentOverrides", claim, kind, name)
}
