package kube

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// leaving is a manager that stops at any time. controller-runtime's own does not
// stop before its caches are filled: it waits for them, spinning, and caches that
// wait for a hub which fails to start, or for an API that is away, never are.
type leaving struct {
	manager.Manager
	leave context.CancelFunc
}

// Start implements manager.Runnable.
func (l *leaving) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.leave)()
	return l.Manager.Start(ctx)
}

// leavingCache counts as filled once its manager is to stop.
type leavingCache struct {
	cache.Cache
	stopping context.Context
}

// WaitForCacheSync implements cache.Informers.
func (l *leavingCache) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.stopping, cancel)()
	return l.Cache.WaitForCacheSync(ctx) || l.stopping.Err() != nil
}

// leavable has caches be built as before (nil: as controller-runtime builds them)
// that wait for nothing once stopping is done.
func leavable(build cache.NewCacheFunc, stopping context.Context) cache.NewCacheFunc {
	if build == nil {
		build = cache.New
	}
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		built, err := build(config, options)
		if err != nil {
			return nil, err
		}
		return &leavingCache{Cache: built, stopping: stopping}, nil
	}
}
