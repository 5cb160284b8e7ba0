package sandbox

import (
	"fmt"
	"math"
	"os"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Bounds of a Lua state: deeper recursion and larger stacks are errors of the
// script.
const (
	callDepth    = 240
	stackFirst   = 1 << 10
	stackLargest = 1 << 17
)

// removed are basic functions that load code or touch the process.
var removed = []string{"collectgarbage", "dofile", "load", "loadfile", "loadstring", "module", "newproxy", "_printregs"}

// machine is a Lua state for one call.
type machine struct {
	state  *lua.LState
	tables *converter
}

// newMachine returns a state with the libraries that scripts may use. print hands
// its text to printed.
func newMachine(printed func(string)) *machine {
	state := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: callDepth, MinimizeStackMemory: true,
		RegistrySize: stackFirst, RegistryMaxSize: stackLargest,
	})
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	for _, name := range removed {
		state.SetGlobal(name, lua.LNil)
	}
	if text, ok := state.GetGlobal(lua.StringLibName).(*lua.LTable); ok {
		text.RawSetString("dump", lua.LNil)
		if repeat, ok := text.RawGetString("rep").(*lua.LFunction); ok {
			text.RawSetString("rep", state.NewFunction(bounded(repeat.GFunction)))
		}
	}
	m := &machine{state: state, tables: newConverter(state)}
	state.SetGlobal("require", state.NewFunction(m.require))
	state.SetGlobal("print", state.NewFunction(func(state *lua.LState) int {
		words := make([]string, 0, state.GetTop())
		for i := 1; i <= state.GetTop(); i++ {
			words = append(words, state.ToStringMeta(state.Get(i)).String())
		}
		printed(strings.Join(words, "\t") + "\n")
		return 0
	}))
	return m
}

// largest is how much memory this child may take, in bytes.
var largest uint64 = math.MaxUint64

// bounded is string.rep, the one function that takes any amount of memory in one
// piece.
func bounded(repeat lua.LGFunction) lua.LGFunction {
	return func(state *lua.LState) int {
		if piece, n := len(state.CheckString(1)), state.CheckInt(2); n > 0 && piece > 0 && uint64(n) > largest/uint64(piece) {
			starve()
		}
		return repeat(state)
	}
}

// starve ends a child that wants more memory than it may have.
func starve() {
	fmt.Fprintln(os.Stderr, "out of memory")
	os.Exit(1)
}

// require knows one module.
func (m *machine) require(state *lua.LState) int {
	name := state.CheckString(1)
	if name != kubeModule {
		state.RaiseError("there is no module %q, only %q", name, kubeModule)
	}
	state.Push(m.newKube())
	return 1
}
