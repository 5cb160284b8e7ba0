package app

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

const (
	// gcPercent trades a little CPU for a third of the resting memory (figures in
	// ARCHITECTURE.md); the environment's GOGC wins.
	gcPercent = 50
	// settled is after how long the caches and OpenAPI documents of the start
	// have been built and what they were built from can be given back.
	settled = 10 * time.Second
)

// keepSmall gives memory back to the machine once the start, which is let have
// what it likes, is over.
func keepSmall(ctx context.Context, serving <-chan struct{}) error {
	select {
	case <-serving:
	case <-ctx.Done():
		return nil
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	select {
	case <-time.After(settled):
		debug.FreeOSMemory()
		dropCode()
	case <-ctx.Done():
	}
	return nil
}
