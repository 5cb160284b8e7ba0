package estimator

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Deps are what a Client works with.
type Deps struct {
	// Services reads the hub's Services, when a connection is made.
	Services client.Reader
	Recorder events.EventRecorder
	// Clock tells the time; the real one if nil.
	Clock clock.PassiveClock
}

// Client asks the estimators of all members. Its methods may be called from
// everywhere.
type Client struct {
	options  Options
	services client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	security credentials.TransportCredentials

	life  context.Context // ends with the client; for what goes on in the background
	end   context.CancelFunc
	mu    sync.Mutex
	peers map[string]*peer
}

// New returns a client. Its connections live until Start returns.
func New(options Options, deps Deps) (*Client, error) {
	config, err := options.tls()
	if err != nil {
		return nil, err
	}
	c := &Client{options: options, services: deps.Services, recorder: deps.Recorder, clock: deps.Clock, security: insecure.NewCredentials(), peers: map[string]*peer{}}
	if config != nil {
		c.security = credentials.NewTLS(config)
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Start implements manager.Runnable: it closes the connections when ctx ends.
func (c *Client) Start(ctx context.Context) error {
	<-ctx.Done()
	c.end()
	c.mu.Lock()
	peers := c.peers
	c.peers = map[string]*peer{}
	c.mu.Unlock()
	for _, p := range peers {
		p.close()
	}
	return nil
}

// Workload is what runs together in a namespace.
type Workload struct {
	Namespace string
	Parts     []workv1alpha2.Component
}

// Estimate tells how many more replicas clusters can run, by name. What is not known
// within the timeout is not in the answer. Of assumed, by cluster and the latest last,
// estimators are told to reckon with: it was given to them and they may not see it yet.
func (c *Client) Estimate(ctx context.Context, clusters []*clusterv1alpha1.Cluster, need *workv1alpha2.ReplicaRequirements, assumed map[string][]Workload) map[string]int32 {
	return c.askAll(ctx, clusters, func(cluster string) (question, error) {
		request, err := replicasQuestion(cluster, need, assumed[cluster])
		return question{askReplicas, request}, err
	})
}

// EstimateSets tells how many more whole sets of parts clusters can run, as Estimate
// does of replicas.
func (c *Client) EstimateSets(ctx context.Context, clusters []*clusterv1alpha1.Cluster, set Workload, assumed map[string][]Workload) map[string]int32 {
	return c.askAll(ctx, clusters, func(cluster string) (question, error) {
		request, err := setsQuestion(cluster, set, assumed[cluster])
		return question{askSets, request}, err
	})
}

// askAll asks about all clusters at once.
func (c *Client) askAll(ctx context.Context, clusters []*clusterv1alpha1.Cluster, about func(cluster string) (question, error)) map[string]int32 {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	known := make(map[string]int32, len(clusters))
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, cluster := range clusters {
		if c.options.NotPull && cluster.Spec.SyncMode == clusterv1alpha1.Pull {
			continue
		}
		p := c.peer(cluster.Name)
		request, err := about(cluster.Name)
		if err != nil || !p.asked(cluster, request) {
			continue
		}
		asking.Go(func() {
			answer, err := p.ask(ctx, request)
			if errors.Is(ctx.Err(), context.Canceled) {
				return // who asked is gone, which says nothing about the estimator
			}
			p.told(cluster, err)
			if err == nil {
				mu.Lock()
				known[cluster.Name] = answer
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	return known
}

// Forget closes the connection to the estimator of a cluster that is gone.
func (c *Client) Forget(cluster string) {
	c.mu.Lock()
	p := c.peers[cluster]
	delete(c.peers, cluster)
	c.mu.Unlock()
	if p != nil {
		p.close()
	}
}

func (c *Client) peer(cluster string) *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.peers[cluster]
	if p == nil {
		p = &peer{client: c, cluster: cluster}
		c.peers[cluster] = p
	}
	return p
}
