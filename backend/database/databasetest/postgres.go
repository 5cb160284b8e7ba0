package databasetest

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
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

// StartPostgres starts a PostgreSQL server on a unix socket, with its data in a
// directory of its own, and returns the DSN of an empty database in it. The
// test fails where Debian's package postgresql is not installed.
func StartPostgres(t testing.TB) string {
	t.Helper()
	initdb, postgres := postgresBinary(t, "initdb"), postgresBinary(t, "postgres")
	// Not t.TempDir: PostgreSQL refuses to run as root, and the user it then
	// runs as cannot reach into a directory below one of root's.
	directory, err := os.MkdirTemp("", "muster-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	identity := postgresIdentity(t, directory)
	data := filepath.Join(directory, "data")
	run := func(name string, arguments ...string) *exec.Cmd {
		command := exec.Command(name, arguments...)
		command.Dir = directory
		command.SysProcAttr = identity
		return command
	}
	if out, err := run(initdb, "-D", data, "-U", "muster", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	serve(t, run(postgres, "-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off"))
	dsn := (&url.URL{Scheme: "postgres", User: url.User("muster"), Path: "/postgres", RawQuery: url.Values{"host": {directory}}.Encode()}).String()
	awaitPostgres(t, dsn)
	return dsn
}

func serve(t testing.TB, command *exec.Cmd) {
	t.Helper()
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = command.Wait() // killed or stopped below: its status says nothing
		close(done)
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGINT) // fast shutdown: connections are cut
		select {
		case <-done:
		case <-time.After(stopLimit):
			_ = command.Process.Kill()
			<-done
			t.Error("postgres did not stop")
		}
		if t.Failed() {
			t.Logf("postgres: %s", output.Bytes())
		}
	})
}

func awaitPostgres(t testing.TB, dsn string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, startLimit, true, func(ctx context.Context) (bool, error) {
		var db *database.DB
		if db, last = database.Open(ctx, dsn); last != nil {
			return false, nil
		}
		return true, db.Close()
	})
	if err != nil {
		t.Fatalf("postgres does not answer: %v: %v", err, last)
	}
}

// postgresBinary finds a program; Debian keeps the server's out of PATH.
func postgresBinary(t testing.TB, name string) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		return slices.Max(found)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: run make setup, or install Debian's package postgresql", name)
	}
	return path
}

// postgresIdentity gives directory to the user that the server has to run as
// when the tests run as root, and returns how to run as that user.
func postgresIdentity(t testing.TB, directory string) *syscall.SysProcAttr {
	t.Helper()
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		return attributes
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(directory, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes
}
