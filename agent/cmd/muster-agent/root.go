package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"muster.dev/muster/agent"
	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
)

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "muster-agent", Short: "Join a cluster to a Muster hub and serve it from within",
		SilenceUsage: true, SilenceErrors: true, Version: agent.Version,
	}
	root.AddCommand(registerCommand(), unregisterCommand(), runCommand(), registrationCommand(), workCommand(), klusterletCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "muster-agent %s, protocol %d\n", agent.Version, agentapi.Protocol)
			return err
		},
	}
}

// report prints an error for the operator and returns the exit status: the number
// of the failure's code, 130 after an interrupt, else 1.
func report(w io.Writer, err error) int {
	var failure *join.Failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure):
		fmt.Fprintln(w, failure.Explain())
		return failure.ExitCode()
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "interrupted")
		return 130
	}
	fmt.Fprintln(w, "error:", err)
	return 1
}

// memberFlags say how to reach the member.
type memberFlags struct{ kubeconfig, context, namespace string }

func (f *memberFlags) add(flags *pflag.FlagSet, kubeconfig, context string) {
	flags.StringVar(&f.kubeconfig, kubeconfig, "", "kubeconfig of the member cluster (default $KUBECONFIG, ~/.kube/config, or the pod's own account)")
	flags.StringVar(&f.context, context, "", "context in it (default its current one)")
	flags.StringVarP(&f.namespace, "namespace", "n", agentapi.AgentNamespace, "namespace of the agent in the member cluster")
}

// config returns how to reach the member, and the name its kubeconfig gives the
// cluster, "" if there is none.
func (f *memberFlags) config() (*rest.Config, string, error) {
	return loadConfig(f.kubeconfig, f.context)
}

func loadConfig(file, context string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.UserAgent = "muster-agent/" + agent.Version
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	if context == "" {
		context = raw.CurrentContext
	}
	if entry := raw.Contexts[context]; entry != nil {
		return config, entry.Cluster, nil
	}
	return config, "", nil
}

// descriptionFlags are what the agent says of its cluster.
func descriptionFlags(flags *pflag.FlagSet, d *join.Description) {
	flags.StringVar(&d.Provider, "cluster-provider", "", "provider of the cluster")
	flags.StringVar(&d.Region, "cluster-region", "", "region of the cluster")
	flags.StringSliceVar(&d.Zones, "cluster-zones", nil, "zones of the cluster, separated by commas")
	flags.StringVar(&d.APIEndpoint, "cluster-api-endpoint", "", "URL of the cluster's API server, as its operators know it")
	flags.StringVar(&d.ProxyURL, "proxy-server-address", "", "forward proxy through which the cluster can be reached (http, https or socks5 URL)")
	flags.StringVar(&d.ClusterNamespace, "cluster-namespace", "", "namespace on the hub for the cluster's credentials; karmada-cluster is the only one there is")
}

// newLogger logs to standard error, libraries included.
func newLogger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	klog.SetSlogLogger(log)
	return log
}
