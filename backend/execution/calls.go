package execution

import (
	"context"
	"net/http"
	"sync"
)

// calls are the writes that one execution of a Work sent to its member. They are
// noted below the client, where every retry is seen as what it is, and reach the
// metrics through the context.
type calls struct {
	mu   sync.Mutex
	done map[call]int
}

type call struct {
	method string
	ok     bool
}

type callsKey struct{}

func withCalls(ctx context.Context) (context.Context, *calls) {
	c := &calls{done: map[call]int{}}
	return context.WithValue(ctx, callsKey{}, c), c
}

// none says that the member was only asked.
func (c *calls) none() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.done) == 0
}

// each tells of every kind of call and how often it was made.
func (c *calls) each(tell func(method string, ok bool, n int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for made, n := range c.done {
		tell(made.method, made.ok, n)
	}
}

type callCounter struct{ next http.RoundTripper }

func countCalls(next http.RoundTripper) http.RoundTripper { return callCounter{next} }

// RoundTrip implements http.RoundTripper. A conflict, and an object that is gone
// or has come meanwhile, are no results: the executor looks again.
func (c callCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	noted, counting := r.Context().Value(callsKey{}).(*calls)
	if !counting || r.Method == http.MethodGet {
		return response, err
	}
	ok := err == nil && response.StatusCode < http.StatusBadRequest
	if err == nil && (response.StatusCode == http.StatusConflict || response.StatusCode == http.StatusNotFound && r.Method != http.MethodPost) {
		return response, err
	}
	noted.mu.Lock()
	defer noted.mu.Unlock()
	noted.done[call{r.Method, ok}]++
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (c callCounter) WrappedRoundTripper() http.RoundTripper { return c.next }
