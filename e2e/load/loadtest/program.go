package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/load"
)

// startTimeout bounds the start of a program, thousands of registrations included.
const startTimeout = 10 * time.Minute

// Program is a running program of package load.
type Program struct {
	*controlplanetest.Process
	lines int // reports read so far
}

// Start starts a program and returns once it has printed its first line, which is
// when everything it plays stands. It ends with the test.
func Start(t testing.TB, name string, args ...string) *Program {
	t.Helper()
	path, err := controlplanetest.Binary(name)
	if err != nil {
		t.Fatal(err)
	}
	process, err := controlplanetest.StartProcess(exec.Command(path, args...), filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Process: process}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Tail())
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	p.await(t)
	return p
}

// Report asks the program for a line.
func (p *Program) Report(t testing.TB) load.Report {
	t.Helper()
	if err := syscall.Kill(p.PID(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	return p.await(t)
}

func (p *Program) await(t testing.TB) (report load.Report) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		select {
		case <-p.Exited():
			return false, fmt.Errorf("it ended early: %w", p.Err())
		default:
		}
		reports, err := p.reports()
		if err != nil || len(reports) <= p.lines {
			return false, err
		}
		err = json.Unmarshal(reports[p.lines], &report)
		p.lines++
		return true, err
	})
	if err != nil {
		t.Fatalf("await a report: %v%s", err, p.Tail())
	}
	return report
}

// reports are the complete JSON lines among what the program has printed and logged.
func (p *Program) reports() ([][]byte, error) {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return nil, err
	}
	var found [][]byte
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("\n")) {
			found = append(found, line)
		}
	}
	return found, nil
}
