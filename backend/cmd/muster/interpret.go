package main

import (
	"github.com/spf13/cobra"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/agent/interpret/trial"
	"muster.dev/muster/backend/fault"
)

// newInterpretCommand tries interpreter customizations before they go to the hub,
// compatible with karmadactl's command of the same name (contract karmada.md
// section 12.4). It needs no hub.
func newInterpretCommand() *cobra.Command {
	hub := &hubAccess{}
	t := &trial.Trial{}
	var operation string
	var replicas int32
	var check, edit, document bool
	command := &cobra.Command{
		Use:   "interpret (-f FILE) (--check | --edit | --operation OPERATION [--ARG VALUE]...)",
		Short: "Check, run or edit interpreter customizations, without a hub",
		Example: `  muster interpret -f customization.yaml --check
  muster interpret -f customization.yaml --operation Retain --desired-file desired.yaml --observed-file observed.yaml
  muster interpret -f customization.yaml --operation InterpretReplica --observed-file observed.yaml
  muster interpret -f customization.yaml --operation ReviseReplica --observed-file observed.yaml --desired-replica 2
  muster interpret -f customization.yaml --operation AggregateStatus --observed-file observed.yaml --status-file status.yaml
  muster interpret -f customization.yaml --operation InterpretHealth --observed-file https://example.com/observed.yaml
  muster interpret -f customization.yaml --edit`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			t.Sources.In, t.Out, t.Log = command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr()
			t.Interpreter = interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox()})
			defer t.Interpreter.Close()
			ctx := command.Context()
			switch {
			case len(t.Sources.Customizations) == 0:
				return fault.Invalid("no customization is given").WithFix("add --filename FILE")
			case check:
				return t.Check(ctx)
			case edit:
				return t.Edit(ctx, trial.SystemEditor, document)
			case operation != "":
				return t.Execute(ctx, operation, replicas)
			}
			return fault.Invalid("there is nothing to do").WithFix("add --check, --edit or --operation OPERATION")
		},
	}
	flags := command.Flags()
	hub.add(flags) // as other commands have it; everything happens here
	flags.StringSliceVarP(&t.Sources.Customizations, "filename", "f", nil, "files, directories or URLs of customizations, - for standard input")
	flags.BoolVarP(&t.Sources.Recursive, "recursive", "R", false, "go into the directories of directories")
	flags.BoolVar(&check, "check", false, "try whether the scripts can be run")
	flags.BoolVar(&edit, "edit", false, "change the file in an editor ($KUBE_EDITOR or $EDITOR) and check it before it is saved")
	flags.BoolVar(&document, "show-doc", false, "with --edit: show the functions that the rules define")
	flags.StringVar(&operation, "operation", "", "run the rule of this operation")
	flags.StringVar(&t.Sources.Desired, "desired-file", "", "file or URL of the object as the hub wants it")
	flags.StringVar(&t.Sources.Observed, "observed-file", "", "file or URL of the object as a member has it")
	flags.StringVar(&t.Sources.Status, "status-file", "", "file or URL of the members' status, for AggregateStatus")
	flags.Int32Var(&replicas, "desired-replica", 0, "the number of replicas, for ReviseReplica")
	// karmadactl takes these as well, and prints results as YAML whatever they say.
	flags.StringP("output", "o", "yaml", "taken for karmadactl's sake: results are YAML")
	flags.String("template", "", "taken for karmadactl's sake")
	flags.Bool("allow-missing-template-keys", true, "taken for karmadactl's sake")
	flags.Bool("show-managed-fields", false, "taken for karmadactl's sake: they are always shown")
	return command
}
