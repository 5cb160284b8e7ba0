// Package fault holds the errors a user may see.
//
// Everything else that goes wrong is answered with 500, a request id and no
// inner text. A fault says what happened, why, and how to mend it; its Kind
// becomes the HTTP status, its Code never changes once released.
package fault

import (
	"errors"
	"fmt"
)

// Kind is what sort of failure it is.
type Kind string

// Kinds of failures and the HTTP status each becomes.
const (
	KindInvalid         Kind = "invalid"         // 400
	KindUnauthenticated Kind = "unauthenticated" // 401
	KindForbidden       Kind = "forbidden"       // 403
	KindNotFound        Kind = "not-found"       // 404
	KindConflict        Kind = "conflict"        // 409
	KindSenseless       Kind = "senseless"       // 422
	KindTooMany         Kind = "too-many"        // 429
	KindUnavailable     Kind = "unavailable"     // 503
)

// Field is one part of the input that was refused.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a failure that a user may see. Neither Message nor Fix may hold a
// secret.
type Error struct {
	// Kind becomes the HTTP status.
	Kind Kind
	// Code is stable and may be looked up, e.g. MU-103; empty: the Kind.
	Code string
	// Message says what happened and why.
	Message string
	// Fix says what to do next; may be empty.
	Fix string
	// Fields names the parts of the input that were refused.
	Fields []Field
	// Err is the cause; it is logged, never shown.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WithCode sets the stable code.
func (e *Error) WithCode(code string) *Error {
	e.Code = code
	return e
}

// WithFix sets what to do next.
func (e *Error) WithFix(fix string) *Error {
	e.Fix = fix
	return e
}

// WithField adds a refused part of the input.
func (e *Error) WithField(field, message string) *Error {
	e.Fields = append(e.Fields, Field{Field: field, Message: message})
	return e
}

// Wrap sets the cause.
func (e *Error) Wrap(err error) *Error {
	e.Err = err
	return e
}

func newError(kind Kind, format string, a []any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, a...)}
}

// Invalid is input that cannot be accepted.
func Invalid(format string, a ...any) *Error { return newError(KindInvalid, format, a) }

// Unauthenticated is a caller we do not know.
func Unauthenticated(format string, a ...any) *Error { return newError(KindUnauthenticated, format, a) }

// Forbidden is a caller who may not do this.
func Forbidden(format string, a ...any) *Error { return newError(KindForbidden, format, a) }

// NotFound is a thing that is not there.
func NotFound(format string, a ...any) *Error { return newError(KindNotFound, format, a) }

// Conflict is a request that does not fit what is there.
func Conflict(format string, a ...any) *Error { return newError(KindConflict, format, a) }

// Senseless is input that can be read, and whose fields say what makes no sense.
func Senseless(format string, a ...any) *Error { return newError(KindSenseless, format, a) }

// TooMany is a caller who asks too often.
func TooMany(format string, a ...any) *Error { return newError(KindTooMany, format, a) }

// Unavailable is a part of the hub, or of a member, that does not answer.
func Unavailable(format string, a ...any) *Error { return newError(KindUnavailable, format, a) }

// As returns the fault in err's chain.
func As(err error) (*Error, bool) {
	var known *Error
	ok := errors.As(err, &known)
	return known, ok
}

// Is tells whether err's chain holds a fault of kind.
func Is(err error, kind Kind) bool {
	known, ok := As(err)
	return ok && known.Kind == kind
}
