package app

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/backend/placement"
)

// dialect is admission of Open Cluster Management's kinds: what either plane asks
// before there is anything to answer from. The embedded plane runs it in process,
// an existing API asks for it by webhooks.
type dialect struct {
	consent   *consent.Admission
	placement *placement.Admission
	works     *manifestwork.Admission
}

func newDialect() *dialect {
	return &dialect{consent: consent.NewAdmission(), placement: placement.NewAdmission(), works: manifestwork.NewAdmission()}
}

func (d *dialect) admission() []controlplane.Admission {
	return []controlplane.Admission{d.consent, d.placement, d.works}
}

// useClient gives admission sight of the API. Every replica answers webhooks, so
// that this does not wait for being elected.
func (d *dialect) useClient(hub client.Client) {
	d.consent.UseClient(hub)
	d.placement.UseClient(hub)
	d.works.UseClient(hub)
}

// bootstrap writes what agents and users expect to find. confined tells that the
// plane asks our authorizer, too.
func (d *dialect) bootstrap(ctx context.Context, hub client.Client, confined bool) error {
	if err := consent.Bootstrap(ctx, hub, confined); err != nil {
		return err
	}
	return managedcluster.EnsureRoles(ctx, hub)
}
