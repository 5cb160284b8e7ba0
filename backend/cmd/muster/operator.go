package main

import (
	"github.com/spf13/cobra"

	"muster.dev/muster/backend/app"
	"muster.dev/muster/backend/fault"
)

// newOperatorCommand runs the operators that put the hub and the agents on clusters.
func newOperatorCommand() *cobra.Command {
	var config app.OperatorConfig
	var level string
	command := &cobra.Command{
		Use:   "operator",
		Short: "Put the hub (ClusterManager) and agents (Klusterlet) on clusters as custom resources ask for",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := config.LogLevel.UnmarshalText([]byte(level)); err != nil {
				return fault.Invalid("--log-level %q is not known", level).WithFix("use debug, info, warn or error")
			}
			return app.Operate(command.Context(), config, command.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster whose resources are looked after (default: the pod's own credentials)")
	flags.StringVar(&config.Namespace, "namespace", "", "namespace of the operator's Lease and registry credentials (default: the pod's, else open-cluster-management)")
	flags.StringSliceVar(&config.Sides, "for", []string{app.OperateHub, app.OperateSpoke}, "what to look after: hub (ClusterManager), spoke (Klusterlet)")
	flags.StringVar(&config.HubImage, "hub-image", "muster:"+version, "image of the hub, where a ClusterManager names none")
	flags.StringVar(&config.AgentImage, "agent-image", "muster-agent:"+version, "image of the agents, where a Klusterlet names none")
	flags.Int32Var(&config.Replicas, "deployment-replicas", 0, "replicas of a ClusterManager's Deployments (default: three on a cluster with several control-plane nodes, else one)")
	flags.BoolVar(&config.KeepKinds, "skip-remove-crds", false, "leave the hub's kinds and their objects when a ClusterManager is removed")
	flags.BoolVar(&config.LeaderElection, "leader-elect", true, "let one of several replicas act, by a Lease that is given up at the end")
	flags.StringVar(&config.ProbeListen, "probe-listen", "", "address of /healthz and /readyz, e.g. :8000 (default: none)")
	flags.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return command
}
