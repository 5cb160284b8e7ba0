package handshake

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/agent/feed"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

const (
	// accessFirst is the first pause between two tries to read the own ManagedCluster,
	// when the hub has said that it accepts it: the rights follow in a moment.
	accessFirst = 10 * time.Millisecond
	// accessHint is how long a new identity waits for what the bootstrap identity sees:
	// most hubs have not accepted the cluster yet.
	accessHint = 200 * time.Millisecond
	// accessSlowest is the longest pause while nobody tells when to try.
	accessSlowest = 500 * time.Millisecond
	// accessWatched is the pause while the bootstrap identity watches.
	accessWatched = 30 * time.Second
)

// awaitAccess tries to read the own ManagedCluster until the hub allows it. As long
// as the bootstrap identity is good, it sees the moment of acceptance, and there is
// nothing to try before.
func (s *service) awaitAccess(ctx context.Context, api dynamic.ResourceInterface) error {
	watching, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	look := &lookout{changed: make(chan struct{}, 1)}
	if s.fresh && s.bootstrap != nil {
		ended.Go(func() { s.lookOut(watching, look) })
		look.await(ctx, accessHint)
	}
	began, pause := time.Now(), accessFirst
	for first := true; ; first = false {
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		found, err := api.Get(within, s.identity.Cluster, metav1.GetOptions{})
		cancel()
		if err == nil {
			s.saw(found)
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if s.refused(err) {
			return errRefused
		}
		if first {
			s.log.Info("waiting for the hub to accept the cluster", "cluster", s.identity.Cluster, "error", err)
			if !s.fresh && s.bootstrap != nil {
				ended.Go(func() { s.lookOut(watching, look) })
			}
		}
		pause = look.pause(pause, time.Since(began))
		if look.await(ctx, pause) {
			pause = 0
		}
	}
}

// lookout is what the bootstrap identity sees of the ManagedCluster.
type lookout struct {
	changed chan struct{} // written to when accepted or seeing has changed

	mu               sync.Mutex
	seeing, accepted bool
}

func (l *lookout) set(seeing, accepted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seeing == seeing && l.accepted == accepted {
		return
	}
	l.seeing, l.accepted = seeing, accepted
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// await waits until the cluster is seen to be accepted, or not to be seen any more,
// but no longer than a time. It says whether there was news.
func (l *lookout) await(ctx context.Context, most time.Duration) (news bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-l.changed:
		}
		l.mu.Lock()
		vain := l.seeing && !l.accepted
		l.mu.Unlock()
		if !vain {
			return true
		}
		timer.Reset(accessWatched)
	}
}

// pause is how long to wait before the next try, after one that waited for last.
func (l *lookout) pause(last, waited time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	slowest := accessSlowest
	switch {
	case l.seeing && !l.accepted:
		return accessWatched
	case waited > time.Hour:
		slowest = 10 * time.Second
	case waited > time.Minute:
		slowest = 2 * time.Second
	}
	return max(accessFirst, min(last*8/5, slowest))
}

// lookOut watches the ManagedCluster as the bootstrap identity.
func (s *service) lookOut(ctx context.Context, look *lookout) {
	client, err := dynamic.NewForConfig(s.agent.limit(s.bootstrap.Config))
	if err != nil {
		return
	}
	see := func(o *unstructured.Unstructured) {
		cluster := &ocmv1.ManagedCluster{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, cluster)
		look.set(true, err != nil || isAccepted(cluster)) // what is not understood is worth a try
	}
	feed.Run(ctx, client.Resource(managedClusters), feed.Funcs{
		OnIs:   see,
		OnGone: func(*unstructured.Unstructured) { look.set(true, false) },
		OnAll: func(all []*unstructured.Unstructured) {
			if len(all) == 0 {
				look.set(true, false)
			}
			for _, o := range all {
				see(o)
			}
		},
	}, feed.Options{FieldSelector: "metadata.name=" + s.identity.Cluster, Slowest: time.Minute, Failed: func(error) { look.set(false, false) }})
}
