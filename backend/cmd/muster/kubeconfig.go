package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"muster.dev/muster/backend/app"
	"muster.dev/muster/backend/fault"
)

func newKubeconfigCommand() *cobra.Command {
	var dataDir string
	command := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the administrator's kubeconfig of the hub API",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			data, err := os.ReadFile(app.AdminKubeconfigFile(dataDir))
			if os.IsNotExist(err) {
				return fault.NotFound("there is no hub in %s", dataDir).WithFix("run `muster init` or `muster serve` first, or pass --data-dir")
			}
			if err != nil {
				return fmt.Errorf("read kubeconfig: %w", err)
			}
			_, err = command.OutOrStdout().Write(data)
			return err
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", defaultDataDir(), "directory that holds the hub's state (MUSTER_DATA_DIR)")
	return command
}
