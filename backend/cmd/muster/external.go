package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/backend/app"
	"muster.dev/muster/backend/fault"
)

// planeFlags choose what the hub stands on.
type planeFlags struct {
	plane    string
	external app.External
}

const (
	planeEmbedded = "embedded"
	planeExternal = "external"
)

func (f *planeFlags) add(flags *pflag.FlagSet) {
	e := &f.external
	flags.StringVar(&f.plane, "plane", "", "embedded: the hub serves its own API; external: it runs on an existing Kubernetes API (default: external if --kubeconfig is given)")
	flags.StringVar(&e.Kubeconfig, "kubeconfig", "", "external: kubeconfig of the existing Kubernetes API (default: the pod's own credentials)")
	flags.StringVar(&e.Namespace, "hub-namespace", "", "external: namespace of the hub's own objects there (default: the pod's, else "+app.DefaultHubNamespace+")")
	flags.BoolVar(&e.InstallCRDs, "install-crds", true, "external: install the hub's kinds; false where an operator does")
	flags.StringVar(&e.WebhookListen, "webhook-listen", app.DefaultWebhookListen, "external: address at which the API asks for admission")
	flags.StringVar(&e.WebhookURL, "webhook-url", "", "external: https://HOST:PORT under which the API reaches --webhook-listen (default: made from it)")
	flags.StringVar(&e.WebhookService, "webhook-service", "", "external: Service in the hub's namespace that leads to --webhook-listen, instead of a URL")
	flags.Int32Var(&e.WebhookServicePort, "webhook-service-port", 9443, "external: port of --webhook-service")
	flags.StringVar(&e.WebhookCert, "webhook-tls-cert", "", "external: PEM certificate for the webhooks (default: made by the hub, its CA kept in a Secret)")
	flags.StringVar(&e.WebhookKey, "webhook-tls-key", "", "external: PEM key of --webhook-tls-cert")
	flags.StringVar(&e.WebhookCA, "webhook-tls-ca", "", "external: PEM CA of --webhook-tls-cert, which goes into the webhook configurations")
	flags.BoolVar(&e.WebhookConfigurations, "webhook-configurations", true, "external: write and keep the webhook configurations; false where an operator does")
	flags.BoolVar(&e.WebhooksOnly, "webhooks-only", false, "external: answer webhooks and do nothing else; needs no database")
	flags.BoolVar(&e.SignCSRs, "sign-csrs", false, "external: sign approved client certificates, where the cluster's own signer is off")
	flags.StringVar(&e.SigningCert, "signing-ca-cert", "", "external: PEM certificate of the CA to sign with, which the API must accept client certificates of")
	flags.StringVar(&e.SigningKey, "signing-ca-key", "", "external: PEM key of --signing-ca-cert")
	flags.BoolVar(&e.AuditWebhook, "audit-webhook", false, "external: record what the API's audit webhook tells, at "+app.AuditPath+" of --webhook-listen")
	flags.StringVar(&e.AuditTokenFile, "audit-webhook-token-file", "", "external: file with the bearer token that the API shows there")
	flags.StringVar(&e.AuditClientCA, "audit-webhook-client-ca", "", "external: PEM CA of the client certificate that the API shows there")
}

// choose returns the existing API to run on, or nil. changed tells which flags
// were given.
func (f *planeFlags) choose(changed *pflag.FlagSet) (*app.External, error) {
	switch {
	case f.plane == planeExternal, f.plane == "" && f.external.Kubeconfig != "":
		if changed.Changed("listen") {
			return nil, fault.Invalid("--listen is for a hub that serves its own API").WithFix("leave it out: the existing API has an address")
		}
		return &f.external, nil
	case f.plane != "" && f.plane != planeEmbedded:
		return nil, fault.Invalid("--plane %q is not known", f.plane).WithFix("use embedded or external")
	}
	given := ""
	changed.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && strings.HasPrefix(flag.Usage, "external: ") {
			given = flag.Name
		}
	})
	if given != "" {
		return nil, fault.Invalid("--%s is for a hub on an existing Kubernetes API", given).WithFix("add --plane=external")
	}
	return nil, nil
}

// serveWebhooks is serve without anything but admission.
func serveWebhooks(command *cobra.Command, config app.Config) error {
	webhooks, err := app.NewWebhooks(config, command.ErrOrStderr())
	if err != nil {
		return err
	}
	return webhooks.Start(command.Context())
}
