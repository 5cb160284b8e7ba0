package app

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/controlplane"
)

// dialect is the Open Cluster Management side of a hub on an existing API: what
// is asked before there is anything to answer from, and what answers later.
type dialect struct {
	consent *consent.Admission
}

func newDialect() *dialect { return &dialect{consent: consent.NewAdmission()} }

// admission are the steps that the embedded plane runs in process.
func (d *dialect) admission() []controlplane.Admission { return []controlplane.Admission{d.consent} }

// useClient gives admission sight of the API. Every replica answers webhooks, so
// that this does not wait for being elected.
func (d *dialect) useClient(hub client.Client) { d.consent.UseClient(hub) }

// bootstrap writes what agents and users expect to find.
func (d *dialect) bootstrap(ctx context.Context, hub client.Client) error {
	return consent.Bootstrap(ctx, hub)
}

// setUp adds the controllers, which run on the leader.
func (d *dialect) setUp(a *App, manager ctrl.Manager) error {
	if err := consent.SetupWithManager(manager, consent.Deps{Audit: a.audit}); err != nil {
		return fmt.Errorf("set up consent: %w", err)
	}
	return nil
}
