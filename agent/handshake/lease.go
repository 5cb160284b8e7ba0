package handshake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// renew keeps the lease in the cluster's namespace, as long as the hub accepts the
// cluster. The hub makes it, and the agent may not.
func (s *service) renew(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.accepted:
	}
	pause, told := pauseFirst, ""
	for ctx.Err() == nil {
		cluster := s.current()
		if accepted, _ := s.stands.now(); !accepted || cluster == nil {
			wait(ctx, time.Second)
			continue
		}
		err := s.renewOnce(ctx)
		if err == nil {
			pause, told = pauseFirst, ""
			every := time.Duration(cluster.Spec.LeaseDurationSeconds) * time.Second
			if every <= 0 {
				every = ocmv1.DefaultLeaseDurationSeconds * time.Second
			}
			s.sleepLease(ctx, every+rand.N(every/4))
			continue
		}
		if why := rootCause(err); ctx.Err() == nil && why != told && pause > time.Second {
			told = why
			s.log.Warn("lease not renewed", "cluster", s.identity.Cluster, "error", err)
		}
		wait(ctx, pause)
		pause = min(2*pause, 5*time.Second)
	}
	return nil
}

// rootCause is the innermost text of an error: what differs between two troubles,
// and not between two tries, whose addresses and ports do.
func rootCause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// sleepLease waits until the lease is to be renewed: sooner if the hub asks for
// shorter ones meanwhile.
func (s *service) sleepLease(ctx context.Context, d time.Duration) {
	until := time.Now().Add(d)
	for ctx.Err() == nil {
		left := time.Until(until)
		if left <= 0 {
			return
		}
		wait(ctx, min(left, time.Second))
		if cluster := s.current(); cluster != nil && cluster.Spec.LeaseDurationSeconds > 0 {
			until = minTime(until, time.Now().Add(time.Duration(cluster.Spec.LeaseDurationSeconds)*time.Second*5/4))
		}
	}
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// renewOnce renews the lease as it was left the last time. Somebody else's write
// makes that a conflict, and the next try reads it.
func (s *service) renewOnce(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	leases := s.typed.CoordinationV1().Leases(s.identity.Cluster)
	lease, err := s.lease, error(nil)
	if lease == nil {
		lease, err = leases.Get(within, ocmv1.LeaseName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return errNoLease
		}
	}
	s.lease = nil
	if err == nil {
		now := metav1.NowMicro()
		lease.Spec.RenewTime = &now
		if lease, err = leases.Update(within, lease, metav1.UpdateOptions{}); err == nil {
			s.lease = lease
		}
	}
	s.heardOf(err)
	if err != nil {
		return fmt.Errorf("renew the lease of %s: %w", s.identity.Cluster, err)
	}
	return nil
}

// tellAvailable leaves an event when the member has become available, or not.
func (s *service) tellAvailable(ctx context.Context, cluster *ocmv1.ManagedCluster, status *ocmv1.ManagedClusterStatus) {
	after := meta.FindStatusCondition(status.Conditions, ocmv1.ConditionAvailable)
	before := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionAvailable)
	if after == nil || before != nil && before.Status == after.Status {
		return
	}
	reason, kind, note := "Available", corev1.EventTypeNormal, "The %s is successfully imported, and it is managed by the hub cluster. Its apiserver is available"
	if after.Status != metav1.ConditionTrue {
		reason, kind, note = "Unavailable", corev1.EventTypeWarning, "The %s is successfully imported. However, its Kube API server is unavailable"
	}
	now := metav1.NowMicro()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", cluster.Name, now.UnixNano()), Namespace: cluster.Name}, EventTime: now,
		ReportingController: "klusterlet-agent", ReportingInstance: "klusterlet-agent-" + s.identity.Agent,
		Action: reason, Reason: reason, Type: kind, Note: fmt.Sprintf(note, cluster.Name),
		Regarding: corev1.ObjectReference{APIVersion: ocmv1.GroupVersion.String(), Kind: "ManagedCluster", Name: cluster.Name,
			Namespace: cluster.Name, UID: cluster.UID, ResourceVersion: cluster.ResourceVersion},
	}
	go func() { // events are not worth waiting for
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		if _, err := s.typed.EventsV1().Events(cluster.Name).Create(within, event, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
			s.log.Debug("event not recorded", "cluster", cluster.Name, "error", err)
		}
	}()
}
