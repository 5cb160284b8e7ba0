package enrolment

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster.dev/muster/backend/fault"
)

const (
	// dialsEvery and dialsBurst bound how often one user may make the hub dial a
	// member: each dial could probe a network that is not the user's.
	dialsEvery = 3 * time.Second
	dialsBurst = 20
	// joinsAtOnce bounds the push joins that run at the same time.
	joinsAtOnce = 16
	// limitsKept bounds the users whose pace is remembered.
	limitsKept = 1024
)

// limits paces each user.
type limits struct {
	mu    sync.Mutex
	users map[string]*rate.Limiter
}

func newLimits() *limits { return &limits{users: map[string]*rate.Limiter{}} }

// dial says whether a user may make the hub dial once more: nil, or fault.TooMany.
func (l *limits) dial(user string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.users[user]
	if limiter == nil {
		if len(l.users) >= limitsKept {
			clear(l.users)
		}
		limiter = rate.NewLimiter(rate.Every(dialsEvery), dialsBurst)
		l.users[user] = limiter
	}
	if limiter.Allow() {
		return nil
	}
	return fault.TooMany("too many preflights and joins in a short time").WithFix("wait " + dialsEvery.String())
}
