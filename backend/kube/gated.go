package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// gated is a source that is not read before open is closed: a hub that starts has
// something better to do than to fill caches that nobody waits for.
type gated struct {
	toolscache.ListerWatcher
	open <-chan struct{}
}

var _ toolscache.ListerWatcherWithContext = gated{}

// ListWithContext implements toolscache.ListerWithContext.
func (g gated) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return toolscache.ToListerWatcherWithContext(g.ListerWatcher).ListWithContext(ctx, options)
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (g gated) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return toolscache.ToListerWatcherWithContext(g.ListerWatcher).WatchWithContext(ctx, options)
}

// IsWatchListSemanticsUnSupported tells a reflector what the source can do; client-go
// asks for it by this name.
func (g gated) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(g.ListerWatcher)
}

func (g gated) wait(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
