package handshake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// rotation is how the last try to renew the certificate ended.
type rotation struct {
	from, to time.Time
	problem  string
}

// condition tells of it on the ManagedCluster.
func (r *rotation) condition() metav1.Condition {
	if r.problem != "" {
		return metav1.Condition{Type: ocmv1.ConditionCertificateRotated, Status: metav1.ConditionFalse,
			Reason: ocmv1.ReasonClientCertificateNotUpdate, Message: brief(r.problem)}
	}
	const layout = "2006-01-02 15:04:05 +0000 UTC"
	return metav1.Condition{Type: ocmv1.ConditionCertificateRotated, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonClientCertificateUpdated,
		Message: fmt.Sprintf("client certificate rotated starting from %s to %s", r.from.UTC().Format(layout), r.to.UTC().Format(layout))}
}

// renewAt is when the certificate has 20 to 25 % of its life left. The member's
// agents do not all come at once.
func (i *Identity) renewAt(share float64) time.Time {
	life := i.leaf.NotAfter.Sub(i.leaf.NotBefore)
	return i.leaf.NotAfter.Add(-time.Duration(float64(life) * (0.20 + 0.05*share)))
}

// rotate renews the certificate when it is due, as itself. It returns errRenewed
// once a new one is kept, errExpired if it ran out before that.
func (s *service) rotate(ctx context.Context) error {
	due := time.NewTimer(time.Until(s.identity.renewAt(rand.Float64())))
	defer due.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-due.C:
	}
	return s.whileAccepted(ctx, s.rotateNow)
}

func (s *service) rotateNow(ctx context.Context) error {
	ctx, cancel := context.WithDeadlineCause(ctx, s.identity.Expires(), errExpired)
	defer cancel()
	tell := func(err error) {
		s.rotated(&rotation{problem: "Failed to create CSR: " + err.Error()})
	}
	ask := &request{cluster: s.identity.Cluster, agent: s.identity.Agent, seconds: s.o.CertificateSeconds, config: s.config, log: s.log, trouble: tell}
	grant, err := ask.get(ctx)
	for pause := pauseFirst; err == nil; pause = min(2*pause, pauseMost) {
		if err = s.keep(ctx, grant); err == nil {
			return errRenewed
		}
		tell(err)
		s.log.Warn("the renewed certificate is not kept", "cluster", s.identity.Cluster, "error", err, "retry", pause)
		wait(ctx, pause)
		err = ctx.Err()
	}
	if errors.Is(context.Cause(ctx), errExpired) {
		return errExpired
	}
	return err
}

func (s *service) keep(ctx context.Context, grant granted) error {
	next, err := newIdentity(s.identity.Cluster, s.identity.Agent, s.identity.Hub, grant.certPEM, grant.keyPEM)
	if err != nil {
		return err
	}
	data, err := next.data()
	if err != nil {
		return err
	}
	if err := s.o.Store.Write(ctx, data); err != nil {
		return err
	}
	s.agent.rotation = &rotation{from: next.leaf.NotBefore, to: next.leaf.NotAfter}
	s.log.Info("certificate renewed", "cluster", next.Cluster, "expires", next.Expires())
	return nil
}
