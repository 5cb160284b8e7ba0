package estimator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// restFirst and restLast bound the pause between two tries of an estimator that
// does not answer; each pause is twice the one before.
const (
	restFirst = time.Second
	restLast  = time.Minute
)

// Events on the Cluster.
const (
	reasonUnreachable = "EstimatorUnreachable"
	reasonReachable   = "EstimatorReachable"
	actionEstimate    = "Estimate"
)

// peer is the estimator of one cluster.
type peer struct {
	client  *Client
	cluster string

	mu         sync.Mutex
	connection *grpc.ClientConn
	closed     bool
	// rest is the pause since the last failure, until when it lasts; 0: it is well.
	rest   time.Duration
	until  time.Time
	trying bool // in the background
}

// asked says whether a question is to be asked in line. While the estimator rests
// it is tried in the background, when its pause is over, with this very question.
func (p *peer) asked(cluster *clusterv1alpha1.Cluster, request question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rest == 0 {
		return true
	}
	if p.trying || p.closed || p.client.clock.Now().Before(p.until) {
		return false
	}
	p.trying = true
	go func() {
		ctx, cancel := context.WithTimeout(p.client.life, p.client.options.Timeout)
		defer cancel()
		p.disconnect() // it may have moved
		_, err := p.ask(ctx, request)
		p.told(cluster, err)
	}()
	return false
}

// told takes note of how a question went and announces what that changed.
func (p *peer) told(cluster *clusterv1alpha1.Cluster, err error) {
	p.mu.Lock()
	rested := p.rest > 0
	p.trying = false
	if p.closed {
		p.mu.Unlock()
		return
	}
	if err == nil {
		p.rest = 0
	} else if now := p.client.clock.Now(); !now.Before(p.until) {
		p.rest = min(max(2*p.rest, restFirst), restLast)
		p.until = now.Add(p.rest)
	}
	p.mu.Unlock()
	switch {
	case err != nil && !rested:
		kube.Tell(p.client.recorder, cluster, corev1.EventTypeWarning, reasonUnreachable, actionEstimate,
			"the scheduler estimator does not answer, what the cluster has room for is taken from its status: "+err.Error())
	case err == nil && rested:
		kube.Tell(p.client.recorder, cluster, corev1.EventTypeNormal, reasonReachable, actionEstimate, "the scheduler estimator answers again")
	}
}

// ask asks over the connection, or over a new one to the first address that answers.
func (p *peer) ask(ctx context.Context, request question) (int32, error) {
	p.mu.Lock()
	connection := p.connection
	p.mu.Unlock()
	if connection != nil {
		return call(ctx, connection, request)
	}
	addresses, err := p.client.addresses(ctx, p.cluster)
	if err != nil {
		return 0, err
	}
	var failures []error
	for _, address := range addresses {
		replicas, err := p.askAt(ctx, address, request)
		if err == nil {
			return replicas, nil
		}
		failures = append(failures, fmt.Errorf("ask %s: %w", address, err))
	}
	return 0, errors.Join(failures...)
}

// askAt keeps the connection that it makes if it serves. Of those that are made at
// the same time the first is kept.
func (p *peer) askAt(ctx context.Context, address string, request question) (int32, error) {
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(p.client.security), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	if err != nil {
		return 0, err
	}
	replicas, err := call(ctx, connection, request)
	p.mu.Lock()
	keep := err == nil && p.connection == nil && !p.closed
	if keep {
		p.connection = connection
	}
	p.mu.Unlock()
	if !keep {
		_ = connection.Close() // nothing is under way on it
	}
	return replicas, err
}

func call(ctx context.Context, connection *grpc.ClientConn, request question) (int32, error) {
	var response []byte
	if err := connection.Invoke(ctx, request.method, &request.request, &response); err != nil {
		return 0, err
	}
	return answer(response)
}

// disconnect closes the connection; the next question makes another.
func (p *peer) disconnect() {
	p.mu.Lock()
	connection := p.connection
	p.connection = nil
	p.mu.Unlock()
	if connection != nil {
		_ = connection.Close() // what is asked over it is answered by nobody anyway
	}
}

func (p *peer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.disconnect()
}
