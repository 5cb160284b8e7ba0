package interpret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"muster.dev/muster/agent/interpret/sandbox"
)

// script is a Lua script for one operation on one kind.
type script struct {
	pool      *sandbox.Pool
	source    string // "customization NAME"
	name      string // for Lua's messages
	operation Operation
	code      string
	breaker   *breaker
}

// ask implements rule.
func (s *script) ask(ctx context.Context, q *Question) (*Answer, error) {
	if err := s.breaker.refuse(); err != nil {
		return nil, s.about(q, err)
	}
	call, err := s.call(q)
	if err != nil {
		s.breaker.done(nil)
		return nil, s.about(q, err)
	}
	out, err := s.pool.Run(ctx, *call)
	if ctx.Err() != nil {
		s.breaker.abandoned()
		return nil, ctx.Err()
	}
	if err != nil {
		s.breaker.done(costly(err))
		return nil, s.about(q, err)
	}
	s.breaker.done(nil)
	a, err := functions[s.operation].read(q, out.Results)
	if err != nil {
		return nil, s.about(q, &sandbox.Failure{Cause: sandbox.CauseResult, Message: err.Error()})
	}
	a.Printed = out.Printed
	return a, nil
}

// check says whether the script can be run.
func (s *script) check(ctx context.Context) error {
	_, err := s.pool.Run(ctx, sandbox.Call{Name: s.name, Script: s.code, Function: functions[s.operation].name, Check: true})
	return err
}

func (s *script) call(q *Question) (*sandbox.Call, error) {
	f := functions[s.operation]
	call := &sandbox.Call{Name: s.name, Script: s.code, Function: f.name, Results: f.results, Lean: f.lean}
	for _, value := range f.args(q) {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode the object: %w", err)
		}
		call.Args = append(call.Args, raw)
	}
	return call, nil
}

// costly returns the error if it has cost a deadline or a child.
func costly(err error) error {
	var failed *sandbox.Failure
	if errors.As(err, &failed) && (failed.Cause == sandbox.CauseDeadline || failed.Cause == sandbox.CauseMemory) {
		return err
	}
	return nil
}

// fixes say what helps, by cause.
var fixes = map[sandbox.Cause]string{
	sandbox.CauseSyntax:   "correct the script; \"muster interpret -f FILE --check\" tries it",
	sandbox.CauseMissing:  "give the function that name",
	sandbox.CauseScript:   "correct the script; \"muster interpret -f FILE --operation %s\" tries it with an object from a file",
	sandbox.CauseResult:   "correct what the function returns",
	sandbox.CauseDeadline: "look for a loop that does not end",
	sandbox.CauseMemory:   "look for a table or text that grows without end",
	sandbox.CauseChild:    "look into the log; it is tried again",
}

// about words an error of the script.
func (s *script) about(q *Question, err error) error {
	e := &Error{Source: s.source, Operation: s.operation, Object: describe(q.Object), Reason: err.Error()}
	var failed *sandbox.Failure
	if errors.As(err, &failed) {
		if e.Fix = fixes[failed.Cause]; failed.Cause == sandbox.CauseScript {
			e.Fix = fmt.Sprintf(e.Fix, s.operation)
		}
	}
	return e
}
