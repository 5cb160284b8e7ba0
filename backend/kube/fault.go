package kube

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/fault"
)

// Fault turns an API server's refusal into the fault a user may see, with the
// server's own message and the fields it named. A fault stays what it is, and
// any other error is returned unchanged.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := fault.As(err); ok {
		return err
	}
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		return err
	}
	status := refusal.Status()
	make, ok := makers[status.Reason]
	if !ok {
		make, ok = makersByCode[status.Code]
	}
	if !ok {
		return err
	}
	known := make("%s", status.Message).Wrap(err)
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Field != "" {
				known.WithField(cause.Field, cause.Message)
			}
		}
	}
	return known
}

var makers = map[metav1.StatusReason]func(string, ...any) *fault.Error{
	metav1.StatusReasonUnauthorized:          fault.Unauthenticated,
	metav1.StatusReasonForbidden:             fault.Forbidden,
	metav1.StatusReasonNotFound:              fault.NotFound,
	metav1.StatusReasonGone:                  fault.Conflict,
	metav1.StatusReasonExpired:               fault.Conflict,
	metav1.StatusReasonAlreadyExists:         fault.Conflict,
	metav1.StatusReasonConflict:              fault.Conflict,
	metav1.StatusReasonInvalid:               fault.Invalid,
	metav1.StatusReasonBadRequest:            fault.Invalid,
	metav1.StatusReasonRequestEntityTooLarge: fault.Invalid,
	metav1.StatusReasonTooManyRequests:       fault.TooMany,
	metav1.StatusReasonServiceUnavailable:    fault.Unavailable,
	metav1.StatusReasonTimeout:               fault.Unavailable,
	metav1.StatusReasonServerTimeout:         fault.Unavailable,
}

// makersByCode serves refusals of admission webhooks and policies, which may
// carry a code without a reason we know.
var makersByCode = map[int32]func(string, ...any) *fault.Error{
	http.StatusUnauthorized:        fault.Unauthenticated,
	http.StatusForbidden:           fault.Forbidden,
	http.StatusNotFound:            fault.NotFound,
	http.StatusConflict:            fault.Conflict,
	http.StatusBadRequest:          fault.Invalid,
	http.StatusUnprocessableEntity: fault.Invalid,
	http.StatusTooManyRequests:     fault.TooMany,
	http.StatusServiceUnavailable:  fault.Unavailable,
	http.StatusGatewayTimeout:      fault.Unavailable,
}
