package handshake

import (
	"testing"
	"time"
)

// TestPauseBeforeAccess: whoever is watching for the consent does not ask for it.
func TestPauseBeforeAccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seeing, accepted bool
		last, waited     time.Duration
		want             time.Duration
	}{
		"nobody sees: soon":                  {last: accessFirst, want: 16 * time.Millisecond},
		"nobody sees: up to half a second":   {last: time.Second, want: accessSlowest},
		"nobody sees for a while":            {last: time.Minute, waited: 2 * time.Minute, want: 2 * time.Second},
		"nobody sees for very long":          {last: time.Minute, waited: 2 * time.Hour, want: 10 * time.Second},
		"seen, and not accepted":             {seeing: true, last: accessFirst, want: accessWatched},
		"seen, and not accepted for long":    {seeing: true, last: accessFirst, waited: 2 * time.Hour, want: accessWatched},
		"accepted: the rights follow soon":   {seeing: true, accepted: true, want: accessFirst},
		"accepted, and the rights take time": {seeing: true, accepted: true, last: time.Minute, want: accessSlowest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := &lookout{changed: make(chan struct{}, 1)}
			look.set(c.seeing, c.accepted)
			if got := look.pause(c.last, c.waited); got != c.want {
				t.Errorf("pause after %v: %v, want %v", c.last, got, c.want)
			}
			if told := len(look.changed) == 1; told != (c.seeing || c.accepted) {
				t.Errorf("told of a change: %v", told)
			}
		})
	}
}
