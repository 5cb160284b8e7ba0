package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"muster.dev/muster/agent/join"
)

func unregisterCommand() *cobra.Command {
	var member memberFlags
	var hubConfig, hubContext string
	l := join.Leaving{}
	c := &cobra.Command{
		Use:   "unregister NAME",
		Short: "Take this cluster out of its hub, and the agent out of this cluster",
		Long: `Take this cluster out of its hub: the hub deletes the Cluster, everything it has put here is removed, then the agent and its identity.
Namespaces that hold objects of others are kept. The hub is asked as the agent itself, or with --karmada-config as somebody else.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if l.Wait <= 0 {
				return errors.New("--wait must be longer than nothing")
			}
			config, _, err := member.config()
			if err != nil {
				return err
			}
			if hubConfig != "" {
				if l.Hub, _, err = loadConfig(hubConfig, hubContext); err != nil {
					return err
				}
			}
			l.ClusterName, l.Member, l.Namespace, l.Out = args[0], config, member.namespace, c.OutOrStdout()
			return join.Unregister(c.Context(), l)
		},
	}
	flags := c.Flags()
	member.add(flags, "cluster-kubeconfig", "cluster-context")
	flags.StringVar(&member.kubeconfig, "kubeconfig", "", "same as --cluster-kubeconfig")
	flags.StringVar(&member.context, "context", "", "same as --cluster-context")
	flags.StringVar(&hubConfig, "karmada-config", "", "kubeconfig of the hub (default the agent's identity, found in this cluster)")
	flags.StringVar(&hubContext, "karmada-context", "", "context in it (default its current one)")
	flags.DurationVar(&l.Wait, "wait", 60*time.Second, "how long to wait until the hub has removed the cluster")
	flags.BoolVar(&l.Force, "force", false, "clean this cluster up even if the hub cannot be asked or does not finish")
	flags.BoolVar(&l.DryRun, "dry-run", false, "only say what would be done")
	return c
}
