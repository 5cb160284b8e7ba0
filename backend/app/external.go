package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/controlplane/webhook"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/deploy"
)

// newExternalPlane prepares the plane of a hub on an existing Kubernetes API.
func (a *App) newExternalPlane() error {
	options, err := a.externalOptions(a.config.External)
	if err != nil {
		return err
	}
	if a.external, err = controlplane.NewExternal(options); err != nil {
		return err
	}
	a.plane = a.external
	return nil
}

// externalOptions hang what the domains decide onto an existing API.
func (a *App) externalOptions(config *External) (controlplane.ExternalOptions, error) {
	options := controlplane.ExternalOptions{
		API: rest.CopyConfig(config.config), Namespace: config.Namespace, Advertise: a.config.Advertise,
		CRDs: deploy.HubCRDs(), InstallCRDs: config.InstallCRDs, Bootstrap: a.bootstrapExternal,
		Webhooks: webhook.Options{
			Listen: config.WebhookListen, URL: config.WebhookURL, ServiceName: config.WebhookService, ServicePort: config.WebhookServicePort,
			CertFile: config.WebhookCert, KeyFile: config.WebhookKey, CAFile: config.WebhookCA, ClientCAFile: config.AuditClientCA,
			Configurations: deploy.Webhooks(), Configure: config.WebhookConfigurations,
			Scheme: clientgoscheme.Scheme, Admission: a.dialect.admission(), Handlers: map[string]http.Handler{},
		},
		Signing: controlplane.SigningOptions{
			Sign: config.SignCSRs, CertFile: config.SigningCert, KeyFile: config.SigningKey,
			Selector: ocmv1.ClusterNameLabel, Patience: controlplane.DefaultSignerPatience, Annotation: consent.AnnotationWaiting,
		},
	}
	options.API.UserAgent = "muster/" + a.config.Version
	a.dialect.consent.UseNamespace(config.Namespace)
	if config.AuditWebhook {
		receiver, err := audit.NewReceiver(a.audit, audit.ReceiverOptions{TokenFile: config.AuditTokenFile, Self: func() string { return a.external.User() }})
		if err != nil {
			return options, err
		}
		options.Webhooks.Handlers[AuditPath] = receiver
	}
	return options, nil
}

// bootstrapExternal writes what agents, users and clients expect to find.
func (a *App) bootstrapExternal(ctx context.Context, config *rest.Config) error {
	hub, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		return fmt.Errorf("build bootstrap client: %w", err)
	}
	a.dialect.useClient(hub)
	if err := a.dialect.bootstrap(ctx, hub, false); err != nil {
		return err
	}
	return letAdministrators(ctx, hub)
}

// shared tells whether other replicas may use the same database.
func (a *App) shared() bool {
	return a.config.External != nil && !strings.HasPrefix(a.config.Database, "sqlite:")
}

// address is where members reach the hub API.
func (a *App) address() string {
	if a.external != nil {
		return a.external.Address()
	}
	return a.config.Advertise
}

// dialects are what members may speak to this hub.
func (a *App) dialects() []string {
	if a.external != nil {
		return []string{cluster.DialectOCM}
	}
	return []string{cluster.DialectKarmada, cluster.DialectOCM}
}

// warnOfAdministrator says that the hub's own credential is more than it needs.
func warnOfAdministrator(user string) {
	if !strings.HasPrefix(user, "system:serviceaccount:") {
		slog.Warn("the hub acts on the existing api as a person: give it a service account with the roles of deploy/external/rbac.yaml, "+
			"or what that person does by kubectl is taken for the hub's own work and not recorded", "name", user)
	}
}
