package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"muster.dev/muster/backend/fault"
)

// Follow looks whether a kind is served after servedFirst, and then ever more
// seldom: some planes never serve some kinds.
const (
	servedFirst = 100 * time.Millisecond
	servedLast  = 15 * time.Second
)

// Cache reads objects from memory and tells of their changes; a manager's cache is
// one.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Follow tells of the changes of the kind of object until ctx ends: before is nil
// when the object is new, after is nil when it is gone. A hub that starts for the
// first time serves its kinds a moment after it serves; Follow waits for them.
func Follow(ctx context.Context, from Cache, object client.Object, tell func(before, after client.Object)) error {
	informer, err := served(ctx, from, object)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("follow %T: %w", object, err)
	}
	registered, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { told(tell, nil, now) }, UpdateFunc: func(before, now any) { told(tell, before, now) },
		DeleteFunc: func(last any) {
			if unknown, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
				last = unknown.Obj
			}
			told(tell, last, nil)
		},
	})
	if err != nil {
		return fmt.Errorf("follow %T: %w", object, err)
	}
	<-ctx.Done()
	if err := informer.RemoveEventHandler(registered); err != nil {
		slog.Debug("events could not be left", "error", err)
	}
	return nil
}

// filledPoll is how often Filled looks.
const filledPoll = 5 * time.Millisecond

// Filled returns once all objects of the kind of object are in the cache, or ctx
// has ended.
func Filled(ctx context.Context, from Cache, object client.Object) error {
	informer, err := from.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err == nil {
		err = wait.PollUntilContextCancel(ctx, filledPoll, true, func(context.Context) (bool, error) { return informer.HasSynced(), nil })
	}
	if err != nil {
		return fmt.Errorf("fill the cache of %T: %w", object, err)
	}
	return nil
}

func told(tell func(before, after client.Object), before, after any) {
	was, wasObject := before.(client.Object)
	now, isObject := after.(client.Object)
	switch {
	case !wasObject && !isObject:
	case !wasObject:
		tell(nil, now)
	case !isObject:
		tell(was, nil)
	case was.GetResourceVersion() != now.GetResourceVersion(): // else a resync
		tell(was, now)
	}
}

func served(ctx context.Context, from Cache, object client.Object) (cache.Informer, error) {
	for wait := servedFirst; ; wait = min(2*wait, servedLast) {
		informer, err := from.GetInformer(ctx, object)
		if !NotServed(err) {
			return informer, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// NotServed says whether an error means that a kind is not served, or not yet.
func NotServed(err error) bool {
	var undiscovered *apiutil.ErrResourceDiscoveryFailed
	return meta.IsNoMatchError(err) || errors.As(err, &undiscovered)
}

// CacheFault is the error of reading from a cache as a user may see it. A hub that
// starts has not filled its cache yet, or does not serve all kinds yet.
func CacheFault(doing string, err error) error {
	var early *cache.ErrCacheNotStarted
	if errors.As(err, &early) || NotServed(err) {
		return fault.Unavailable("the hub is starting").WithFix("try again in a moment").Wrap(err)
	}
	return fmt.Errorf("%s: %w", doing, Fault(err))
}
