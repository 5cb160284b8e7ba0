package execution

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/apply"
	"muster.dev/muster/agent/interpret"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// executor applies Works to one member. *apply.Applier is one.
type executor interface {
	Apply(ctx context.Context, work *workv1alpha1.Work) (workv1alpha1.WorkStatus, error)
	Remove(ctx context.Context, work *workv1alpha1.Work) (pending bool, err error)
	Watch(ctx context.Context, notify func(workNamespace, workName string)) error
}

// members tells how to reach a member. *kube.Members does.
type members interface {
	Config(ctx context.Context, cluster *clusterv1alpha1.Cluster) (*rest.Config, error)
}

// executors keeps one executor for each push member that has Works. It is made
// anew when the member has to be reached in another way.
type executors struct {
	members members
	make    func(*rest.Config) (executor, error)
	// changed is told of Works whose objects changed in a member.
	changed func(namespace, name string)

	mu      sync.Mutex
	running map[string]*runningExecutor // by cluster
	stopped bool
}

type runningExecutor struct {
	executor
	uid       types.UID
	transport http.RoundTripper
	stop      context.CancelFunc
	ended     chan struct{}
}

func newExecutors(m members, i *interpret.Interpreter, changed func(namespace, name string)) *executors {
	return &executors{
		members: m, changed: changed, running: map[string]*runningExecutor{},
		make: func(config *rest.Config) (executor, error) {
			config = rest.CopyConfig(config)
			config.Wrap(countCalls)
			return apply.New(config, apply.WithInterpreter(i))
		},
	}
}

// Start waits for the manager's end and then for that of all executors.
func (e *executors) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mu.Lock()
	e.stopped = true
	names := make([]string, 0, len(e.running))
	for name := range e.running {
		names = append(names, name)
	}
	e.mu.Unlock()
	for _, name := range names {
		e.end(name)
	}
	return nil
}

// of returns the executor of a member.
func (e *executors) of(ctx context.Context, cluster *clusterv1alpha1.Cluster) (executor, error) {
	config, err := e.members.Config(ctx, cluster)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.running[cluster.Name]
	if known != nil && known.uid == cluster.UID && known.transport == config.Transport {
		return known, nil
	}
	if known != nil {
		known.stop()
		delete(e.running, cluster.Name)
	}
	if e.stopped {
		return nil, fmt.Errorf("execute works of cluster %s: %w", cluster.Name, context.Canceled)
	}
	made, err := e.make(config)
	if err != nil {
		return nil, fmt.Errorf("execute works of cluster %s: %w", cluster.Name, err)
	}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	watching := &noticedContext{Context: inner, noticed: make(chan struct{})}
	running := &runningExecutor{executor: made, uid: cluster.UID, transport: config.Transport, stop: stop, ended: make(chan struct{})}
	e.running[cluster.Name] = running
	go func() {
		defer close(running.ended)
		_ = made.Watch(watching, e.changed) // fails only when called twice
	}()
	select {
	case <-watching.noticed: // else the first Works would be applied without a watch on their objects
	case <-running.ended:
	}
	return running, nil
}

// noticedContext tells when somebody has begun to wait for its end.
type noticedContext struct {
	context.Context
	once    sync.Once
	noticed chan struct{}
}

// Done implements context.Context.
func (c *noticedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.noticed) })
	return c.Context.Done()
}

// end stops the executor of a cluster, if there is one, and waits for its end.
func (e *executors) end(cluster string) {
	e.mu.Lock()
	known := e.running[cluster]
	delete(e.running, cluster)
	e.mu.Unlock()
	if known != nil {
		known.stop()
		<-known.ended
	}
}
