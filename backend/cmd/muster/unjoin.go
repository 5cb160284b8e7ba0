package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"muster.dev/muster/backend/joining"
)

// newUnjoinCommand removes a cluster that the hub calls, compatible with
// karmadactl's command of the same name (contract karmada.md section 4.4).
func newUnjoinCommand() *cobra.Command {
	hub, member := &hubAccess{}, &memberAccess{}
	request := joining.UnjoinRequest{}
	command := &cobra.Command{
		Use:   "unjoin NAME [--cluster-kubeconfig FILE]",
		Short: "Remove a cluster that was joined in push mode",
		Long: `Remove a cluster that was joined in push mode: its objects on the hub, what the
hub put into it and, if a kubeconfig for it is given, the hub's accounts there.
Namespaces of the member that hold objects the hub did not put there stay.`,
		Example: `  muster unjoin paris --kubeconfig admin.kubeconfig --cluster-kubeconfig paris.kubeconfig
  muster unjoin paris --kubeconfig admin.kubeconfig --force --wait 10s`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			request.Name = args[0]
			return runUnjoin(command, hub, member, request)
		},
	}
	flags := command.Flags()
	hub.add(flags)
	member.add(flags)
	flags.BoolVar(&request.Force, "force", false, "when the time is over, take away what still holds the cluster; its objects stay in the member")
	flags.DurationVar(&request.Wait, "wait", time.Minute, "how long the hub may take")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print what would be removed and remove nothing")
	return command
}

func runUnjoin(command *cobra.Command, hub *hubAccess, member *memberAccess, request joining.UnjoinRequest) error {
	if member.kubeconfig != "" {
		config, _, err := member.config(request.Name, command.ErrOrStderr())
		if err != nil {
			return err
		}
		request.Member = config
	}
	api, err := hub.client()
	if err != nil {
		return err
	}
	request.Hub, request.Namespace = api, member.namespace
	request.Progress = printProgress(command.ErrOrStderr())
	if err := joining.Unjoin(command.Context(), request); err != nil {
		return err
	}
	if request.DryRun {
		return nil
	}
	_, err = fmt.Fprintf(command.OutOrStdout(), "cluster(%s) removed\n", request.Name)
	return err
}
