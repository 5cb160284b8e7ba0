package sandbox

import (
	"encoding/json"
	"fmt"
)

// Call is one call of a function that a script defines.
type Call struct {
	// Name stands for the script in messages.
	Name string
	// Script is the source. It is run once for each call, before the function.
	Script string
	// Function is called with Args, JSON values, and returns Results values.
	Function string
	Args     []json.RawMessage
	Results  int
	// Lean leaves empty tables out of the results if the script made them: nobody
	// can tell whether they are lists or objects.
	Lean bool
	// Check runs the script and looks for the function, without calling it.
	Check bool
}

// Output is what a call came to.
type Output struct {
	// Results are JSON values; nil is null.
	Results []json.RawMessage
	// Printed is what the script has printed, shortened.
	Printed string
}

// Cause says why a call failed.
type Cause string

// The causes.
const (
	// CauseSyntax: the script is no Lua.
	CauseSyntax Cause = "syntax"
	// CauseMissing: the script does not define the function.
	CauseMissing Cause = "missing"
	// CauseScript: the script raised an error.
	CauseScript Cause = "script"
	// CauseResult: the function returned something that is no JSON.
	CauseResult Cause = "result"
	// CauseDeadline: the script ran for too long, and was killed.
	CauseDeadline Cause = "deadline"
	// CauseMemory: the script took too much memory, and was killed.
	CauseMemory Cause = "memory"
	// CauseChild: the child could not be started, or ended by itself.
	CauseChild Cause = "child"
)

// Failure is the error of a call.
type Failure struct {
	Cause   Cause  `json:"cause"`
	Message string `json:"message"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

func failure(cause Cause, format string, args ...any) *Failure {
	return &Failure{Cause: cause, Message: fmt.Sprintf(format, args...)}
}

// request is a line to a child. Script is set when the child has not seen the key
// before.
type request struct {
	Key      string            `json:"key"`
	Name     string            `json:"name"`
	Script   string            `json:"script,omitempty"`
	Function string            `json:"function"`
	Args     []json.RawMessage `json:"args"`
	Results  int               `json:"results"`
	Lean     bool              `json:"lean,omitempty"`
	Check    bool              `json:"check,omitempty"`
}

// response is a line from a child. The first one, before any call, is empty.
type response struct {
	Results []json.RawMessage `json:"results,omitempty"`
	Printed string            `json:"printed,omitempty"`
	Failure *Failure          `json:"failure,omitempty"`
}
