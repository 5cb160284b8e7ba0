package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/e2e/load/loadtest"
)

// cpuSeconds is what a process has used of the machine.
func cpuSeconds(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything
	const utime, ticksPerSecond = 11, 100
	ticks := 0.0
	for _, field := range strings.Fields(rest)[utime : utime+2] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return ticks / ticksPerSecond
}

// diskBytes is what a process has given to the disk; a directory in memory counts
// for nothing.
func diskBytes(b *testing.B, pid int) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no write_bytes line")
	return 0
}

// profile begins a CPU profile of the hub if the environment asks for it. The
// returned call waits for its end and adds one of the memory.
func (h *hub) profile(b *testing.B) func() {
	b.Helper()
	dir := os.Getenv("MUSTER_BENCH_PROFILE")
	if dir == "" {
		return func() {}
	}
	fetch := func(kind, query string) error {
		data, err := h.client.Discovery().RESTClient().Get().RequestURI("/debug/pprof/" + kind + query).DoRaw(b.Context())
		if err != nil {
			return fmt.Errorf("profile the hub: %w", err)
		}
		return os.WriteFile(filepath.Join(dir, strings.ReplaceAll(b.Name(), "/", "-")+"."+kind), data, 0o600)
	}
	var cpu errgroup.Group
	cpu.Go(func() error { return fetch("profile", "?seconds=30") })
	return func() {
		if err := errors.Join(cpu.Wait(), fetch("heap", "")); err != nil {
			b.Error(err)
		}
	}
}

// listWrites counts the hub's writes by resource until ctx ends, if the environment
// asks for it; the returned call logs them.
func (h *hub) listWrites(ctx context.Context, b *testing.B) func(what string) {
	b.Helper()
	if os.Getenv("MUSTER_BENCH_WRITES") == "" {
		return func(string) {}
	}
	writes, err := loadtest.FollowWrites(ctx, h.config(b))
	if err != nil {
		b.Fatal(err)
	}
	return func(what string) { b.Logf("%s: %s", what, writes.Take()) }
}
