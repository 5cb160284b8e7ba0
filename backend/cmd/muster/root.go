package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"muster.dev/muster/backend/fault"
)

// version is set by the linker.
var version = "dev"

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "muster",
		Short:         "One hub that gathers Kubernetes clusters",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// Kubernetes' libraries have a flag of this name, which cobra would take for its own.
	root.Flags().BoolP("version", "v", false, "print the version")
	root.AddCommand(
		newServeCommand(), newInitCommand(), newKubeconfigCommand(), newDemoCommand(),
		newJoinCommand(), newUnjoinCommand(), newTokenCommand(), newInterpretCommand(), newPromoteCommand(),
		newOperatorCommand(),
	)
	return root
}

// explain words an error for a terminal: what happened, why, what to do.
func explain(err error) string {
	text := "error: " + err.Error() + "\n"
	if known, ok := fault.As(err); ok && known.Fix != "" {
		text += "to mend it: " + known.Fix + "\n"
	}
	return text
}

// defaultDataDir is where a hub started by this user keeps its state.
func defaultDataDir() string {
	if dir := os.Getenv("MUSTER_DATA_DIR"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/muster"
	}
	if dir, err := os.UserHomeDir(); err == nil {
		return filepath.Join(dir, ".local", "share", "muster")
	}
	return "muster-data"
}
