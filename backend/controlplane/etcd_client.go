package controlplane

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"google.golang.org/grpc"
)

// newStorageClient is a client of etcd in this process whose watches cannot block
// each other. Between etcd's own client and server there are channels that hold one
// message: when many watches end at once, the client waits to send the next
// cancellation while the server waits for the client to take an answer, and no watch
// of that client ever hears anything again. Here requests wait in a queue instead.
func newStorageClient(server *etcdserver.EtcdServer) *clientv3.Client {
	client := v3client.New(server)
	watches := adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(server))
	client.Watcher = quietWatcher{clientv3.NewWatchFromWatchClient(queuedWatches{watches}, client)}
	return client
}

// quietWatcher hides the values of contexts, which etcd's client would print into
// the key of its streams, as v3client does.
type quietWatcher struct{ clientv3.Watcher }

// Watch implements clientv3.Watcher.
func (w quietWatcher) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	return w.Watcher.Watch(quietContext{ctx}, key, options...)
}

type quietContext struct{ context.Context }

func (quietContext) String() string { return "(quiet)" }

// queuedWatches opens streams that take requests without waiting.
type queuedWatches struct{ pb.WatchClient }

// Watch implements pb.WatchClient.
func (w queuedWatches) Watch(ctx context.Context, options ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	stream, err := w.WatchClient.Watch(ctx, options...)
	if err != nil {
		return nil, err
	}
	q := &queuedStream{Watch_WatchClient: stream, more: make(chan struct{}, 1)}
	go q.forward()
	return q, nil
}

// queuedStream sends what it was given in order, one at a time.
type queuedStream struct {
	pb.Watch_WatchClient
	more chan struct{}

	mu      sync.Mutex
	waiting []*pb.WatchRequest
	failed  error
}

// Send queues a request. An error is that of an earlier one.
func (q *queuedStream) Send(request *pb.WatchRequest) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed != nil {
		return q.failed
	}
	q.waiting = append(q.waiting, request)
	select {
	case q.more <- struct{}{}:
	default:
	}
	return nil
}

// forward runs until the stream ends.
func (q *queuedStream) forward() {
	for {
		select {
		case <-q.more:
		case <-q.Context().Done():
			return
		}
		q.mu.Lock()
		requests := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		for _, request := range requests {
			if err := q.Watch_WatchClient.Send(request); err != nil {
				q.mu.Lock()
				q.failed = err
				q.mu.Unlock()
				return
			}
		}
	}
}
