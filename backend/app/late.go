package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// The API server asks the domains before the domains can be built, because they
// are built on the API server. What stands here answers until then.

var errStarting = errors.New("the hub is starting")

// link hands an agent's WebSocket on.
func (a *App) link(w http.ResponseWriter, r *http.Request) {
	if hub := a.hub.Load(); hub != nil {
		hub.link.ServeHTTP(w, r)
		return
	}
	http.Error(w, errStarting.Error(), http.StatusServiceUnavailable)
}

// manifest hands what kubectl applies to register a member to holders of a token.
func (a *App) manifest(w http.ResponseWriter, r *http.Request) {
	if hub := a.hub.Load(); hub != nil {
		hub.manifest.ServeHTTP(w, r)
		return
	}
	http.Error(w, errStarting.Error(), http.StatusServiceUnavailable)
}

// proxy serves clusters/{name}/proxy.
func (a *App) proxy(ctx context.Context, target *clusterv1alpha1.Cluster, path string, who user.Info) (http.Handler, error) {
	if hub := a.hub.Load(); hub != nil {
		return hub.proxy.Handler(ctx, target, path, who)
	}
	return nil, errStarting
}

// proxyAll serves clusters/*/proxy once the hub stands.
func (a *App) proxyAll(ctx context.Context, targets []clusterv1alpha1.Cluster, path string, who user.Info) (http.Handler, error) {
	if hub := a.hub.Load(); hub != nil {
		return hub.proxy.Everywhere(ctx, targets, path, who)
	}
	return nil, errStarting
}

// lateStages records stages of registrations; while the hub starts no token is
// accepted that could have any.
type lateStages struct{ app *App }

func (l lateStages) Advance(ctx context.Context, m registration.Match, stage string, e registration.StageEvent) {
	if hub := l.app.hub.Load(); hub != nil {
		hub.registrations.Advance(ctx, m, stage, e)
	}
}

func (l lateStages) Fail(ctx context.Context, m registration.Match, stage string, f registration.Failure) {
	if hub := l.app.hub.Load(); hub != nil {
		hub.registrations.Fail(ctx, m, stage, f)
	}
}

// lateTokens looks join tokens up.
type lateTokens struct{ app *App }

func (l lateTokens) Get(ctx context.Context, id string) (token.Token, error) {
	if hub := l.app.hub.Load(); hub != nil {
		return hub.tokens.Get(ctx, id)
	}
	return token.Token{}, errStarting
}

func (l lateTokens) ExpiredAt(id, secret string) (time.Time, bool) {
	if hub := l.app.hub.Load(); hub != nil {
		return hub.tokens.ExpiredAt(id, secret)
	}
	return time.Time{}, false
}
