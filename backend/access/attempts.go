package access

import (
	"net/netip"
	"sync"
	"time"
)

const (
	attemptsAllowed = 5
	attemptsWindow  = time.Minute
	attemptsKept    = 10_000 // keys
)

// attempts counts logins a key (a user, an address) has begun within a minute
// and did not succeed with. It is kept in memory: a restart forgives.
type attempts struct {
	mu    sync.Mutex
	now   func() time.Time
	begun map[string][]time.Time // oldest first
}

// networkOf is what counts as one address: whoever has one IPv6 address has all
// of its /64.
func networkOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Unmap().Is4() {
		return address
	}
	return netip.PrefixFrom(parsed.WithZone(""), 64).Masked().String()
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, begun: map[string][]time.Time{}}
}

// begin counts an attempt for each key, or returns how long to wait. Attempts
// count when they begin, so that many at once are no way around the limit.
func (a *attempts) begin(keys ...string) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for _, key := range keys {
		if recent := a.recent(key, now); len(recent) >= attemptsAllowed {
			wait = max(wait, recent[0].Add(attemptsWindow).Sub(now))
		}
	}
	if wait > 0 {
		return wait
	}
	for _, key := range keys {
		a.begun[key] = append(a.recent(key, now), now)
	}
	a.shrink(now)
	return 0
}

// succeeded takes the keys' latest attempt back.
func (a *attempts) succeeded(keys ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		if list := a.begun[key]; len(list) > 1 {
			a.begun[key] = list[:len(list)-1]
		} else {
			delete(a.begun, key)
		}
	}
}

func (a *attempts) recent(key string, now time.Time) []time.Time {
	list := a.begun[key]
	for len(list) > 0 && now.Sub(list[0]) >= attemptsWindow {
		list = list[1:]
	}
	return list
}

func (a *attempts) shrink(now time.Time) {
	if len(a.begun) < attemptsKept {
		return
	}
	for key := range a.begun {
		if len(a.recent(key, now)) == 0 {
			delete(a.begun, key)
		}
	}
}
