package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"muster.dev/muster/backend/app"
)

func newInitCommand() *cobra.Command {
	flags := &hubFlags{}
	command := &cobra.Command{
		Use:   "init",
		Short: "Prepare a data directory: keys, admin kubeconfig, first administrator, first join token",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := flags.complete()
			if err != nil {
				return err
			}
			hub, err := app.New(config, command.ErrOrStderr())
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(command.Context())
			defer stop()
			go func() {
				<-hub.Serving()
				stop()
			}()
			if err := hub.Start(ctx); err != nil {
				return err
			}
			fmt.Fprint(command.OutOrStdout(), hub.Welcome())
			return command.Context().Err()
		},
	}
	flags.add(command)
	return command
}
