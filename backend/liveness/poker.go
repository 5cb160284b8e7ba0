package liveness

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Poker makes a controller look at a Cluster for a reason that is not an object:
// a link that came or went, a member that changed. Poking never blocks; before
// the controller runs it does nothing, since that begins with a look at all.
type Poker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Source is what the controller watches.
func (p *Poker) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = queue
		return nil
	})
}

// Poke makes the controller look at a Cluster.
func (p *Poker) Poke(cluster string) {
	p.mu.Lock()
	queue := p.queue
	p.mu.Unlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}})
	}
}
