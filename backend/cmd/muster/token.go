package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/token"
)

// newTokenCommand makes, lists and deletes join tokens, compatible with
// karmadactl's command of the same name (contract karmada.md section 5.1).
func newTokenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "token",
		Short: "Make, list and delete the tokens that clusters join with",
	}
	command.AddCommand(newTokenCreateCommand(), newTokenListCommand(), newTokenDeleteCommand())
	return command
}

func newTokenCreateCommand() *cobra.Command {
	hub := &hubAccess{}
	spec := token.Spec{}
	printCommand := false
	command := &cobra.Command{
		Use:   "create",
		Short: "Make a join token and print it, or the whole register command",
		Example: `  muster token create --kubeconfig admin.kubeconfig --print-register-command
  muster token create --kubeconfig admin.kubeconfig --cluster-name edge-7 --ttl 1h --print-register-command`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return createToken(command, hub, spec, printCommand)
		},
	}
	flags := command.Flags()
	hub.add(flags)
	flags.DurationVar(&spec.TTL, "ttl", token.DefaultTTL, "how long the token lives, like 1h or 30m; 0 is for ever")
	flags.StringVar(&spec.Description, "description", "", "what the token is for")
	flags.StringSliceVar(&spec.Usages, "usages", []string{token.UsageSigning, token.UsageAuthentication}, "what the token may be used for")
	flags.StringSliceVar(&spec.Groups, "groups", []string{token.DefaultGroup}, "groups of whoever uses the token")
	flags.StringVar(&spec.ClusterName, "cluster-name", "", "bind the token to this cluster name and put it into the command")
	flags.BoolVar(&printCommand, "print-register-command", false, "print the complete register command instead of the token")
	return command
}

func createToken(command *cobra.Command, hub *hubAccess, spec token.Spec, printCommand bool) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	var server string
	var ca []byte
	if printCommand { // before the token exists, so that a failure leaves none behind
		cluster, err := clusterOf(hub.loader(), hub.context)
		if err != nil {
			return unusable("the hub's kubeconfig", "--kubeconfig and --karmada-context", err)
		}
		if len(cluster.CertificateAuthorityData) == 0 {
			return fault.Invalid("the kubeconfig names no CA for the hub, so its pin cannot be told").WithFix("use the kubeconfig that `muster kubeconfig` prints")
		}
		server, ca = cluster.Server, cluster.CertificateAuthorityData
	}
	api, err := hub.client()
	if err != nil {
		return err
	}
	id, secret := token.Generate()
	if err := api.Create(command.Context(), spec.Secret(id, secret, time.Now())); err != nil {
		return fmt.Errorf("create token: %w", kube.Fault(err))
	}
	text := id + "." + secret
	if printCommand {
		commands, err := token.NewCommands(server, text, ca, token.Placement{ClusterName: spec.ClusterName})
		if err != nil {
			return err
		}
		text = commands.Muster
	}
	_, err = fmt.Fprintln(command.OutOrStdout(), text)
	return err
}

func newTokenListCommand() *cobra.Command {
	hub := &hubAccess{}
	command := &cobra.Command{
		Use:   "list",
		Short: "List the join tokens",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			api, err := hub.client()
			if err != nil {
				return err
			}
			var secrets corev1.SecretList
			err = api.List(command.Context(), &secrets, client.InNamespace(token.Namespace), client.MatchingFields{"type": string(token.SecretType)})
			if err != nil {
				return fmt.Errorf("list tokens: %w", kube.Fault(err))
			}
			return printTokens(command.OutOrStdout(), command.ErrOrStderr(), secrets.Items, time.Now())
		},
	}
	hub.add(command.Flags())
	return command
}

// printTokens writes the table of contract section 5.1. Secrets that are no
// tokens are told on warn and left out.
func printTokens(out, warn io.Writer, secrets []corev1.Secret, now time.Time) error {
	table := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0)
	fmt.Fprintln(table, "TOKEN\tTTL\tEXPIRES\tUSAGES\tDESCRIPTION\tEXTRA GROUPS")
	for i := range secrets {
		read, err := token.FromSecret(&secrets[i], now)
		if err != nil {
			fmt.Fprintln(warn, "left out:", err)
			continue
		}
		ttl, expires := "<forever>", "<never>"
		if read.ExpiresAt != nil {
			ttl, expires = "<expired>", read.ExpiresAt.Format(time.RFC3339)
			if !read.Expired {
				ttl = duration.ShortHumanDuration(read.ExpiresAt.Sub(now))
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", token.Text(&secrets[i]), ttl, expires,
			orNone(strings.Join(read.Usages, ",")), orNone(read.Description), orNone(strings.Join(read.Groups, ",")))
	}
	return table.Flush()
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

func newTokenDeleteCommand() *cobra.Command {
	hub := &hubAccess{}
	command := &cobra.Command{
		Use:   "delete TOKEN-ID …",
		Short: "Delete join tokens; clusters that joined with them stay",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			ids := make([]string, 0, len(args))
			for _, text := range args {
				id, err := token.ParseID(text)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			api, err := hub.client()
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := token.Revoke(command.Context(), api, id); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "bootstrap token %q deleted\n", id)
			}
			return nil
		},
	}
	hub.add(command.Flags())
	return command
}
