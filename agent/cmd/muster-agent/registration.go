package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/agent/handshake"
)

// registrationFlags are the flags of the registration agent: those of the field
// (contract ocm.md, 3.2), and ours.
type registrationFlags struct {
	bootstraps    []string
	bootstrapName string
	timeout       int64
	urls          []string
	seconds       int32
	annotations   map[string]string
	agentID       string
	hubDir        string
	secret        string
	identityDir   string
	maxClaims     int
	suffixes      []string
	auth          string
	qps           float32
	burst         int
}

func registrationCommand() *cobra.Command {
	var common agentFlags
	var f registrationFlags
	c := &cobra.Command{
		Use: "registration", Short: "Register this cluster with an Open Cluster Management hub and keep it registered", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return common.run(c.Context(), func(ctx context.Context, s *setting) error {
				registrar, err := f.registrar(s, nil)
				if err != nil {
					return err
				}
				s.health.watch(registrar.State)
				return registrar.Run(ctx)
			})
		},
	}
	common.add(c.Flags())
	f.add(c.Flags())
	f.addLimits(c.Flags())
	return c
}

func (f *registrationFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.bootstraps, "bootstrap-kubeconfigs", nil, "kubeconfigs to register with, one for each hub in the order they are tried")
	flags.Var((*oneMore)(&f.bootstraps), "bootstrap-kubeconfig", "kubeconfig to register with")
	flags.StringVar(&f.bootstrapName, "bootstrap-secret", "bootstrap-hub-kubeconfig", "secret that holds it in the agent's namespace, where no file is given")
	flags.Int64Var(&f.timeout, "hub-connection-timeout-seconds", 0, "how long one of several hubs may be silent before the next is tried (default 600)")
	flags.StringSliceVar(&f.urls, "spoke-external-server-urls", nil, "how others reach this cluster's API; https URLs")
	flags.Int32Var(&f.seconds, "client-cert-expiration-seconds", 0, "lifetime of the certificate to ask for, at least 3600 (default the hub's choice)")
	flags.StringToStringVar(&f.annotations, "cluster-annotations", nil, "annotations of the ManagedCluster; with the prefix agent.open-cluster-management.io")
	flags.StringVar(&f.agentID, "agent-id", "", "what tells this agent from others of the cluster (default as stored, else random)")
	flags.StringVar(&f.hubDir, "hub-kubeconfig-dir", "", "directory into which the identity is copied")
	flags.StringVar(&f.secret, "hub-kubeconfig-secret", handshake.IdentitySecret, "secret in the agent's namespace that keeps the identity")
	flags.StringVar(&f.identityDir, "identity-dir", "", "directory that keeps the identity, instead of a secret")
	flags.IntVar(&f.maxClaims, "max-custom-cluster-claims", handshake.DefaultMaxCustomClaims, "how many claims beside the reserved ones the hub is told")
	flags.StringSliceVar(&f.suffixes, "reserved-cluster-claim-suffixes", nil, "ends of names that make a claim a reserved one")
	flags.StringVar(&f.auth, "registration-auth", "csr", "how to register: csr")
	ignored(flags, "addon-kubeclient-registration-auth", "addon-token-expiration-seconds", "cluster-healthcheck-period", "hub-cluster-arn", "managed-cluster-arn")
}

// addLimits adds flags that a singleton has from the work agent.
func (f *registrationFlags) addLimits(flags *pflag.FlagSet) {
	flags.Float32Var(&f.qps, "kube-api-qps", 0, "requests a second to the hub (default no limit)")
	flags.IntVar(&f.burst, "kube-api-burst", 0, "requests to the hub at once")
}

// registrar returns the registration agent; beside runs whenever it serves a hub.
func (f *registrationFlags) registrar(s *setting, beside func(context.Context, handshake.Hub) error) (*handshake.Agent, error) {
	if f.auth != "" && f.auth != "csr" {
		return nil, fmt.Errorf("registering by %q is not supported, only by csr", f.auth)
	}
	own, err := kubernetes.NewForConfig(s.own)
	if err != nil {
		return nil, fmt.Errorf("client of the agent's cluster: %w", err)
	}
	o := handshake.Options{
		Cluster: s.cluster, Agent: f.agentID, Member: s.member, ExternalURLs: nonEmpty(f.urls), Annotations: prefixed(f.annotations),
		CertificateSeconds: f.seconds, HubTimeout: time.Duration(f.timeout) * time.Second, HubQPS: f.qps, HubBurst: f.burst,
		Claims: handshake.Claims{Enabled: s.gate("ClusterClaim", true), Properties: s.gate("ClusterProperty", false), Max: f.maxClaims, ReservedSuffixes: nonEmpty(f.suffixes)},
		Addons: s.gate("AddonManagement", true), Beside: beside, Log: s.log,
	}
	for _, file := range f.bootstraps {
		o.Bootstraps = append(o.Bootstraps, handshake.File(file))
	}
	if len(f.bootstraps) == 0 {
		o.Bootstraps = []handshake.Source{handshake.SecretKey{Client: own, Namespace: s.namespace, Name: f.bootstrapName}}
	}
	switch {
	case f.identityDir != "":
		o.Store = handshake.Dir(f.identityDir)
	default:
		o.Store = &handshake.SecretStore{Client: own, Namespace: s.namespace, Name: f.secret, MakeNamespace: !s.inCluster}
	}
	if f.hubDir != "" && f.identityDir == "" {
		o.Store = handshake.Mirror{Store: o.Store, Dir: handshake.Dir(f.hubDir)}
	}
	return handshake.New(o)
}

// prefixed puts the prefix for agents before keys that lack it.
func prefixed(annotations map[string]string) map[string]string {
	const prefix = "agent.open-cluster-management.io/"
	all := make(map[string]string, len(annotations))
	for key, value := range annotations {
		if !strings.HasPrefix(key, prefix) {
			key = prefix + key
		}
		all[key] = value
	}
	return all
}

func nonEmpty(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// oneMore is a flag that adds to a list each time it is given.
type oneMore []string

// Set implements pflag.Value.
func (o *oneMore) Set(text string) error {
	if text != "" {
		*o = append(*o, text)
	}
	return nil
}

// Type implements pflag.Value.
func (o *oneMore) Type() string { return "string" }

// String implements pflag.Value.
func (o *oneMore) String() string { return strings.Join(*o, ",") }

// ignored accepts flags of the field that mean nothing here. They are hidden.
func ignored(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.String(name, "", "accepted and without effect")
		flags.Lookup(name).NoOptDefVal = "true"
		_ = flags.MarkHidden(name) // fails only if there is no such flag
	}
}

// tellIgnored says which flags have no effect.
func tellIgnored(log *slog.Logger, flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Hidden && f.Usage == "accepted and without effect" {
			log.Info("a flag has no effect here", "name", f.Name)
		}
	})
}
