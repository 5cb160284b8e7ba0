package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muster.dev/muster/agent"
	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
)

// registerFlags are the flags of register.
type registerFlags struct {
	member      memberFlags
	token       string
	pins        []string
	name        string
	description join.Description
	image       string
	seconds     int32
	timeout     time.Duration
	dryRun      bool
	here        bool
	verbose     bool
}

func registerCommand() *cobra.Command {
	f := &registerFlags{}
	c := &cobra.Command{
		Use:   "register HOST:PORT",
		Short: "Join this cluster to a hub",
		Long: `Join this cluster to a hub: the cluster calls the hub, nothing has to be opened.

HOST:PORT, the token and the hash of the hub's CA are what "muster token create --print-register-command" prints. The token is not
sent before the hub's CA has matched the hash. The command can be repeated after a failure at any point. Its exit status is the number of
the failure's code, such as 107 for MU-107.`,
		Example: `  muster-agent register hub.example:6443 --token abcdef.0123456789abcdef \
    --discovery-token-ca-cert-hash sha256:… --cluster-name edge-7`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	flags := c.Flags()
	f.member.add(flags, "kubeconfig", "context")
	flags.StringVar(&f.token, "token", "", "bootstrap token of the hub; - reads it from standard input (required)")
	flags.StringSliceVar(&f.pins, "discovery-token-ca-cert-hash", nil, "sha256:… of the hub's CA; several are alternatives (required)")
	flags.StringVar(&f.name, "cluster-name", "", "name of the cluster on the hub (default the name its kubeconfig gives it)")
	descriptionFlags(flags, &f.description)
	flags.StringVar(&f.image, "agent-image", agentapi.AgentImage(agent.Version), "image of the agent")
	flags.Int32Var(&f.seconds, "cert-expiration-seconds", 0, "lifetime of the agent's certificate to ask for (default the hub's choice)")
	flags.DurationVar(&f.timeout, "discovery-timeout", 5*time.Minute, "how long to wait for the certificate, and for the cluster to be ready")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check this cluster and print the manifests, without asking the hub")
	flags.BoolVar(&f.here, "run", false, "run the agent in this process instead of a pod, where no kubelet runs")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "with --run: log more")
	return c
}

func (f *registerFlags) run(c *cobra.Command, hub string) error {
	config, name, err := f.member.config()
	if err != nil {
		return err
	}
	if f.name == "" {
		f.name = name
	}
	if f.name == "" {
		return errors.New("the kubeconfig gives the cluster no name: set --cluster-name")
	}
	if f.description.APIEndpoint == "" {
		f.description.APIEndpoint = config.Host
	}
	o := join.Options{Hub: hub, Pins: f.pins, ClusterName: f.name, Description: f.description, Member: config, Namespace: f.member.namespace,
		Image: f.image, CertificateSeconds: f.seconds, Timeout: f.timeout, Out: c.OutOrStdout()}
	if f.here {
		log := newLogger(f.verbose)
		o.Here = func(ctx context.Context, store *join.Store) error {
			return agent.Run(ctx, agent.Config{Member: config, Store: store, Description: f.description, Log: log,
				Definitions: func(ctx context.Context) error { return ensureDefinitions(ctx, config, log) }})
		}
	}
	if f.dryRun {
		o.Out = c.ErrOrStderr()
		manifests, err := join.Preview(c.Context(), o)
		if err != nil {
			return err
		}
		_, err = c.OutOrStdout().Write(manifests)
		return err
	}
	if o.Token, err = readToken(f.token, c.InOrStdin()); err != nil {
		return err
	}
	return join.Register(c.Context(), o)
}

// readToken takes the token from the flag, or from standard input, where no
// process list shows it.
func readToken(text string, in io.Reader) (join.Token, error) {
	if text == "" {
		return join.Token{}, errors.New("--token is required")
	}
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(in, 1024))
		if err != nil {
			return join.Token{}, fmt.Errorf("read the token: %w", err)
		}
		text = string(data)
	}
	return join.ParseToken(strings.TrimSpace(text))
}
