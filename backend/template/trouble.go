package template

import (
	"errors"
	"fmt"
	"sync"

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

// troubles tells of what keeps templates from being propagated, once for each
// trouble, and of its end. What goes well from the start is told in measure.
type troubles struct {
	events *kube.Announcer

	mu   sync.Mutex
	last map[Ref]string
}

func newTroubles(recorder events.EventRecorder) *troubles {
	return &troubles{events: kube.NewAnnouncer(recorder), last: map[Ref]string{}}
}

// tell says what is wrong with an object, unless that was said last.
func (t *troubles) tell(about runtime.Object, ref Ref, reason, text string) {
	t.mu.Lock()
	known := t.last[ref] == text
	t.last[ref] = text
	t.mu.Unlock()
	if !known {
		kube.Tell(t.events, about, corev1.EventTypeWarning, reason, "Propagate", text)
	}
}

// over says that a trouble has ended, if there was one.
func (t *troubles) over(about runtime.Object, ref Ref, reason, text string) {
	if t.forget(ref) {
		t.events.Eventf(about, nil, corev1.EventTypeNormal, reason, "Propagate", "%s", text)
	}
}

// has says whether something is wrong with an object.
func (t *troubles) has(ref Ref) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, has := t.last[ref]
	return has
}

func (t *troubles) forget(ref Ref) (had bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, had = t.last[ref]
	delete(t.last, ref)
	return had
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
