package handshake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/feed"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// reportEvery is how often the status is looked at without any event.
const reportEvery = time.Minute

// service serves one hub with one identity.
type service struct {
	o         *Options
	agent     *Agent
	identity  *Identity
	bootstrap *Bootstrap // nil if there is none
	fresh     bool       // the identity is new: the hub may well not accept it yet
	log       *slog.Logger
	config    *rest.Config
	hub       dynamic.Interface
	typed     kubernetes.Interface
	member    *memberWatch

	dirty    chan struct{}
	accepted chan struct{} // closed once the hub accepts
	once     sync.Once
	// stands is whether the hub accepts the cluster at this moment.
	stands *standing
	// denied is closed when the hub is seen to have taken its acceptance back.
	denied      chan struct{}
	deniedOnce  sync.Once
	wasAccepted atomic.Bool
	lease       *coordinationv1.Lease // as renew has left it; nil if it has to be read

	mu       sync.Mutex
	cluster  *ocmv1.ManagedCluster // as last seen; nil before, or if it is gone
	rotation *rotation
	heard    time.Time // when the hub last gave what it was asked for
	refusing time.Time // since when it answers that it does not know the certificate; zero: it does
}

// serve does for a hub what an accepted cluster's agent does, until ctx ends or
// the identity does not serve any more.
func (a *Agent) serve(ctx context.Context, identity *Identity, b *Bootstrap, fresh bool) error {
	s := &service{o: &a.o, agent: a, identity: identity, bootstrap: b, fresh: fresh, log: a.log, config: a.limit(identity.Config()), member: a.member,
		dirty: make(chan struct{}, 1), accepted: make(chan struct{}), denied: make(chan struct{}), stands: newStanding(), rotation: a.rotation, heard: time.Now()}
	var err error
	if s.hub, err = dynamic.NewForConfig(s.config); err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	if s.typed, err = kubernetes.NewForConfig(s.config); err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	a.log.Info("serving the hub", "cluster", identity.Cluster, "hub", identity.Hub.Server, "expires", identity.Expires())
	group, ctx := errgroup.WithContext(ctx)
	run := func(f func(context.Context) error) { group.Go(func() error { return f(ctx) }) }
	run(s.rotate)
	run(s.expire)
	run(s.attend)
	run(s.report)
	run(s.renew)
	run(s.manageNamespaces)
	if a.o.Addons {
		run(func(ctx context.Context) error { return s.whileAccepted(ctx, s.careForAddons) })
	}
	if len(a.o.Bootstraps) > 1 {
		run(s.judgeHub)
	} else {
		run(s.yield)
	}
	if a.o.Beside != nil {
		hub := Hub{Server: identity.Hub.Server, Cluster: identity.Cluster, Agent: identity.Agent, Config: rest.CopyConfig(s.config), Accepted: s.accepted}
		run(func(ctx context.Context) error { return a.o.Beside(ctx, hub) })
	}
	return group.Wait()
}

// expire ends the service when the certificate does, if nothing else has.
func (s *service) expire(ctx context.Context) error {
	timer := time.NewTimer(time.Until(s.identity.Expires()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-timer.C:
		return errExpired
	}
}

// attend watches the own ManagedCluster. Before the hub accepts the cluster, the
// agent may not see it.
func (s *service) attend(ctx context.Context) error {
	api := s.hub.Resource(managedClusters)
	if err := s.awaitAccess(ctx, api); err != nil {
		return err
	}
	refused := make(chan struct{}, 1)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-refused:
			stop()
		case <-watching.Done():
		}
	}()
	feed.Run(watching, api, feed.Funcs{
		OnIs:   func(o *unstructured.Unstructured) { s.saw(o) },
		OnGone: func(*unstructured.Unstructured) { s.saw(nil) },
		OnAll: func(all []*unstructured.Unstructured) {
			if len(all) == 0 {
				s.saw(nil)
			}
			for _, o := range all {
				s.saw(o)
			}
		},
	}, feed.Options{FieldSelector: "metadata.name=" + s.identity.Cluster, Slowest: 2 * time.Second, Failed: func(err error) {
		if s.refused(err) {
			select {
			case refused <- struct{}{}:
			default:
			}
		}
	}})
	if ctx.Err() != nil {
		return nil
	}
	return errRefused
}

// saw takes the ManagedCluster as the hub has it; nil: it has none.
func (s *service) saw(o *unstructured.Unstructured) {
	var cluster *ocmv1.ManagedCluster
	if o != nil {
		cluster = &ocmv1.ManagedCluster{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, cluster); err != nil {
			s.log.Warn("managed cluster not understood", "cluster", s.identity.Cluster, "error", err)
			return
		}
	}
	s.mu.Lock()
	s.heard, s.refusing = time.Now(), time.Time{}
	if old := s.cluster; old != nil && cluster != nil && old.UID == cluster.UID && !feed.Newer(cluster.ResourceVersion, old.ResourceVersion) {
		s.mu.Unlock()
		return // an answer that comes later than the news
	}
	s.cluster = cluster
	s.stands.set(isAccepted(cluster) && cluster.Spec.HubAcceptsClient)
	s.mu.Unlock()
	if isAccepted(cluster) {
		s.once.Do(func() { close(s.accepted) })
		s.wasAccepted.Store(true)
	}
	if isDenied(cluster) && s.wasAccepted.Load() {
		s.deniedOnce.Do(func() { close(s.denied) })
	}
	s.poke()
}

func (s *service) poke() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// current returns the ManagedCluster as last seen, nil if there is none.
func (s *service) current() *ocmv1.ManagedCluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster
}

func (s *service) rotated(r *rotation) {
	s.mu.Lock()
	s.rotation = r
	s.mu.Unlock()
	s.poke()
}

// report keeps the status of the ManagedCluster what the agent sees.
func (s *service) report(ctx context.Context) error {
	changed, end := s.member.subscribe()
	defer end()
	again := time.NewTimer(reportEvery)
	defer again.Stop()
	pause := 20 * time.Millisecond
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-s.dirty:
		case <-again.C:
		}
		err := s.reportOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			pause = 20 * time.Millisecond
			again.Reset(reportEvery)
		default:
			if !apierrors.IsConflict(err) {
				s.log.Warn("status not reported", "cluster", s.identity.Cluster, "error", err, "retry", pause)
			}
			again.Reset(pause)
			pause = min(2*pause, pauseMost)
		}
	}
}

func (s *service) reportOnce(ctx context.Context) error {
	s.mu.Lock()
	cluster, turned := s.cluster, s.rotation
	s.mu.Unlock()
	if cluster == nil || !cluster.Spec.HubAcceptsClient { // the right to tell anything is gone with the decision
		return nil
	}
	status := report(cluster, s.member.observed(), turned, time.Now())
	patch, err := statusPatch(cluster, status)
	if err != nil || patch == nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	api := s.hub.Resource(managedClusters)
	written, err := api.Patch(within, cluster.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsConflict(err) { // the hub writes at the same moment: look again, at once
		if fresh, getErr := api.Get(within, cluster.Name, metav1.GetOptions{}); getErr == nil {
			s.saw(fresh)
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("patch the status of managed cluster %s: %w", cluster.Name, err)
	}
	s.saw(written)
	s.tellAvailable(ctx, cluster, status)
	return nil
}

// statusPatch is a merge patch of what differs, which counts only for the object
// as it was seen; nil if nothing differs.
func statusPatch(cluster *ocmv1.ManagedCluster, status *ocmv1.ManagedClusterStatus) ([]byte, error) {
	before, err := json.Marshal(cluster.Status)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	after, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	difference, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("compare the status: %w", err)
	}
	if string(difference) == "{}" {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": cluster.UID, "resourceVersion": cluster.ResourceVersion},
		"status":   json.RawMessage(difference),
	})
}

// errNoLease says that the hub has made no lease, yet.
var errNoLease = errors.New("the hub has not made the lease")
