package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// probeReady asks the member's readiness endpoint, or the older health endpoint
// where there is none, and judges the answer.
func probeReady(ctx context.Context, client rest.Interface) metav1.Condition {
	code, err := getCode(ctx, client, "/readyz")
	if code == http.StatusNotFound {
		code, err = getCode(ctx, client, "/healthz")
	}
	return ReadyCondition(code, err)
}

func getCode(ctx context.Context, client rest.Interface, path string) (int, error) {
	var code int
	result := client.Get().AbsPath(path).MaxRetries(0).Do(ctx).StatusCode(&code)
	return code, result.Error()
}

// ReadyCondition judges the answer to a readiness probe: its HTTP status, 0 if
// there was none, and the error that came with it. The condition has no time.
func ReadyCondition(code int, err error) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionFalse}
	switch {
	case code == http.StatusOK:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady, "The API server of the cluster is ready."
	case code == 0:
		c.Reason, c.Message = clusterv1alpha1.ReasonClusterNotReachable, "The API server of the cluster cannot be reached: "+cause(err)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		c.Reason, c.Message = clusterv1alpha1.ReasonClusterNotReady, fmt.Sprintf("The API server of the cluster refuses our credential (HTTP %d).", code)
	default:
		c.Reason, c.Message = clusterv1alpha1.ReasonClusterNotReady, fmt.Sprintf("The API server of the cluster says that it is not ready (HTTP %d).", code)
	}
	return c
}

// cause gives a request error in one stable line: without what changes from try
// to try, such as source ports, the condition would be rewritten each time.
func cause(err error) string {
	if err == nil {
		return "no answer."
	}
	if errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) {
		return "no answer in time."
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error() + "."
}

func failedGroups(err error) []string {
	var failed *discovery.ErrGroupDiscoveryFailed
	if !errors.As(err, &failed) {
		return []string{cause(err)}
	}
	var groups []string
	for gv := range failed.Groups {
		groups = append(groups, gv.String())
	}
	slices.Sort(groups)
	return groups
}

// damper holds back flips between True and not True until the new observation
// has lasted. The first observation is taken as it is.
//
//	shown ──(observation of the same kind)──► shown, with the newer reason
//	shown ──(other kind)──► waiting ──(lasted)──► shown
//	             ▲              │
//	             └──(old kind)──┘
type damper struct {
	lasting time.Duration
	shown   *metav1.Condition
	since   time.Time // when the observation that differs from shown was first made; zero if none
}

// observe takes an observation and returns what to show, with the time of its
// last transition.
func (d *damper) observe(now time.Time, seen metav1.Condition) metav1.Condition {
	if d.shown == nil {
		return d.show(now, seen)
	}
	if d.shown.Status == seen.Status {
		d.since = time.Time{}
		seen.LastTransitionTime = d.shown.LastTransitionTime
		d.shown = &seen
		return seen
	}
	if d.since.IsZero() {
		d.since = now
	}
	if now.Sub(d.since) >= d.lasting {
		return d.show(now, seen)
	}
	return *d.shown
}

func (d *damper) show(now time.Time, seen metav1.Condition) metav1.Condition {
	d.since = time.Time{}
	seen.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	d.shown = &seen
	return seen
}

// waiting says whether an observation is being held back.
func (d *damper) waiting() bool { return !d.since.IsZero() }
