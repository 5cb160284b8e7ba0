package load

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"time"
)

// SentAnnotation tells when an object was meant to be created on the hub. Its
// value is made by Stamp.
const SentAnnotation = "load.muster.dev/sent"

// Stamp writes a time as the value of SentAnnotation.
func Stamp(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// Parse reads what Stamp has written. It is false for anything else.
func Parse(stamp string) (time.Time, bool) {
	nanos, err := strconv.ParseInt(stamp, 10, 64)
	return time.Unix(0, nanos), err == nil
}

var sentKey = []byte(`"` + SentAnnotation + `":"`)

// Sent finds the stamp in the JSON of an object, or of a Work around it, without
// decoding it. It is false if there is none.
func Sent(object []byte) (time.Time, bool) {
	_, rest, found := bytes.Cut(object, sentKey)
	if !found {
		return time.Time{}, false
	}
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	return Parse(string(digits))
}

// Latency collects durations. Its methods may be called side by side.
type Latency struct {
	mu   sync.Mutex
	list []time.Duration
}

// Note adds one.
func (l *Latency) Note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, d)
}

// NoteSince adds the time since the stamp of an object, if it has one.
func (l *Latency) NoteSince(object []byte) {
	if sent, ok := Sent(object); ok {
		l.Note(time.Since(sent))
	}
}

// Take returns what was collected since the last call.
func (l *Latency) Take() Quantiles {
	l.mu.Lock()
	list := l.list
	l.list = nil
	l.mu.Unlock()
	if len(list) == 0 {
		return Quantiles{}
	}
	slices.Sort(list)
	at := func(q float64) float64 {
		return float64(list[min(int(q*float64(len(list))), len(list)-1)].Microseconds()) / 1000
	}
	return Quantiles{Count: len(list), P50: at(0.50), P95: at(0.95), P99: at(0.99), Max: at(1)}
}

// Quantiles condense durations, in milliseconds.
type Quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50ms"`
	P95   float64 `json:"p95ms"`
	P99   float64 `json:"p99ms"`
	Max   float64 `json:"maxms"`
}
