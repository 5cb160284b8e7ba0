package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Argument is the only argument of a process that is to be a child.
const Argument = "interpret-sandbox"

// Main turns the process into a child, and does not return, if it was started as
// one. It is to be called first in main, and in TestMain of tests that run
// scripts.
func Main() {
	if len(os.Args) != 2 || os.Args[1] != Argument {
		return
	}
	signal.Ignore(os.Interrupt) // the parent decides
	if err := limit(os.Getenv(memoryVariable)); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers calls until in ends; a call that is under way then is given up.
func serve(in io.Reader, out io.Writer) error {
	calls, ended := make(chan *request), make(chan error, 1)
	go func() {
		reader := json.NewDecoder(bufio.NewReaderSize(in, 64<<10))
		for {
			r := &request{}
			if err := reader.Decode(r); err != nil {
				ended <- err
				return
			}
			calls <- r
		}
	}()
	done := make(chan error, 1)
	go func() { done <- answerAll(calls, out) }()
	select {
	case err := <-ended:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("read a call: %w", err)
	case err := <-done:
		return err
	}
}

func answerAll(calls <-chan *request, out io.Writer) error {
	compiled := map[string]*lua.FunctionProto{}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(&response{}); err != nil { // ready
		return err
	}
	for r := range calls {
		if err := encoder.Encode(answer(compiled, r)); err != nil {
			return fmt.Errorf("answer a call: %w", err)
		}
	}
	return nil
}

func answer(compiled map[string]*lua.FunctionProto, r *request) *response {
	proto, ok := compiled[r.Key]
	if !ok {
		var failed *Failure
		if proto, failed = compile(r.Name, r.Script); failed != nil {
			return &response{Failure: failed}
		}
		compiled[r.Key] = proto
	}
	return run(proto, r)
}

func compile(name, script string) (*lua.FunctionProto, *Failure) {
	chunk, err := parse.Parse(strings.NewReader(script), name)
	if err != nil {
		return nil, failure(CauseSyntax, "%s", oneLine(err))
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, failure(CauseSyntax, "%s", oneLine(err))
	}
	return proto, nil
}

// maxPrinted bounds what a script may print, in bytes.
const maxPrinted = 4 << 10

// run runs a script and its function in a state of their own.
func run(proto *lua.FunctionProto, r *request) *response {
	result := &response{}
	var printed strings.Builder
	m := newMachine(func(text string) {
		if printed.Len() < maxPrinted {
			printed.WriteString(text)
		}
	})
	defer m.state.Close()
	result.Results, result.Failure = m.call(proto, r)
	result.Printed = printed.String()
	if len(result.Printed) > maxPrinted {
		result.Printed = result.Printed[:maxPrinted] + "…"
	}
	return result
}

func (m *machine) call(proto *lua.FunctionProto, r *request) ([]json.RawMessage, *Failure) {
	m.state.Push(m.state.NewFunctionFromProto(proto))
	if err := m.state.PCall(0, 0, nil); err != nil {
		return nil, failure(CauseScript, "%s", oneLine(err))
	}
	function, ok := m.state.GetGlobal(r.Function).(*lua.LFunction)
	if !ok {
		return nil, failure(CauseMissing, "the script defines no function %s", r.Function)
	}
	if r.Check {
		return nil, nil
	}
	m.state.Push(function)
	for i, raw := range r.Args {
		value, err := m.tables.decode(raw)
		if err != nil {
			return nil, failure(CauseChild, "argument %d: %v", i+1, err)
		}
		m.state.Push(value)
	}
	if err := m.state.PCall(len(r.Args), r.Results, nil); err != nil {
		return nil, failure(CauseScript, "%s", oneLine(err))
	}
	m.tables.dropEmpty = r.Lean
	results := make([]json.RawMessage, 0, r.Results)
	for i := range r.Results {
		raw, err := m.tables.encode(m.state.Get(i - r.Results))
		if err != nil {
			return nil, failure(CauseResult, "%s returned a value that is no JSON: %v", r.Function, err)
		}
		results = append(results, raw)
	}
	return results, nil
}

// oneLine shortens an error of the Lua machine, which carries a stack trace.
func oneLine(err error) string {
	text := err.Error()
	var raised *lua.ApiError
	if errors.As(err, &raised) && raised.Object != nil && raised.Object != lua.LNil {
		text = raised.Object.String()
	}
	text, _, _ = strings.Cut(text, "\nstack traceback")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 500 {
		text = text[:500] + "…"
	}
	return text
}
