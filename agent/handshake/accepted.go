package handshake

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/feed"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// An API server that is not the hub's own judges a stream when it begins and lets it
// live, for minutes, whatever becomes of the right to it. So an agent drops its streams
// itself:
//
//	decision taken back ──► add-ons, certificates, lease: dropped; works go on as long as there are any
//	               └──► several hubs: all dropped, the next one's turn
//	denial is complete  ──► all dropped; asked for nothing but whether the hub accepts again

func isAccepted(cluster *ocmv1.ManagedCluster) bool {
	return cluster != nil && meta.IsStatusConditionTrue(cluster.Status.Conditions, ocmv1.ConditionHubAccepted)
}

// isDenied says whether the hub has taken everything back. What it still waits for,
// it does not tell by this condition.
func isDenied(cluster *ocmv1.ManagedCluster) bool {
	if cluster == nil || cluster.Spec.HubAcceptsClient {
		return false
	}
	accepted := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted)
	return accepted != nil && accepted.Status == metav1.ConditionFalse && accepted.Reason == ocmv1.ReasonDenied
}

// standing is a yes or no that others wait for. Make it by newStanding.
type standing struct {
	mu     sync.Mutex
	holds  bool
	turned chan struct{}
}

func newStanding() *standing { return &standing{turned: make(chan struct{})} }

func (s *standing) set(holds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == holds {
		return
	}
	s.holds = holds
	close(s.turned)
	s.turned = make(chan struct{})
}

// now returns how it is, and what is closed once that turns.
func (s *standing) now() (holds bool, turned <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds, s.turned
}

// await waits until it is so, or ctx ends.
func (s *standing) await(ctx context.Context, wanted bool) {
	for {
		holds, turned := s.now()
		if holds == wanted {
			return
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return
		}
	}
}

// whileAccepted does what takes a right, for as long as the hub accepts the cluster,
// and again when it does so again. As long as works hold a denial up the hub's
// condition stays True: the decision counts, which has taken all other rights.
func (s *service) whileAccepted(ctx context.Context, do func(context.Context) error) error {
	for {
		if s.stands.await(ctx, true); ctx.Err() != nil {
			return nil
		}
		within, stop := context.WithCancel(ctx)
		go func() {
			s.stands.await(within, false)
			stop()
		}()
		err := do(within)
		cut := within.Err() != nil
		stop()
		if ctx.Err() != nil || !cut || err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
}

// yield ends the service when the hub's denial is complete, and with it every stream
// that is left. Served anew, the hub is asked for nothing but whether it accepts the
// cluster again.
func (s *service) yield(ctx context.Context) error {
	select {
	case <-s.denied:
		return errDenied
	case <-ctx.Done():
		return nil
	}
}

// Denial tells whether a hub denies a cluster, to who has its agent's identity and
// nothing else to learn it by.
type Denial struct {
	api     dynamic.ResourceInterface
	cluster string
	denied  *standing
}

// NewDenial returns a Denial. It does not connect.
func NewDenial(hub *rest.Config, cluster string) (*Denial, error) {
	client, err := dynamic.NewForConfig(hub)
	if err != nil {
		return nil, err
	}
	return &Denial{api: client.Resource(managedClusters), cluster: cluster, denied: newStanding()}, nil
}

// Run looks at the cluster until ctx ends.
func (d *Denial) Run(ctx context.Context) {
	see := func(o *unstructured.Unstructured) {
		cluster := &ocmv1.ManagedCluster{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, cluster) == nil {
			d.denied.set(isDenied(cluster))
		}
	}
	feed.Run(ctx, d.api, feed.Funcs{OnIs: see}, feed.Options{FieldSelector: "metadata.name=" + d.cluster})
}

// Await waits until the hub is known to deny the cluster, or is not, or ctx ends.
func (d *Denial) Await(ctx context.Context, denied bool) { d.denied.await(ctx, denied) }
