package databasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/database"
)

const (
	startLimit = 60 * time.Second
	stopLimit  = 20 * time.Second
)

// shared is the server of a test binary whose TestMain is Main.
var shared struct {
	mu     sync.Mutex
	used   bool // Main runs the tests
	server *server
	count  int // databases made so far
}

// Main is for TestMain: the package's tests share one PostgreSQL server, which
// starts when the first of them asks for it.
func Main(m *testing.M) {
	shared.used = true
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// StartPostgres returns the DSN of an empty database in a PostgreSQL server
// that listens on a unix socket in a directory of its own: the one of Main, or
// else one that runs for this test alone. The test fails where Debian's package
// postgresql is not installed.
func StartPostgres(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	running := shared.server
	if running == nil {
		started, err := start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		running = started
		if shared.used {
			shared.server = started
		} else {
			t.Cleanup(func() {
				if err := started.stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	shared.count++
	return createDatabase(t, running, fmt.Sprintf("test%d", shared.count))
}

func createDatabase(t testing.TB, running *server, name string) string {
	t.Helper()
	db, err := database.Open(t.Context(), running.dsn("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // of no use any more
	if err := db.For(t.Context()).Exec("CREATE DATABASE " + name).Error; err != nil {
		t.Fatal(err)
	}
	return running.dsn(name)
}

// server is a running PostgreSQL.
type server struct {
	directory string
	command   *exec.Cmd
	output    bytes.Buffer // to be read after done
	done      chan struct{}
}

func (s *server) dsn(database string) string {
	dsn := url.URL{Scheme: "postgres", User: url.User("muster"), Path: "/" + database, RawQuery: url.Values{"host": {s.directory}}.Encode()}
	return dsn.String()
}

func start(ctx context.Context) (*server, error) {
	initdb, err := binary("initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := binary("postgres")
	if err != nil {
		return nil, err
	}
	// Not below a directory of root's: PostgreSQL refuses to run as root, and
	// the user it then runs as could not reach it.
	directory, err := os.MkdirTemp("", "muster-postgres-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for postgres: %w", err)
	}
	identity, err := identityFor(directory)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	s := &server{directory: directory, done: make(chan struct{})}
	data := filepath.Join(directory, "data")
	run := func(name string, arguments ...string) *exec.Cmd {
		command := exec.Command(name, arguments...)
		command.Dir, command.SysProcAttr = directory, identity
		return command
	}
	if out, err := run(initdb, "-D", data, "-U", "muster", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(directory))
	}
	s.command = run(postgres, "-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off")
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	if err := s.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start postgres: %w", err), os.RemoveAll(directory))
	}
	go func() {
		_ = s.command.Wait() // its end was asked for: the status says nothing
		close(s.done)
	}()
	if err := s.await(ctx); err != nil {
		return nil, errors.Join(err, s.stop(), fmt.Errorf("postgres said: %s", s.output.Bytes()))
	}
	return s, nil
}

func (s *server) await(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startLimit, true, func(ctx context.Context) (bool, error) {
		var db *database.DB
		if db, last = database.Open(ctx, s.dsn("postgres")); last != nil {
			return false, nil
		}
		return true, db.Close()
	})
	if err != nil {
		return errors.Join(fmt.Errorf("wait for postgres: %w", err), last)
	}
	return nil
}

// stop ends the server, with its connections, and removes its data.
func (s *server) stop() error {
	_ = s.command.Process.Signal(syscall.SIGINT) // fast shutdown; it may have ended already
	var failure error
	select {
	case <-s.done:
	case <-time.After(stopLimit):
		_ = s.command.Process.Kill()
		<-s.done
		failure = errors.New("postgres did not stop")
	}
	return errors.Join(failure, os.RemoveAll(s.directory))
}

// binary finds a program; Debian keeps the server's out of PATH.
func binary(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", name, err)
	}
	if len(found) > 0 {
		return slices.Max(found), nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed: run make setup, or install Debian's package postgresql: %w", name, err)
	}
	return path, nil
}

// identityFor gives directory to the user that the server has to run as when
// the tests run as root, and returns how to run as that user.
func identityFor(directory string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		return attributes, nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("find the user to run postgres as: %w", err)
	}
	uid, uidErr := strconv.ParseUint(owner.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(owner.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, fmt.Errorf("read the ids of user postgres: %w", err)
	}
	if err := os.Chown(directory, int(uid), int(gid)); err != nil {
		return nil, fmt.Errorf("give the directory to postgres: %w", err)
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, nil
}
