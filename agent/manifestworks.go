package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"

	"muster.dev/muster/agent/feed"
	"muster.dev/muster/agent/manifestwork"
	"muster.dev/muster/backend/agentapi"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// answerWithin is how long the hub may take to answer a patch.
const answerWithin = 15 * time.Second

// carrier carries out the ManifestWorks that the hub tells of over the link: it is
// where package manifestwork finds its works. It works from the first word that
// there are any, and not while the link is fenced.
//
//	welcome ──► gathering ──all──► complete: a worker runs if there are works, or
//	                ▲                  │      were once
//	                └───── welcome ────┤
//	                                   └──fenced──► no worker until the next welcome
type carrier struct {
	send    func(agentapi.Frame)
	worker  func(works manifestwork.Works) (*manifestwork.Agent, error)
	prepare func(ctx context.Context, works bool) (ready bool, err error)
	log     *slog.Logger

	wake  chan struct{}
	slots chan struct{} // patches that may wait for an answer

	mu       sync.Mutex
	open     bool
	complete bool
	told     map[string]*unstructured.Unstructured
	fresh    map[string]struct{} // told since the welcome; nil once complete
	listener feed.Listener
	last     uint64
	pending  map[uint64]chan *agentapi.ManifestAnswer
}

func newCarrier(send func(agentapi.Frame), log *slog.Logger) *carrier {
	return &carrier{send: send, log: log, wake: make(chan struct{}, 1), slots: make(chan struct{}, agentapi.MaxManifestPatches),
		told: map[string]*unstructured.Unstructured{}, pending: map[uint64]chan *agentapi.ManifestAnswer{}}
}

// Start runs a worker whenever it is to run, until ctx ends.
func (c *carrier) Start(ctx context.Context) error {
	var stop context.CancelFunc
	var running sync.WaitGroup
	defer running.Wait()
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			if stop != nil {
				stop()
			}
			return nil
		case <-c.wake:
		case <-retry.C:
		}
		c.mu.Lock()
		open, complete, works := c.open, c.complete, len(c.told) > 0
		c.mu.Unlock()
		switch {
		case !open && stop != nil:
			stop()
			running.Wait()
			stop = nil
		case open && complete && stop == nil:
			worker, err := c.begin(ctx, works)
			if err != nil {
				c.log.Warn("manifest works cannot be carried out, trying again", "error", err)
				retry.Reset(5 * time.Second)
			}
			if worker == nil {
				continue
			}
			var within context.Context
			within, stop = context.WithCancel(ctx)
			running.Go(func() { _ = worker.Run(within) }) // ends only with its context
		}
	}
}

// begin returns a worker, nil if there is nothing to work on.
func (c *carrier) begin(ctx context.Context, works bool) (*manifestwork.Agent, error) {
	ready, err := c.prepare(ctx, works)
	if err != nil || !ready {
		return nil, err
	}
	return c.worker(c)
}

// prepareManifestWorks sees to it that the member can keep what was applied. A
// member that cannot, and has no works, is left as it is.
func (a *agent) prepareManifestWorks(ctx context.Context, works bool) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(a.config.Member)
	if err != nil {
		return false, fmt.Errorf("client of the member: %w", err)
	}
	_, err = client.ServerResourcesForGroupVersion(ocmworkv1.GroupVersion.String())
	switch {
	case err == nil:
		return true, nil
	case !apierrors.IsNotFound(err):
		return false, fmt.Errorf("ask what the member serves: %w", err)
	case !works:
		return false, nil
	case a.config.Definitions == nil:
		return false, errors.New("the member has no definition of AppliedManifestWork")
	}
	if err := a.config.Definitions(ctx); err != nil {
		return false, err
	}
	return true, nil
}

func (c *carrier) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// welcomed begins a session. What was asked in the last one is not answered.
func (c *carrier) welcomed(protocol int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = protocol >= agentapi.ProtocolManifestWorks
	c.complete, c.fresh = false, map[string]struct{}{}
	for id, answer := range c.pending {
		close(answer)
		delete(c.pending, id)
	}
	c.poke()
}

// fenced stops the worker until the next session.
func (c *carrier) fenced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	c.poke()
}

// deliver takes what the hub tells of a work.
func (c *carrier) deliver(f *agentapi.ManifestWork) error {
	var object *unstructured.Unstructured
	if f.Op == agentapi.ManifestIs {
		object = &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(f.Object); err != nil || object.GetName() != f.Name {
			return &agentapi.MalformedError{Type: f.Type(), Reason: "the object is not the work it is said to be"}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.Op {
	case agentapi.ManifestIs:
		c.told[f.Name] = object
		if c.fresh != nil {
			c.fresh[f.Name] = struct{}{}
		}
		if c.complete && c.listener != nil {
			c.listener.Is(object)
		}
	case agentapi.ManifestGone:
		old := c.told[f.Name]
		delete(c.told, f.Name)
		if c.complete && c.listener != nil && old != nil {
			c.listener.Gone(old)
		}
	case agentapi.ManifestAll:
		for name := range c.told {
			if _, ok := c.fresh[name]; !ok && c.fresh != nil {
				delete(c.told, name)
			}
		}
		c.complete, c.fresh = true, nil
		c.tellAll()
	}
	c.poke()
	return nil
}

// tellAll tells the listener of all works. The lock is held.
func (c *carrier) tellAll() {
	if c.listener == nil || !c.complete {
		return
	}
	all := make([]*unstructured.Unstructured, 0, len(c.told))
	for _, object := range c.told {
		all = append(all, object.DeepCopy())
	}
	c.listener.All(all)
}

// answered takes the answer to a patch.
func (c *carrier) answered(f *agentapi.ManifestAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.pending[f.ID]; answer != nil {
		answer <- f
		delete(c.pending, f.ID)
	}
}

// Follow implements manifestwork.Works.
func (c *carrier) Follow(ctx context.Context, listener feed.Listener, _ func(error)) {
	c.mu.Lock()
	c.listener = listener
	c.tellAll()
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener = nil
}

// Get implements manifestwork.Works.
func (c *carrier) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return c.Patch(ctx, name, nil, false)
}

// errNoAnswer says that the hub did not answer, or the link broke.
var errNoAnswer = errors.New("the hub has not answered")

// Patch implements manifestwork.Works.
func (c *carrier) Patch(ctx context.Context, name string, patch []byte, status bool) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answer := make(chan *agentapi.ManifestAnswer, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}()
	c.send(&agentapi.ManifestPatch{ID: id, Name: name, Status: status, Patch: patch})
	select {
	case <-ctx.Done():
		return nil, errNoAnswer
	case f, ok := <-answer:
		if !ok {
			return nil, errNoAnswer
		}
		return objectOf(f)
	}
}

func objectOf(f *agentapi.ManifestAnswer) (*unstructured.Unstructured, error) {
	if f.Code >= http.StatusBadRequest {
		return nil, &statusError{metav1.Status{Status: metav1.StatusFailure, Code: int32(f.Code), Reason: reasonOf(f.Code), Message: f.Message}}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(f.Object); err != nil {
		return nil, fmt.Errorf("read the hub's answer: %w", err)
	}
	return object, nil
}

// statusError is an error of the hub's API.
type statusError struct{ status metav1.Status }

// Error implements error.
func (e *statusError) Error() string { return e.status.Message }

// Status lets package apierrors know the error.
func (e *statusError) Status() metav1.Status { return e.status }

func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusNotFound:
		return metav1.StatusReasonNotFound
	case http.StatusConflict:
		return metav1.StatusReasonConflict
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	}
	return metav1.StatusReasonUnknown
}
