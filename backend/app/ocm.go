package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/addon"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/backend/operator/clustermanager"
	"muster.dev/muster/backend/placement"
	"muster.dev/muster/backend/relay"
	"muster.dev/muster/backend/waiting"
)

// confinement is what the embedded plane does to the agents of Open Cluster
// Management beyond what any plane does.
type confinement struct {
	authorizer *consent.Authorizer
	watches    *consent.Watches
}

func newConfinement() *confinement {
	return &confinement{authorizer: consent.NewAuthorizer(), watches: consent.NewWatches()}
}

// addManaged hangs the Open Cluster Management dialect into the embedded plane.
func (a *App) addManaged(options *controlplane.Options) {
	options.Authorizers = append(options.Authorizers, a.confinement.authorizer)
	options.Admission = append(options.Admission, a.dialect.admission()...)
	observe := options.Middleware
	options.Middleware = func(next http.Handler) http.Handler { return observe(a.confinement.watches.Middleware(next)) }
	options.Bootstrap = a.bootstrapManaged
}

// bootstrapManaged writes what agents expect to find, before the plane is ready.
func (a *App) bootstrapManaged(ctx context.Context, config *rest.Config) error {
	hub, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		return fmt.Errorf("build bootstrap client: %w", err)
	}
	a.dialect.useClient(hub)
	a.confinement.authorizer.UseClient(hub)
	a.confinement.watches.UseClient(hub)
	if err := endNamespace(ctx, hub, config, consent.BootstrapNamespace); err != nil {
		return err
	}
	return a.dialect.bootstrap(ctx, hub, true)
}

// newManaged adds the controllers of the Open Cluster Management dialect to the
// manager of either plane, and returns what the dashboard does with it.
func (a *App) newManaged(manager ctrl.Manager, clients func(access.Actor) (client.Client, error)) (*managedREST, error) {
	book, err := waiting.NewBook(waiting.BookOptions{
		DB: a.db, Audit: a.audit, Live: a.live, TokenLabels: tokenLabels(manager.GetAPIReader()), Flags: a.autoApproved(),
	})
	if err != nil {
		return nil, err
	}
	deps := consent.Deps{Rules: book, Audit: a.audit}
	if a.external == nil { // watches of an existing API are its own, and an operator describes its hub
		deps.Watches = a.confinement.watches
		if deps.Spaces, err = kube.NewPurger(a.plane.Config()); err != nil {
			return nil, err
		}
		if err := clustermanager.SetupOwn(manager, a.config.Version); err != nil {
			return nil, err
		}
	}
	if err := consent.SetupWithManager(manager, deps); err != nil {
		return nil, fmt.Errorf("set up consent: %w", err)
	}
	if err := managedcluster.SetupWithManager(manager, managedcluster.Deps{}); err != nil {
		return nil, fmt.Errorf("set up managed clusters: %w", err)
	}
	if err := addon.SetupWithManager(manager); err != nil {
		return nil, err
	}
	if err := placement.SetupWithManager(manager, placement.Deps{}); err != nil {
		return nil, fmt.Errorf("set up placements: %w", err)
	}
	if err := manifestwork.SetupWithManager(manager, manifestwork.Deps{}); err != nil {
		return nil, fmt.Errorf("set up manifest works: %w", err)
	}
	return a.newManagedREST(manager, clients, book), nil
}

// joinDialects shows members of either dialect in the other one, and has policies
// reach those of Open Cluster Management that opt in. An existing API carries one
// dialect only.
func joinDialects(manager ctrl.Manager) error {
	if err := managedcluster.SetupFleet(manager); err != nil {
		return fmt.Errorf("set up the fleet: %w", err)
	}
	if err := relay.SetupWithManager(manager); err != nil {
		return fmt.Errorf("set up the relay: %w", err)
	}
	return nil
}

// autoApproved are the approval rules of the command line: clusters that these
// users introduce need nobody's consent.
func (a *App) autoApproved() []waiting.Rule {
	rules := make([]waiting.Rule, 0, len(a.config.AutoApproveUsers))
	for _, user := range a.config.AutoApproveUsers {
		rules = append(rules, waiting.Rule{Kind: waiting.RuleIdentity, Value: user, Approve: true, Accept: true})
	}
	return rules
}

// tokenLabels reads the labels of bootstrap tokens, not their secrets.
func tokenLabels(api client.Reader) func(ctx context.Context, id string) map[string]string {
	return func(ctx context.Context, id string) map[string]string {
		secret := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
		if err := api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: bootstrapapi.BootstrapTokenSecretPrefix + id}, secret); err != nil {
			if !apierrors.IsNotFound(err) {
				slog.Warn("labels of a join token not read", "token", id, "error", err)
			}
			return nil
		}
		return secret.Labels
	}
}
