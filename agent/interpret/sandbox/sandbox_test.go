package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/agent/interpret/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

func pool(t testing.TB, o sandbox.Options) *sandbox.Pool {
	t.Helper()
	p := sandbox.NewPool(o)
	t.Cleanup(p.Close)
	return p
}

func call(p *sandbox.Pool, script string, args ...string) (string, error) {
	c := sandbox.Call{Name: "test", Script: script, Function: "F", Results: 1}
	for _, a := range args {
		c.Args = append(c.Args, json.RawMessage(a))
	}
	out, err := p.Run(context.Background(), c)
	if err != nil {
		return "", err
	}
	return string(out.Results[0]), nil
}

func TestValues(t *testing.T) {
	p := pool(t, sandbox.Options{})
	for name, c := range map[string]struct {
		script string
		args   []string
		want   string
	}{
		"number":                        {`function F() return 3 end`, nil, `3`},
		"fraction":                      {`function F() return 1/4 end`, nil, `0.25`},
		"large":                         {`function F(o) return o end`, []string{`1700000000000`}, `1700000000000`},
		"text":                          {`function F() return "a\"b" end`, nil, `"a\"b"`},
		"nothing":                       {`function F() end`, nil, `null`},
		"no":                            {`function F() return nil end`, nil, `null`},
		"object, as it was":             {`function F(o) return o end`, []string{`{"a":{"b":[1,2,{"c":null}],"d":{},"e":[]},"f":true}`}, `{"a":{"b":[1,2,{}],"d":{},"e":[]},"f":true}`},
		"list emptied":                  {`function F(o) table.remove(o.a) return o end`, []string{`{"a":[1]}`}, `{"a":[]}`},
		"object emptied":                {`function F(o) o.a.b = nil return o end`, []string{`{"a":{"b":1}}`}, `{"a":{}}`},
		"list replaced by an empty one": {`function F(o) o.status.l = {} return o end`, []string{`{"status":{"l":[1]}}`}, `{"status":{"l":[]}}`},
		"object replaced":               {`function F(o) o.status.m = {} return o end`, []string{`{"status":{"m":{"x":1}}}`}, `{"status":{"m":{}}}`},
		"new empty status":              {`function F(o) o.status = {} return o end`, []string{`{}`}, `{"status":{}}`},
		"new empty conditions":          {`function F(o) o.status = {} o.status.conditions = {} return o end`, []string{`{}`}, `{"status":{"conditions":[]}}`},
		"from another argument":         {`function F(o, p) o.m = {n = {}} return o end`, []string{`{}`, `{"m":{"n":{"x":1}}}`}, `{"m":{"n":{}}}`},
		"library":                       {`function F(o) return string.upper(o) .. math.floor(2.5) .. #{1,2} .. tostring(select("#", 1, 2)) end`, []string{`"a"`}, `"A222"`},
		"quantity":                      {`local kube = require("kube") function F() return kube.getResourceQuantity("100m") + kube.getResourceQuantity("1Ki") end`, nil, `1024.1`},
		"requirements": {`kube = require("kube") function F(o) return kube.accuratePodRequirements(o) end`,
			[]string{`{"spec":{"nodeSelector":{"disk":"ssd"},"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Gi"}}},{"name":"b","resources":{"requests":{"cpu":"500m"}}}]}}`},
			`{"nodeClaim":{"nodeSelector":{"disk":"ssd"}},"resourceRequest":{"cpu":"1500m","memory":"1Gi"}}`},
		"requirements of a built template": {`kube = require("kube") function F(o) return kube.accuratePodRequirements({spec = {tolerations = {}, containers = {{name = "a", resources = {requests = {cpu = "1"}, limits = {}}}}}}) end`,
			nil, `{"resourceRequest":{"cpu":"1"}}`},
		"dependencies": {`kube = require("kube") function F(o) return kube.getPodDependencies(o, "shop") end`,
			[]string{`{"spec":{"serviceAccountName":"sa","containers":[{"envFrom":[{"configMapRef":{"name":"conf"}}]}]}}`},
			`[{"apiVersion":"v1","kind":"ConfigMap","name":"conf","namespace":"shop"},{"apiVersion":"v1","kind":"ServiceAccount","name":"sa","namespace":"shop"}]`},
		"no dependencies":  {`kube = require("kube") function F(o) return #kube.getPodDependencies(o, "shop") end`, []string{`{"spec":{}}`}, `0`},
		"no state is kept": {`n = (n or 0) + 1 function F() return n end`, nil, `1`},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got, err := call(p, c.script, c.args...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestFailures(t *testing.T) {
	p := pool(t, sandbox.Options{Memory: 64 << 20})
	patient := pool(t, sandbox.Options{Memory: 64 << 20, Deadline: time.Minute}) // memory must be what ends it, however slow the machine
	for name, c := range map[string]struct {
		script string
		cause  sandbox.Cause
		says   string
	}{
		"no Lua":                      {`function F( return end`, sandbox.CauseSyntax, "line:1"},
		"another function":            {`function G() end`, sandbox.CauseMissing, "no function F"},
		"error of the script":         {"function F(o)\n return o.status.x\nend", sandbox.CauseScript, "test:2:"},
		"error on loading":            {`error("no way")`, sandbox.CauseScript, "no way"},
		"error with a table":          {`function F() error({}) end`, sandbox.CauseScript, "table"},
		"endless recursion":           {`function F() return 1 + F() end`, sandbox.CauseScript, "overflow"},
		"a function returned":         {`function F() return F end`, sandbox.CauseResult, "function has no JSON form"},
		"a table in itself":           {`function F() local t = {} t.t = t return t end`, sandbox.CauseResult, "contain itself"},
		"both list and object":        {`function F() return {1, a = 2} end`, sandbox.CauseResult, "both list and object"},
		"holes":                       {`function F() return {[1] = 1, [3] = 3} end`, sandbox.CauseResult, "holes"},
		"no number":                   {`function F() return 0/0 end`, sandbox.CauseResult, "NaN"},
		"os.exit":                     {`function F() os.exit(0) end`, sandbox.CauseScript, "attempt to index"},
		"io":                          {`function F() return io.open("/etc/passwd"):read("*a") end`, sandbox.CauseScript, "attempt to index"},
		"dofile":                      {`function F() return dofile("/etc/passwd") end`, sandbox.CauseScript, "non-function"},
		"loadstring":                  {`function F() return loadstring("return 1")() end`, sandbox.CauseScript, "non-function"},
		"another module":              {`function F() return require("os").exit(1) end`, sandbox.CauseScript, "no module"},
		"package":                     {`function F() return package.loaded.os.exit(1) end`, sandbox.CauseScript, "attempt to index"},
		"debug":                       {`function F() return debug.getregistry() end`, sandbox.CauseScript, "attempt to index"},
		"environment of the basics":   {`function F() return getfenv(print).os.exit(1) end`, sandbox.CauseScript, "attempt to index"},
		"no quantity":                 {`function F() return require("kube").getResourceQuantity("lots") end`, sandbox.CauseScript, "no quantity"},
		"endless loop":                {`function F() while true do end end`, sandbox.CauseDeadline, "more than"},
		"endless loop on loading":     {`while true do end`, sandbox.CauseDeadline, "more than"},
		"endless loop out of reach":   {`function F() while true do pcall(error) end end`, sandbox.CauseDeadline, "more than"},
		"search that never ends":      {`function F() return string.find(string.rep("a", 3000), string.rep("a?", 3000) .. string.rep("a", 3000)) end`, "", ""},
		"memory in one piece":         {`function F() return #string.rep("x", 1024*1024*1024) end`, sandbox.CauseMemory, "memory"},
		"memory in pieces":            {`function F() local t = {} while true do t[#t+1] = string.rep("x", 1024*1024) .. #t end end`, sandbox.CauseMemory, "memory"},
		"memory in tables":            {`function F() local t = {} while true do t[#t+1] = {1,2,3,4,5,6,7,8} end end`, "", ""}, // memory or time, whichever ends first
		"a result of endless size":    {`function F() local t = {} for i = 1, 30 do t = {t, t} end return t end`, "", ""},
		"printing without end":        {`function F() while true do print(string.rep("x", 1000)) end end`, sandbox.CauseDeadline, "more than"},
		"printing into a dead stream": {`function F() print(nil) return print end`, sandbox.CauseResult, "function"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := p
			if c.cause == sandbox.CauseMemory {
				p = patient
			}
			_, err := call(p, c.script, `{}`)
			var failed *sandbox.Failure
			if !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			if c.cause == "" && (failed.Cause == sandbox.CauseDeadline || failed.Cause == sandbox.CauseMemory || failed.Cause == sandbox.CauseScript) {
				return
			}
			if failed.Cause != c.cause || !strings.Contains(failed.Message, c.says) || strings.Contains(failed.Message, "\n") {
				t.Errorf("got cause %s: %s; want %s with %q", failed.Cause, failed.Message, c.cause, c.says)
			}
			if got, err := call(p, `function F() return "well" end`); err != nil || got != `"well"` {
				t.Errorf("the next call: %s, %v", got, err)
			}
		})
	}
}

// TestMany runs good and bad scripts side by side: none disturbs another.
func TestMany(t *testing.T) {
	p := pool(t, sandbox.Options{Children: 4})
	var running sync.WaitGroup
	for i := range 100 {
		running.Go(func() {
			script := fmt.Sprintf("function F(o) return o.n + %d end", i%7)
			if i%25 == 0 {
				script = "function F() while true do end end"
			}
			got, err := call(p, script, fmt.Sprintf(`{"n":%d}`, i))
			switch {
			case i%25 == 0:
				var failed *sandbox.Failure
				if !errors.As(err, &failed) || failed.Cause != sandbox.CauseDeadline {
					t.Errorf("call %d, which loops: %s, %v", i, got, err)
				}
			case err != nil || got != fmt.Sprint(i+i%7):
				t.Errorf("call %d: %s, %v", i, got, err)
			}
		})
	}
	running.Wait()
}

func TestPrinted(t *testing.T) {
	p := pool(t, sandbox.Options{})
	out, err := p.Run(t.Context(), sandbox.Call{Name: "x", Script: `function F(o) print("a", 1, nil, o.x) return 1 end`, Function: "F", Results: 1, Args: []json.RawMessage{[]byte(`{}`)}})
	if err != nil || out.Printed != "a\t1\tnil\tnil\n" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestEnds(t *testing.T) {
	p := sandbox.NewPool(sandbox.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := p.Run(ctx, sandbox.Call{Name: "x", Script: "function F() while true do end end", Function: "F", Results: 1})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	p.Close()
	if _, err := call(p, "function F() end"); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	lost := pool(t, sandbox.Options{Command: []string{"/bin/false"}})
	var failed *sandbox.Failure
	if _, err := call(lost, "function F() end"); !errors.As(err, &failed) || failed.Cause != sandbox.CauseChild {
		t.Errorf("no child: %v", err)
	}
}

// TestIdle ends children that have nothing to do, and starts others.
func TestIdle(t *testing.T) {
	p := pool(t, sandbox.Options{Idle: time.Millisecond})
	for range 20 {
		if got, err := call(p, `function F() return 1 end`); err != nil || got != "1" {
			t.Fatalf("%s, %v", got, err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	p := pool(b, sandbox.Options{})
	object := `{"apiVersion":"v1","kind":"X","spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"x","value":"y"}]}]}}},"status":{"ready":3}}`
	for b.Loop() {
		if _, err := call(p, "function F(o) return o.status.ready == o.spec.replicas end", object); err != nil {
			b.Fatal(err)
		}
	}
}
