package httpapi

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"muster.dev/muster/backend/fault"
)

// limitersKept is how many keys a Limiter remembers.
const limitersKept = 4096

// Limiter lets each key do so many things a minute, with a burst of the same
// size.
type Limiter struct {
	perMinute int
	mu        sync.Mutex
	limiters  map[string]*rate.Limiter
}

// NewLimiter returns a Limiter of perMinute things a minute for each key.
func NewLimiter(perMinute int) *Limiter {
	return &Limiter{perMinute: perMinute, limiters: map[string]*rate.Limiter{}}
}

// Wait counts one thing for key and returns 0, or returns how long to wait
// before it may be tried again.
func (l *Limiter) Wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.limiters[key]
	if limiter == nil {
		l.forget()
		limiter = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.limiters[key] = limiter
	}
	reserved := limiter.Reserve()
	wait := reserved.Delay()
	if wait > 0 {
		reserved.Cancel()
	}
	return wait
}

// forget makes room when there is none: first who has all of the allowance
// back, for whom forgetting changes nothing, then anybody, down to three
// quarters, so that strangers who bring new keys do not pay for it each time.
func (l *Limiter) forget() {
	if len(l.limiters) < limitersKept {
		return
	}
	for key, limiter := range l.limiters {
		if limiter.Tokens() >= float64(l.perMinute) {
			delete(l.limiters, key)
		}
	}
	for key := range l.limiters {
		if len(l.limiters) <= limitersKept*3/4 {
			return
		}
		delete(l.limiters, key)
	}
}

// RateLimit answers 429 to a key of keyOf that asks more than perMinute times a
// minute; an empty key is not limited.
func RateLimit(perMinute int, keyOf func(*gin.Context) string) gin.HandlerFunc {
	limiter := NewLimiter(perMinute)
	return func(c *gin.Context) {
		if key := keyOf(c); key != "" && !allow(c, limiter, key) {
			return
		}
		c.Next()
	}
}

// limitRoutes applies the limits of options behind authentication.
func limitRoutes(options Options) gin.HandlerFunc {
	limiters := map[string]*Limiter{}
	for route, perMinute := range options.Limits {
		limiters[route] = NewLimiter(perMinute)
	}
	return func(c *gin.Context) {
		limiter := limiters[c.Request.Method+" "+c.FullPath()]
		if limiter == nil {
			c.Next()
			return
		}
		if options.User != nil {
			if user := options.User(c.Request.Context()); user != "" && !allow(c, limiter, "user "+user) {
				return
			}
		}
		if allow(c, limiter, "address "+ClientAddress(c)) {
			c.Next()
		}
	}
}

func allow(c *gin.Context, limiter *Limiter, key string) bool {
	wait := limiter.Wait(key)
	if wait == 0 {
		return true
	}
	seconds := int(math.Ceil(wait.Seconds()))
	c.Header("Retry-After", strconv.Itoa(seconds))
	Abort(c, fault.TooMany("too many requests of this kind").WithFix("wait "+strconv.Itoa(seconds)+" s"))
	return false
}
