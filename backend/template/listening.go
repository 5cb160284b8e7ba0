package template

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// installPoll is how often a kind is looked for that is still being installed.
const installPoll = 100 * time.Millisecond

// listening has functions told of every object of some kinds, from the manager's
// cache, which must not be changed.
type listening struct {
	cache cache.Cache
	told  map[client.Object]func(o client.Object, gone bool)

	mu            sync.Mutex
	registrations []toolscache.ResourceEventHandlerRegistration
}

// Start implements manager.Runnable. It waits for kinds that are still being
// installed.
func (l *listening) Start(ctx context.Context) error {
	for object, told := range l.told {
		err := wait.PollUntilContextCancel(ctx, installPoll, true, func(ctx context.Context) (bool, error) {
			informer, err := l.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
			if meta.IsNoMatchError(err) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			registration, err := informer.AddEventHandler(handlerOf(told))
			if err != nil {
				return false, err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.registrations = append(l.registrations, registration)
			return true, nil
		})
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	return nil
}

// heard says whether the functions were told of all that was there at the start.
func (l *listening) heard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, registration := range l.registrations {
		if !registration.HasSynced() {
			return false
		}
	}
	return len(l.registrations) == len(l.told)
}

func handlerOf(told func(o client.Object, gone bool)) toolscache.ResourceEventHandler {
	tell := func(object any, gone bool) {
		if lost, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = lost.Obj
		}
		if o, ok := object.(client.Object); ok {
			told(o, gone)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { tell(o, false) },
		UpdateFunc: func(_, o any) { tell(o, false) },
		DeleteFunc: func(o any) { tell(o, true) },
	}
}
