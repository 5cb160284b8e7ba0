package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// TokenSecrets reads and updates the Secrets of join tokens, not from a cache.
type TokenSecrets interface {
	Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error
	Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error
}

// tokenGate binds join tokens to the clusters they register.
type tokenGate struct {
	hub TokenSecrets
	now func() time.Time
}

const (
	// bindAttempts bounds how often binding starts over because another
	// registration with the same token was faster.
	bindAttempts = 16
	// maxUses bounds the names kept on a token without a limit: they are for
	// people to read, and an annotation holds 256 KiB.
	maxUses = 256
)

func newTokenGate(hub TokenSecrets) tokenGate { return tokenGate{hub: hub, now: time.Now} }

func (g tokenGate) read(ctx context.Context, id string) (*corev1.Secret, token.Token, error) {
	var secret corev1.Secret
	err := g.hub.Get(ctx, client.ObjectKey{Namespace: token.Namespace, Name: token.SecretName(id)}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, token.Token{}, fault.Forbidden("the token %s does not exist any more", id).WithCode(registration.CodeTokenUnknown)
	}
	if err != nil {
		return nil, token.Token{}, fmt.Errorf("read token %s: %w", id, err)
	}
	read, err := token.FromSecret(&secret, g.now())
	if err != nil {
		return nil, token.Token{}, err
	}
	return &secret, read, nil
}

// bind notes that a token registers a cluster, if it admits it. Binding is one
// conditional write: of two registrations that race for a token's last use, the
// second is refused.
func (g tokenGate) bind(ctx context.Context, id, cluster string) (token.Token, error) {
	for range bindAttempts {
		secret, read, err := g.read(ctx, id)
		if err != nil {
			return token.Token{}, err
		}
		if err := read.Admits(cluster, g.now()); err != nil {
			return read, err
		}
		if read.MaxClusters == 0 && len(read.UsedBy) >= maxUses || !token.MarkUsed(secret, cluster) {
			return read, nil
		}
		err = g.hub.Update(ctx, secret) // carries the resourceVersion that was read
		if err == nil {
			return token.FromSecret(secret, g.now())
		}
		if !apierrors.IsConflict(err) {
			return token.Token{}, fmt.Errorf("bind token %s: %w", id, err)
		}
	}
	return token.Token{}, fmt.Errorf("bind token %s: %w", id, errors.New("too many registrations use it at once"))
}

// validateTokenRequest judges a certificate request made with a join token, so
// that the client is told at once what would otherwise wait for an approval that
// never comes. A name that is taken is not refused here: an administrator may
// approve that.
func (d *Admission) validateTokenRequest(ctx context.Context, id identity, a admission.Attributes) error {
	tokenID, ok := tokenOf(id.user)
	if !ok {
		return forbidden(a, "only join tokens may ask in this way")
	}
	asked, err := requestOf(a)
	if err != nil {
		return forbidden(a, "a join token asks for the identity of an agent only: "+err.Error())
	}
	if !asked.helper && !strings.HasPrefix(nameOf(a), asked.cluster+"-") {
		return forbidden(a, "the certificate request for cluster "+asked.cluster+" is named "+asked.cluster+"-…")
	}
	deps := d.deps.Load()
	if deps == nil {
		return refuse(a, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, errStarting.Error())
	}
	_, read, err := deps.tokens.read(ctx, tokenID)
	if err == nil {
		err = read.Admits(asked.cluster, deps.tokens.now())
	}
	if err == nil && read.MaxClusters > 0 && !a.IsDryRun() {
		err = d.bindLimited(ctx, deps, tokenID, asked)
	}
	if known, ok := fault.As(err); ok {
		deps.stages.Fail(ctx, registration.Match{TokenID: tokenID}, registration.StageToken, registration.Failure{Code: known.Code, Cause: known.Message, Fix: known.Fix})
		return forbidden(a, sentence(known))
	}
	return err
}

// bindLimited binds a token that may register so many clusters and no more. A
// helper's request for a name that exists does not: its client is going to be
// told so and stops.
func (d *Admission) bindLimited(ctx context.Context, deps *admissionDeps, tokenID string, asked agentRequest) error {
	if asked.helper {
		if known, err := deps.clusters.Look(ctx, asked.cluster); err != nil || known.Exists {
			return err
		}
	}
	_, err := deps.tokens.bind(ctx, tokenID, asked.cluster)
	return err
}

// sentence is a fault as one line for a terminal.
func sentence(f *fault.Error) string {
	if f.Fix == "" {
		return f.Message
	}
	return f.Message + ": " + f.Fix
}
