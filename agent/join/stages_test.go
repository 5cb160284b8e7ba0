package join_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/agent/join"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got)\n%s", file, diff)
	}
}

// stages takes what register prints and tells when the cluster is ready.
type stages struct {
	ready chan struct{}
	on    func(line string)

	mu   sync.Mutex
	text bytes.Buffer
	once sync.Once
}

func (s *stages) Write(line []byte) (int, error) {
	s.mu.Lock()
	s.text.Write(line)
	s.mu.Unlock()
	if s.on != nil {
		s.on(string(line))
	}
	if strings.HasPrefix(string(line), "[ready]") {
		s.once.Do(func() { close(s.ready) })
	}
	return len(line), nil
}

func (s *stages) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// register runs a registration whose agent, in this process, does what is given.
// It stops the agent once the cluster is ready.
func (s *stages) register(t *testing.T, o join.Options, agent func(store *join.Store)) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Here = func(ctx context.Context, store *join.Store) error {
		agent(store)
		<-ctx.Done()
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- join.Register(ctx, o) }()
	select {
	case err := <-done:
		return err
	case <-s.ready:
		cancel()
		return <-done
	case <-time.After(3 * time.Minute):
		t.Fatalf("register does not end; printed:\n%s", s)
		return nil
	}
}
