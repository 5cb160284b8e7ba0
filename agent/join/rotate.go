package join

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// rotateCheck is how often the certificate's age is looked at.
	rotateCheck = 5 * time.Minute
	// rotateTimeout bounds one renewal.
	rotateTimeout = 2 * time.Minute
)

// Rotator renews an agent's certificate by itself when a fifth of its life is
// left, at start and from then on (contract 6.6).
type Rotator struct {
	Store *Store
	Log   *slog.Logger
	// Renewed is called when a new certificate is in use for new connections.
	Renewed func()
	// Failed is told why a renewal did not succeed. It is tried again.
	Failed func(why string)
}

// Start renews until ctx ends.
func (r *Rotator) Start(ctx context.Context) error {
	for {
		current := r.Store.Current()
		if current == nil {
			return ErrNoIdentity
		}
		now := time.Now()
		if !now.Before(current.renewAt()) {
			if err := r.renew(ctx, current); err != nil && ctx.Err() == nil {
				r.Log.Error("certificate not renewed", "cluster", current.Cluster, "expires", current.Certificate.Leaf.NotAfter, "error", err)
				r.Failed(fmt.Sprintf("the certificate, which expires at %s, was not renewed: %v", current.Certificate.Leaf.NotAfter.UTC().Format(time.RFC3339), err))
			}
		}
		if !sleep(ctx, r.pause(now)) {
			return nil
		}
	}
}

// pause is the time to the next look: soon enough for certificates that live for
// minutes, and not so soon after a failure that the hub notices.
func (r *Rotator) pause(now time.Time) time.Duration {
	current := r.Store.Current()
	due := current.renewAt().Sub(now)
	if due <= 0 { // failed just now
		return min(max(current.lifetime()/20, time.Second), rotateCheck)
	}
	return min(due, rotateCheck)
}

// renew asks, as the agent, for a certificate of the same name and lifetime.
func (r *Rotator) renew(ctx context.Context, current *Identity) error {
	if !current.Valid(time.Now()) {
		return fmt.Errorf("it has expired already: register again with a new token")
	}
	ctx, cancel := context.WithTimeout(ctx, rotateTimeout)
	defer cancel()
	ask := request{cluster: current.Cluster, seconds: int32(min(current.lifetime()/time.Second, 1<<31-1))}
	certificate, key, err := ask.send(ctx, current.Config())
	if err != nil {
		return err
	}
	next, err := newIdentity(current.Server, current.CA, certificate, key)
	if err != nil {
		return err
	}
	if err := r.Store.Save(ctx, next, true); err != nil {
		return err
	}
	r.Log.Info("certificate renewed", "cluster", next.Cluster, "expires", next.Certificate.Leaf.NotAfter)
	r.Renewed()
	return nil
}
