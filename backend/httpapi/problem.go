package httpapi

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
)

const problemType = "application/problem+json"

// Problem is the one error body (RFC 9457). Code is stable; Detail says what
// happened and why, Fix what to do next.
type Problem struct {
	Type      string        `json:"type"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Code      string        `json:"code"`
	Detail    string        `json:"detail"`
	Fix       string        `json:"fix,omitempty" validate:"optional"`
	RequestID string        `json:"requestId"`
	Fields    []fault.Field `json:"fields,omitempty" validate:"optional"`
}

var statuses = map[fault.Kind]int{
	fault.KindInvalid:         http.StatusBadRequest,
	fault.KindUnauthenticated: http.StatusUnauthorized,
	fault.KindForbidden:       http.StatusForbidden,
	fault.KindNotFound:        http.StatusNotFound,
	fault.KindConflict:        http.StatusConflict,
	fault.KindSenseless:       http.StatusUnprocessableEntity,
	fault.KindTooMany:         http.StatusTooManyRequests,
	fault.KindUnavailable:     http.StatusServiceUnavailable,
}

// Abort answers with the Problem of err and ends the chain. What is not a fault
// becomes 500 without inner text; the log has it under the request id.
func Abort(c *gin.Context, err error) {
	if c.Writer.Written() {
		c.Abort()
		return
	}
	answer(c, problemOf(c, err))
}

func answer(c *gin.Context, problem Problem) {
	c.Header("Content-Type", problemType)
	c.Header("Cache-Control", "no-store")
	c.AbortWithStatusJSON(problem.Status, problem)
}

func methodNotAllowed(c *gin.Context) Problem {
	return Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusMethodNotAllowed), Status: http.StatusMethodNotAllowed, Code: "method-not-allowed",
		Detail: c.Request.Method + " is not possible here", Fix: "see /api/docs", RequestID: RequestID(c.Request.Context()),
	}
}

// ProblemOf is how an error of one part of a request that did several is told.
func ProblemOf(c *gin.Context, err error) Problem { return problemOf(c, err) }

func problemOf(c *gin.Context, err error) Problem {
	problem := Problem{Type: "about:blank", RequestID: RequestID(c.Request.Context())}
	var tooLarge *http.MaxBytesError
	known, ok := fault.As(err)
	switch {
	case errors.As(err, &tooLarge):
		problem.Status, problem.Code = http.StatusRequestEntityTooLarge, "too-large"
		problem.Detail = "the request body is larger than this endpoint accepts"
	case ok:
		problem.Status, problem.Code = statuses[known.Kind], known.Code
		problem.Detail, problem.Fix, problem.Fields = known.Message, known.Fix, known.Fields
		if problem.Code == "" {
			problem.Code = string(known.Kind)
		}
		if cause := errors.Unwrap(known); cause != nil {
			slog.Debug("request refused", "request", problem.RequestID, "code", problem.Code, "error", cause)
		}
	default:
		problem.Status, problem.Code = http.StatusInternalServerError, "internal"
		problem.Detail = "the hub could not do this; its log has the reason under the request id"
		slog.Error("request failed", "request", problem.RequestID, "route", c.FullPath(), "error", err)
	}
	problem.Title = http.StatusText(problem.Status)
	return problem
}
