package controlplanetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to end by itself when asked to, on a
// machine that has much else to do. A stop that waits for a client takes longer.
const stopTimeout = 45 * time.Second

// Process is one running program in a process group of its own.
type Process struct {
	// Log is the file that takes what the program prints.
	Log string

	cmd    *exec.Cmd
	exited chan struct{} // closed when the program is gone and waited for
	err    error         // what Wait said, once exited is closed
}

// StartProcess starts cmd with its output appended to the file log. The kernel
// kills it when this process ends, however it ends.
func StartProcess(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &Process{Log: log, cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Pdeathsig goes by the thread that forked, so that thread is kept
		// until the program has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Exited is closed once the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the program ended: nil for status 0. It waits for the end.
func (p *Process) Err() error {
	<-p.exited
	return p.err
}

// PID is the program's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the program and all that it started at once, as kill -9 does, and
// waits until it is gone.
func (p *Process) Kill() error {
	err := syscall.Kill(-p.PID(), syscall.SIGKILL)
	<-p.exited
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Stop asks the program to end and kills it when it has not in time, which is
// an error.
func (p *Process) Stop() error {
	select {
	case <-p.exited:
		return p.Kill() // what it left behind in its group
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.cmd.Path, err)
	}
	select {
	case <-p.exited:
		return p.Kill()
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("%s did not stop within %s%s", p.cmd.Path, stopTimeout, p.Tail()), p.Kill())
	}
}

// Output is what the program has printed.
func (p *Process) Output() string { return printed(p.Log) }

// printed is what a log holds; nothing when there is none yet.
func printed(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	return string(text)
}

// Tail quotes the end of the program's log, for error messages.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return "\n" + err.Error()
	}
	return fmt.Sprintf("\nend of %s:\n%s", filepath.Base(p.Log), text[max(0, len(text)-4000):])
}

// Binary finds a built program in $MUSTER_BIN or the repository's bin folder.
func Binary(name string) (string, error) {
	dir := os.Getenv("MUSTER_BIN")
	if dir == "" {
		root, err := repositoryRoot()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	// Stat, so that go test does not serve a cached result for another build.
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no %s binary: run make test, which builds what tests need, or set MUSTER_BIN: %w", name, err)
	}
	return path, nil
}

// repositoryRoot is the folder of go.mod above the working directory, which for
// a test is its package's folder.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find repository: %w", err)
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", start)
		}
	}
}

// claims are the ports that FreeAddress has given out, until this process ends. A
// socket in the abstract namespace says so to other processes, and leaves no file.
var claims struct {
	sync.Mutex
	held []net.Listener
}

// FreeAddress is a loopback host:port that nobody listens on, and that is given
// to no other caller in any test process: not while its user has yet to listen, nor
// while it is down between a kill and a restart. It lies below the range that the
// kernel gives to outgoing connections, so that none of those takes it either.
func FreeAddress() (string, error) {
	for range 200 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		claim, err := net.Listen("unix", "@muster-test-port-"+port)
		if err != nil {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", port)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = claim.Close()
			continue
		}
		claims.Lock()
		claims.held = append(claims.held, claim)
		claims.Unlock()
		return address, listener.Close()
	}
	return "", errors.New("no free loopback port")
}
