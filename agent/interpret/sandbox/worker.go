package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// startTimeout bounds how long a child may take to start. On a busy machine
	// that is long.
	startTimeout = 30 * time.Second
	// patience is how many deadlines a call gets that has had no CPU.
	patience = 10
	// maxAnswer bounds one answer, in bytes.
	maxAnswer = 16 << 20
)

// child is one process, as its parent sees it. It serves one call at a time.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    *tail // standard error
	known   map[string]struct{}
	timer   *time.Timer // ends it while it is idle

	cause  atomic.Value // Cause of the kill
	reaped sync.Once
	broken bool
}

func start(o *Options) (*child, error) {
	argv := o.Command
	if len(argv) == 0 {
		self, err := executable()
		if err != nil {
			return nil, failure(CauseChild, "find the running binary: %v", err)
		}
		argv = []string{self, Argument}
	}
	c := &child{command: exec.Command(argv[0], argv[1:]...), said: &tail{}, known: map[string]struct{}{}}
	c.command.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none", memoryVariable + "=" + strconv.FormatUint(o.Memory, 10)}
	c.command.Dir = "/"
	c.command.Stderr = c.said
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, failure(CauseChild, "start a Lua child: %v", err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, failure(CauseChild, "start a Lua child: %v", err)
	}
	c.out = bufio.NewReaderSize(out, 64<<10)
	if err := c.command.Start(); err != nil {
		return nil, failure(CauseChild, "start a Lua child: %v", err)
	}
	late := time.AfterFunc(startTimeout, c.kill)
	defer late.Stop()
	if _, err := c.receive(); err != nil {
		c.kill()
		c.wait()
		return nil, failure(CauseChild, "a Lua child did not start: %s", c.said.last(err))
	}
	return c, nil
}

// run carries out one call.
func (c *child) run(ctx context.Context, call *Call, key string, deadline time.Duration) (*Output, error) {
	r := &request{Key: key, Name: call.Name, Function: call.Function, Args: call.Args, Results: call.Results, Lean: call.Lean, Check: call.Check}
	if _, ok := c.known[key]; !ok {
		r.Script = call.Script
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, failure(CauseChild, "encode a call: %v", err)
	}
	watched := c.watch(deadline)
	stop := context.AfterFunc(ctx, c.kill)
	answer, err := c.exchange(append(line, '\n'))
	watched()
	if !stop() || c.cause.Load() != nil {
		c.broken = true // killed, if only after its answer
	}
	if err != nil {
		c.broken = true
		c.kill()
		c.wait()
		return nil, c.why(ctx, err, deadline)
	}
	c.known[key] = struct{}{}
	if answer.Failure != nil {
		if answer.Failure.Cause == CauseSyntax {
			delete(c.known, key) // it keeps only what compiles
		}
		return &Output{Printed: answer.Printed}, answer.Failure
	}
	return &Output{Results: answer.Results, Printed: answer.Printed}, nil
}

func (c *child) exchange(line []byte) (*response, error) {
	if _, err := c.in.Write(line); err != nil {
		return nil, err
	}
	return c.receive()
}

var errTooLong = errors.New("the answer is too large")

func (c *child) receive() (*response, error) {
	var line []byte
	for {
		piece, err := c.out.ReadSlice('\n')
		line = append(line, piece...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(line) > maxAnswer {
			return nil, errTooLong
		}
	}
	r := &response{}
	return r, json.Unmarshal(line, r)
}

// watch kills the child if a call takes too long. Time in which the child had no
// CPU because the machine is busy is not held against the script.
func (c *child) watch(deadline time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	before, known := cpuSeconds(c.command.Process.Pid)
	go func() {
		defer close(ended)
		tick := time.NewTicker(deadline)
		defer tick.Stop()
		for round := 1; ; round++ {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now, ok := cpuSeconds(c.command.Process.Pid)
			if known && ok && now-before < deadline.Seconds()/2 && round < patience {
				continue
			}
			c.cause.Store(CauseDeadline)
			c.kill()
			return
		}
	}()
	return func() { close(done); <-ended }
}

// starved are signs, in what a dying process says, that it had no memory left.
var starved = []string{"out of memory", "cannot allocate memory", "failed to allocate", "stack exceeds"}

// why words the end of a child during a call.
func (c *child) why(ctx context.Context, err error, deadline time.Duration) error {
	said := c.said.last(err)
	switch {
	case c.cause.Load() == CauseDeadline:
		return failure(CauseDeadline, "the script ran for more than %v and was stopped", deadline)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTooLong):
		return failure(CauseMemory, "the script's result is larger than %d MiB", maxAnswer>>20)
	case slices.ContainsFunc(starved, func(sign string) bool { return strings.Contains(said, sign) }):
		return failure(CauseMemory, "the script took more memory than it may, and was stopped")
	}
	return failure(CauseChild, "the script's process ended: %s", said)
}

func (c *child) kill() { _ = c.command.Process.Kill() }

// end lets the child go: it ends by itself when there are no more calls.
func (c *child) end() {
	_ = c.in.Close()
	late := time.AfterFunc(startTimeout, c.kill)
	defer late.Stop()
	c.wait()
}

func (c *child) wait() { c.reaped.Do(func() { _ = c.command.Wait() }) }

// tail keeps the first lines that a process says on its standard error: Go's
// runtime names the cause of its end first.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 2048 - t.text.Len(); room > 0 {
		t.text.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// last returns what was said, in one line, or else the error.
func (t *tail) last(err error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.Join(strings.Fields(t.text.String()), " "); text != "" {
		return text
	}
	return err.Error()
}
