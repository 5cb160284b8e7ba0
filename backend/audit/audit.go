package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/fault"
)

// Action is what somebody wants to do.
type Action struct {
	// Verb is what is done: create, update, patch, delete, or a product's verb
	// like login or revoke.
	Verb string
	// Kind is the noun it is done to, like Cluster or User.
	Kind string
	// Namespace is empty for what has none.
	Namespace string
	// Name may be empty if it is known only afterwards; see SetName.
	Name string
	// Detail says more, in few and short words. It is masked before it is stored.
	Detail map[string]string
	// Needs is the least role that may do it; empty: Do does not look. Without
	// the role the attempt is recorded as denied and not made.
	Needs access.Role
}

// Outcome is what became of an action.
type Outcome string

// The outcomes.
const (
	Pending Outcome = "pending" // under way
	OK      Outcome = "ok"
	Denied  Outcome = "denied" // refused for lack of rights or identity
	Failed  Outcome = "failed"
	Unknown Outcome = "unknown" // the hub stopped, or was cut off, before it knew
)

var outcomes = []Outcome{Pending, OK, Denied, Failed, Unknown}

// Entry is one action as it is shown: intent and outcome as one row.
type Entry struct {
	// ID is our key of the action; ids sort by the time of the intent.
	ID string `json:"id"`
	// At is when it was asked for.
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Via    string    `json:"via" enums:"rest,hub-api,cli"`
	Source string    `json:"source"`
	Verb   string    `json:"verb"`
	Kind   string    `json:"kind"`
	// Namespace is empty for what has none.
	Namespace string  `json:"namespace,omitempty" validate:"optional"`
	Name      string  `json:"name,omitempty" validate:"optional"`
	Outcome   Outcome `json:"outcome" swaggertype:"string" enums:"pending,ok,denied,failed,unknown"`
	// Code is the problem's code (rest) or the reason (hub-api) of what did not succeed.
	Code string `json:"code,omitempty" validate:"optional"`
	// Detail says more; values of secrets are masked.
	Detail map[string]string `json:"detail,omitempty" validate:"optional"`
	// DurationMillis is how long it took, in milliseconds.
	DurationMillis *int64 `json:"durationMillis,omitempty" validate:"optional"`
	// RequestID names the request in the hub's log; for hub-api it is the
	// Audit-ID, which a client may choose.
	RequestID string `json:"requestId,omitempty" validate:"optional"`
}

// judge tells outcome and code of an action that ended with err.
func judge(err error) (Outcome, string) {
	if err == nil {
		return OK, ""
	}
	known, ok := fault.As(err)
	switch {
	case !ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return Unknown, "interrupted"
	case !ok:
		return Failed, "internal"
	}
	code := known.Code
	if code == "" {
		code = string(known.Kind)
	}
	if known.Kind == fault.KindForbidden || known.Kind == fault.KindUnauthenticated {
		return Denied, code
	}
	return Failed, code
}

// judgeStatus tells the outcome of a request that was answered with an HTTP
// status.
func judgeStatus(status int32) Outcome {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Denied
	case status == http.StatusGatewayTimeout: // it may have been done all the same
		return Unknown
	case status >= http.StatusBadRequest:
		return Failed
	default:
		return OK
	}
}

// Filter says which entries to list; what is empty does not count.
type Filter struct {
	Actor, Verb, Kind, Namespace, Via string
	// Name is the exact name.
	Name string
	// NameContains is a part of the name, in any case.
	NameContains string
	Outcome      Outcome
	// Since and Until bound the time of the intent: since ≤ at < until.
	Since, Until time.Time
}

// newKey makes the key of an action that is asked for at a time: its
// microseconds, so that keys sort by time, and random bits.
func newKey(at time.Time) string {
	return keyFloor(at) + strings.ToLower(rand.Text()[:12])
}

// keyFloor is not above any key made at or after a time, nor below any made before.
func keyFloor(at time.Time) string { return fmt.Sprintf("%014x", max(at.UnixMicro(), 0)) }
