package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// maxExpired bounds how many expired tokens are remembered, newest last.
const maxExpired = 1000

// expired remembers tokens that came to their end by time, which the token
// cleaner deletes in the same second. Whoever shows such a token whole may learn
// when it ended; a stranger, who may have seen its id in cluster-info, may not
// (contract section 5.3). It keeps a keyed hash of each token, no secret half.
type expired struct {
	key [sha256.Size]byte

	mu    sync.Mutex
	ends  map[string]end
	order []string
}

// end is when a token expired, and the proof of who shows it whole.
type end struct {
	at    time.Time
	proof []byte
}

func newExpired() *expired {
	e := &expired{ends: map[string]end{}}
	_, _ = rand.Read(e.key[:]) // never fails: the runtime ends the program instead
	return e
}

// proof is the hash of a whole token under a key that ends with the process.
func (e *expired) proof(id, secret string) []byte {
	mac := hmac.New(sha256.New, e.key[:])
	mac.Write([]byte(id + "." + secret))
	return mac.Sum(nil)
}

// remember keeps an expired token, and lets go of the oldest beyond the bound.
func (e *expired) remember(id string, at time.Time, proof []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.ends[id]; known {
		e.order = slices.DeleteFunc(e.order, func(other string) bool { return other == id })
	}
	e.ends[id] = end{at: at, proof: proof}
	e.order = append(e.order, id)
	if len(e.order) > maxExpired {
		delete(e.ends, e.order[0])
		e.order = e.order[1:]
	}
}

// at returns when the token expired whose whole text was shown.
func (e *expired) at(id, secret string) (time.Time, bool) {
	e.mu.Lock()
	known, ok := e.ends[id]
	e.mu.Unlock()
	if !ok || !hmac.Equal(known.proof, e.proof(id, secret)) {
		return time.Time{}, false
	}
	return known.at, true
}
