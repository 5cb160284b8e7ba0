package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/agent"
	"muster.dev/muster/agent/join"
)

func runCommand() *cobra.Command {
	var member memberFlags
	var description join.Description
	var bootstrap, verbose bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Serve a registered cluster; what the agent's pod runs",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			log := newLogger(verbose)
			config, _, err := member.config()
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("client of the member: %w", err)
			}
			store := join.NewStore(client, member.namespace)
			for {
				if bootstrap {
					if err := join.Bootstrap(ctx, client, store, log); err != nil {
						return ended(err)
					}
				}
				err = agent.Run(ctx, agent.Config{Member: config, Store: store, Description: description, Log: log,
					Definitions: func(ctx context.Context) error { return ensureDefinitions(ctx, config, log) }})
				if !errors.Is(err, agent.ErrRemoved) {
					return ended(err)
				}
				// Ending here would only make the pod restart.
				log.Warn("the cluster is not in the hub any more; this agent waits to be registered again", "fix", "muster-agent register … or unregister")
				if err := join.AwaitRegistration(ctx, client, store); err != nil {
					return ended(err)
				}
			}
		},
	}
	flags := c.Flags()
	member.add(flags, "kubeconfig", "context")
	descriptionFlags(flags, &description)
	flags.BoolVar(&bootstrap, "bootstrap", false, "without an identity, get one with the token in secret "+join.BootstrapSecret)
	flags.BoolVarP(&verbose, "verbose", "v", false, "log more")
	return c
}

// ended makes an ordinary end of being told to stop.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
