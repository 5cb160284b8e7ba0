package main

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"muster.dev/muster/backend/app"
	"muster.dev/muster/backend/eviction"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template"
)

// hubFlags are what serve and init have in common.
type hubFlags struct {
	config     app.Config
	allowCIDRs []string
	gates      string
	logLevel   string
}

func (f *hubFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.config.DataDir, "data-dir", defaultDataDir(), "directory that holds all state (MUSTER_DATA_DIR)")
	flags.StringVar(&f.config.Listen, "listen", app.DefaultListen, "address of the hub API")
	flags.StringVar(&f.config.DashboardListen, "dashboard-listen", app.DefaultDashboardListen, "address of the dashboard and the REST API")
	flags.StringVar(&f.config.Advertise, "advertise", "", "HOST[:PORT] under which members reach the hub API; goes into its certificate, cluster-info and register commands")
	flags.StringSliceVar(&f.config.CertHosts, "cert-host", nil, "further names and addresses in the hub API's certificate")
	flags.StringVar(&f.config.TLSCert, "tls-cert", "", "PEM certificate chain for the dashboard only (the hub API always chains to the CA that members pin)")
	flags.StringVar(&f.config.TLSKey, "tls-key", "", "PEM key of --tls-cert")
	flags.StringSliceVar(&f.config.Origins, "dashboard-origin", nil, "further https origins under which browsers open the dashboard")
	flags.StringVar(&f.config.Database, "database", "", "PostgreSQL URL (default: SQLite in the data directory)")
	flags.StringSliceVar(&f.allowCIDRs, "allow-member-cidr", nil, "address ranges the dashboard and REST may dial for push members although policy refuses them, e.g. 127.0.0.0/8")
	flags.StringVar(&f.config.AgentImage, "agent-image", "muster-agent:"+version, "image of the agent in register commands and manifests")
	flags.StringSliceVar(&f.config.AutoApproveUsers, "auto-approve-users", nil, "users whose Open Cluster Management clusters need nobody's consent, e.g. system:serviceaccount:open-cluster-management:agent-registration-bootstrap")
	flags.StringVar(&f.gates, "feature-gates", "", "features to switch, e.g. Failover=true; defaults: "+policy.DefaultGates().String())
	flags.BoolVar(&f.config.TaintEviction, "enable-no-execute-taint-eviction", false, "let NoExecute taints of clusters move workloads away (needs --feature-gates=Failover=true)")
	flags.DurationVar(&f.config.EvictionTimeout, "graceful-eviction-timeout", eviction.DefaultTimeout, "how long a graceful eviction waits for the new copies at most")
	flags.Float64Var(&f.config.EvictionRate, "resource-eviction-rate", eviction.DefaultRate, "targets that are evicted a second")
	flags.StringSliceVar(&f.config.SkippedNamespaces, "skipped-propagating-namespaces", template.DefaultSkippedNamespaces, "expressions for the names of namespaces that go to no member, each for a whole name")
	addEstimator(flags, &f.config.Estimator)
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
}

func (f *hubFlags) complete() (app.Config, error) {
	for _, text := range f.allowCIDRs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return app.Config{}, fault.Invalid("--allow-member-cidr %q is not an address range", text).WithFix("write it like 127.0.0.0/8")
		}
		f.config.AllowMemberCIDRs = append(f.config.AllowMemberCIDRs, prefix)
	}
	if err := f.config.LogLevel.UnmarshalText([]byte(f.logLevel)); err != nil {
		return app.Config{}, fault.Invalid("--log-level %q is not known", f.logLevel).WithFix("use debug, info, warn or error")
	}
	gates, err := policy.ParseGates(f.gates)
	if err != nil {
		return app.Config{}, err
	}
	f.config.Gates, f.config.IdleGates, f.config.Version = gates, policy.IdleGates(f.gates), version
	return f.config, f.config.Complete()
}

func newServeCommand() *cobra.Command {
	flags, plane := &hubFlags{}, &planeFlags{}
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve the hub API and the dashboard",
		Long: `Serve the hub: its own Kubernetes-style API and the dashboard or, with
--kubeconfig or --plane=external, a hub of Open Cluster Management on an existing
Kubernetes API (docs/second-plane.md).`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			var err error
			if flags.config.External, err = plane.choose(command.Flags()); err != nil {
				return err
			}
			config, err := flags.complete()
			if err != nil {
				return err
			}
			if config.External != nil && config.External.WebhooksOnly {
				return serveWebhooks(command, config)
			}
			return app.Serve(command.Context(), config, command.ErrOrStderr(), func(hub *app.App) {
				fmt.Fprint(command.OutOrStdout(), hub.Welcome())
			})
		},
	}
	flags.add(command)
	plane.add(command.Flags())
	return command
}
