package execution

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// recorder records what lanes execute and lets the test decide when and how it ends.
type recorder struct {
	mu     sync.Mutex
	active map[string]int // by lane, and by Work
	most   map[string]int
	began  chan types.NamespacedName
	end    func(key types.NamespacedName, failures int) error
	hold   map[string]chan struct{} // by lane
}

func (r *recorder) work(ctx context.Context, key types.NamespacedName, failures int) (time.Duration, error) {
	r.mu.Lock()
	for _, of := range []string{key.Namespace, key.String()} {
		r.active[of]++
		r.most[of] = max(r.most[of], r.active[of])
	}
	hold := r.hold[key.Namespace]
	r.mu.Unlock()
	r.began <- key
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	r.active[key.Namespace]--
	r.active[key.String()]--
	r.mu.Unlock()
	return 0, r.end(key, failures)
}

func startLanes(t *testing.T, r *recorder) *lanes {
	t.Helper()
	r.active, r.most, r.began = map[string]int{}, map[string]int{}, make(chan types.NamespacedName, 1000)
	if r.end == nil {
		r.end = func(types.NamespacedName, int) error { return nil }
	}
	l := newLanes(r.work)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = l.Start(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return l
}

func (r *recorder) next(t *testing.T) types.NamespacedName {
	t.Helper()
	select {
	case key := <-r.began:
		return key
	case <-time.After(time.Minute):
		t.Fatal("nothing was executed")
		return types.NamespacedName{}
	}
}

func TestOneMemberDoesNotDelayAnother(t *testing.T) {
	stuck := make(chan struct{})
	r := &recorder{hold: map[string]chan struct{}{"dead": stuck}}
	l := startLanes(t, r)
	for i := range 50 {
		l.add(types.NamespacedName{Namespace: "dead", Name: fmt.Sprint(i)})
	}
	for range laneWorkers {
		r.next(t)
	}
	l.add(types.NamespacedName{Namespace: "alive", Name: "a"})
	if key := r.next(t); key.Namespace != "alive" {
		t.Errorf("%s was executed beyond the member's bound", key)
	}
	close(stuck)
	for range 50 - laneWorkers {
		r.next(t)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most["dead"] > laneWorkers {
		t.Errorf("%d workers for one member", r.most["dead"])
	}
}

func TestAddedWhileActiveIsExecutedAgainButNotTwiceAtOnce(t *testing.T) {
	gate := make(chan struct{})
	r := &recorder{hold: map[string]chan struct{}{"m": gate}}
	l := startLanes(t, r)
	key := types.NamespacedName{Namespace: "m", Name: "a"}
	l.add(key)
	r.next(t)
	for range 5 {
		l.add(key)
	}
	gate <- struct{}{}
	r.next(t)
	gate <- struct{}{}
	l.add(types.NamespacedName{Namespace: "m", Name: "b"})
	if got := r.next(t); got.Name != "b" {
		t.Errorf("%s was executed once more", got)
	}
	close(gate)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most["m/a"] != 1 {
		t.Errorf("%d at once", r.most["m/a"])
	}
}

func TestFailuresAreTriedAgain(t *testing.T) {
	tries := make(chan int, 10)
	r := &recorder{end: func(_ types.NamespacedName, failures int) error {
		tries <- failures
		if failures < 2 {
			return errors.New("not yet")
		}
		return nil
	}}
	l := startLanes(t, r)
	l.add(types.NamespacedName{Namespace: "m", Name: "a"})
	for want := range 3 {
		r.next(t)
		if got := <-tries; got != want {
			t.Errorf("try %d knows of %d failures", want, got)
		}
	}
}

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: retryFirst, 1: 2 * retryFirst, 3: 8 * retryFirst, 10: retryMost, 1000: retryMost} {
		if got := backoff(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}
