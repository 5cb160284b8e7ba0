package controlplane

import (
	"context"
	"errors"
	"testing"
)

// A write that storage does not answer in time is tried again; what stops the hub
// stops that too, and says what did not go.
func TestInsist(t *testing.T) {
	t.Parallel()
	slow := errors.New("etcdserver: request timed out")
	tries := 0
	if err := insist(t.Context(), func(context.Context) error {
		if tries++; tries < 3 {
			return slow
		}
		return nil
	}); err != nil || tries != 3 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := insist(ctx, func(context.Context) error { cancel(); return slow }); !errors.Is(err, slow) || !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
