package databasetest

import (
	"bytes"
	"context"
	"fmt"
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

	"muster.dev/muster/backend/database"
)

const (
	startLimit = 30 * time.Second
	startPoll  = 50 * time.Millisecond
	stopLimit  = 10 * time.Second
)

// StartPostgres runs an empty PostgreSQL server, reachable only through a
// socket in a directory of its own, and returns its URL. Server and directory
// are gone after the test. A machine without the programs fails the test.
func StartPostgres(t testing.TB) string {
	t.Helper()
	identity := postgresIdentity(t)
	dir, err := os.MkdirTemp("", "muster-postgres-") // t.TempDir's parents are closed to other users
	if err != nil {
		t.Fatalf("make a directory for PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove PostgreSQL's directory: %v", err)
		}
	})
	if identity != nil {
		if err := os.Chown(dir, int(identity.Uid), int(identity.Gid)); err != nil {
			t.Fatalf("hand PostgreSQL its directory: %v", err)
		}
	}
	data := filepath.Join(dir, "data")
	prepare := command(t, identity, "initdb", "--pgdata="+data, "--username=muster", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
	prepare.Dir = dir
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("prepare PostgreSQL: %v\n%s", err, out)
	}
	server := command(t, identity, "postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=40")
	server.Dir = dir
	run(t, server)
	dsn := (&url.URL{Scheme: "postgres", User: url.User("muster"), Path: "/postgres", RawQuery: url.Values{"host": {dir}}.Encode()}).String()
	await(t, dsn)
	return dsn
}

// run starts the server and stops it, fast and then hard, with the test.
func run(t testing.TB, server *exec.Cmd) {
	t.Helper()
	var output bytes.Buffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		if err := server.Process.Signal(syscall.SIGINT); err != nil { // fast shutdown
			t.Errorf("stop PostgreSQL: %v", err)
		}
		limit := time.AfterFunc(stopLimit, func() { _ = server.Process.Signal(syscall.SIGQUIT) })
		defer limit.Stop()
		if err := <-ended; err != nil || t.Failed() {
			t.Logf("PostgreSQL ended: %v\n%s", err, output.String())
		}
	})
}

func await(t testing.TB, dsn string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	ticker := time.NewTicker(startPoll)
	defer ticker.Stop()
	for {
		db, err := database.Open(ctx, dsn)
		if err == nil {
			err = db.Close()
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("PostgreSQL did not start within %s: %v", startLimit, err)
		case <-ticker.C:
		}
	}
}

// postgresIdentity is whom the server runs as: it refuses root.
func postgresIdentity(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("PostgreSQL refuses to run as root, and its user is missing: %v; run make setup", err)
	}
	uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatalf("user postgres has ids %s and %s", account.Uid, account.Gid)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// command is one of PostgreSQL's programs; it dies with the test's process.
func command(t testing.TB, identity *syscall.Credential, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: identity, Pdeathsig: syscall.SIGQUIT}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	return cmd
}

// find looks where Debian puts PostgreSQL, newest version first, then in PATH.
func find(name string) (string, error) {
	paths, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", err
	}
	if len(paths) > 0 {
		return slices.MaxFunc(paths, func(a, b string) int { return version(a) - version(b) }), nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("PostgreSQL's %s is missing: run make setup", name)
}

func version(path string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // not a number: oldest
	return number
}
