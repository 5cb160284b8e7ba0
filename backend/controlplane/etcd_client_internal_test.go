package controlplane

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestWatchesThatEndTogether ends many watches of one client while there is much to
// tell: the ones that stay go on. With etcd's own client in the process they hang.
func TestWatchesThatEndTogether(t *testing.T) {
	store, err := startStorage(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.close()
	client := newStorageClient(store.server.Server)
	defer client.Close() //nolint:errcheck // the store goes with it
	put := func(i int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := client.Put(ctx, "/k", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	stays := client.Watch(t.Context(), "/k")
	for round := range 5 {
		ctx, end := context.WithCancel(t.Context())
		for range 200 {
			opened := client.Watch(ctx, "/k")
			go func() {
				for range opened { //nolint:revive // taken until it ends
				}
			}()
		}
		for i := range 20 {
			put(100*round + i)
		}
		end()
		last := 100*round + 99
		put(last)
		limit := time.After(time.Minute)
		for seen := ""; seen != fmt.Sprint(last); {
			select {
			case answer := <-stays:
				for _, event := range answer.Events {
					seen = string(event.Kv.Value)
				}
			case <-limit:
				t.Fatalf("round %d: the watch that stays has last seen %q, want %d", round, seen, last)
			}
		}
	}
}
