package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/handshake"
)

const (
	// klusterletNamespace is where agents run unless the Klusterlet says otherwise.
	klusterletNamespace = "open-cluster-management-agent"
	namespaceFile       = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

func klusterletCommand() *cobra.Command {
	var common agentFlags
	var registration registrationFlags
	var work workFlags
	var definitions bool
	c := &cobra.Command{
		Use:   "klusterlet",
		Short: "Be the agents of this cluster for an Open Cluster Management hub, both in one process",
		Long: `Be the agents of this cluster for an Open Cluster Management hub: register it, and carry out its ManifestWorks.

Without an operator, on any machine that reaches both, this is all a cluster needs. What the agents are is kept in the cluster, in the secret
hub-kubeconfig-secret of the namespace open-cluster-management-agent, or in a directory (--identity-dir).`,
		Example: "  muster-agent klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name edge-7 --member-kubeconfig ~/.kube/config",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return common.run(c.Context(), func(ctx context.Context, s *setting) error {
				ready := make(chan struct{})
				registrar, err := registration.registrar(s, func(ctx context.Context, hub handshake.Hub) error {
					select {
					case <-ready:
					case <-ctx.Done():
						return nil
					}
					return besides(ctx, s, &work, registration.agentID, hub)
				})
				if err != nil {
					return err
				}
				s.health.watch(registrar.State)
				group, ctx := errgroup.WithContext(ctx)
				group.Go(func() error { return registrar.Run(ctx) })
				group.Go(func() error {
					defer close(ready)
					if definitions || !s.inCluster && !c.Flags().Changed("install-definitions") {
						return ensureDefinitions(ctx, s.member, s.log)
					}
					return nil
				})
				return group.Wait()
			})
		},
	}
	flags := c.Flags()
	common.add(flags)
	registration.add(flags)
	registration.addLimits(flags)
	work.add(flags)
	flags.Float32Var(&work.hubQPS, "hub-kube-api-qps", 0, "requests a second of the work agent to the hub (default no limit)")
	flags.IntVar(&work.hubBurst, "hub-kube-api-burst", 0, "requests of the work agent to the hub at once")
	flags.BoolVar(&definitions, "install-definitions", false, "install the definitions that the agents need (default true outside of a pod)")
	return c
}

// besides carries out works for as long as the registration serves a hub.
func besides(ctx context.Context, s *setting, work *workFlags, agentID string, hub handshake.Hub) error {
	select {
	case <-hub.Accepted:
	case <-ctx.Done():
		return nil
	}
	if agentID == "" {
		agentID = hub.Agent
	}
	worker, err := work.worker(s, hub.Config, hub.Cluster, agentID)
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

// agentFlags are the flags that both agents have.
type agentFlags struct {
	cluster, member, own string
	namespace            string
	terminateOn          []string
	gates                string
	listen               string
	verbosity            int
	flags                *pflag.FlagSet
}

func (f *agentFlags) add(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.cluster, "spoke-cluster-name", "", "name of this cluster at the hub (default as stored, else a random UUID)")
	flags.StringVar(&f.cluster, "cluster-name", "", "the same as --spoke-cluster-name")
	flags.StringVar(&f.member, "spoke-kubeconfig", "", "kubeconfig of the managed cluster (default the one the agent runs in)")
	flags.StringVar(&f.member, "member-kubeconfig", "", "the same as --spoke-kubeconfig")
	flags.StringVar(&f.own, "kubeconfig", "", "kubeconfig of the cluster that keeps the agent's secrets (default the one it runs in, else the managed cluster)")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the agent's secrets (default the one it runs in, else "+klusterletNamespace+")")
	flags.StringSliceVar(&f.terminateOn, "terminate-on-files", nil, "start over when one of these files changes")
	flags.StringVar(&f.gates, "feature-gates", "", "NAME=true|false, separated by commas")
	flags.StringVar(&f.listen, "listen", "", "address of the health endpoint, https (default 0.0.0.0:8443 in a pod, else none)")
	flags.IntVarP(&f.verbosity, "verbose", "v", 0, "log more")
	flags.Lookup("verbose").NoOptDefVal = "4"
	flags.IntVar(&f.verbosity, "v", 0, "log more")
	_ = flags.MarkHidden("v")
	ignored(flags, "disable-leader-election", "leader-elect", "leader-election-lease-duration", "leader-election-renew-deadline",
		"leader-election-retry-period", "tls-min-version", "tls-cipher-suites", "config")
}

// setting is what the flags come to.
type setting struct {
	cluster, namespace string
	member, own        *rest.Config
	inCluster          bool
	gates              map[string]bool
	health             *healthServer
	log                *slog.Logger
}

func (s *setting) gate(name string, fallback bool) bool {
	if on, ok := s.gates[name]; ok {
		return on
	}
	return fallback
}

// knownGates are gates of the field. Those without an effect here are known all the
// same.
var knownGates = []string{"ClusterClaim", "ClusterProperty", "AddonManagement", "MultipleHubs", "V1beta1CSRAPICompatibility",
	"ExecutorValidatingCaches", "RawFeedbackJsonString", "AllAlpha", "AllBeta"}

func parseGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for _, one := range nonEmpty(strings.Split(text, ",")) {
		name, value, _ := strings.Cut(one, "=")
		switch strings.ToLower(value) {
		case "true":
			gates[name] = true
		case "false":
			gates[name] = false
		default:
			return nil, fmt.Errorf("feature gate %q is neither true nor false", one)
		}
	}
	return gates, nil
}

// run serves with what the flags say, and starts over when a file that they name
// has changed.
func (f *agentFlags) run(ctx context.Context, serve func(context.Context, *setting) error) error {
	log := newLogger(f.verbosity >= 4)
	tellIgnored(log, f.flags)
	health := &healthServer{log: log}
	if err := health.start(ctx, f.listen); err != nil {
		return err
	}
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, 30*time.Second) {
		before := fingerprints(f.terminateOn)
		s, err := f.setting(log, health)
		if err == nil {
			within, stop := context.WithCancel(ctx)
			go f.watchFiles(within, stop, before, log)
			err = serve(within, s)
			stop()
			if err == nil || errors.Is(err, context.Canceled) {
				pause = time.Second
				continue
			}
		}
		if !f.waits(err) {
			return ended(err)
		}
		log.Warn("the agent cannot start, trying again", "error", err, "retry", pause)
		health.note(err.Error())
		sleep(ctx, pause)
	}
	return nil
}

// waits says whether an error may pass: a pod whose kubeconfig is not there, yet,
// is not to crash.
func (f *agentFlags) waits(err error) bool { return f.member != "" && errors.Is(err, os.ErrNotExist) }

func (f *agentFlags) watchFiles(ctx context.Context, stop func(), before map[string]string, log *slog.Logger) {
	for len(f.terminateOn) > 0 && ctx.Err() == nil {
		sleep(ctx, time.Second)
		for file, now := range fingerprints(f.terminateOn) {
			if now != before[file] && now != "" {
				log.Info("a file has changed, starting over", "name", file)
				stop()
				return
			}
		}
	}
}

func fingerprints(files []string) map[string]string {
	contents := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			content = nil
		}
		contents[file] = string(content)
	}
	return contents
}

func (f *agentFlags) setting(log *slog.Logger, health *healthServer) (*setting, error) {
	gates, err := parseGates(f.gates)
	if err != nil {
		return nil, err
	}
	for name := range gates {
		if !slices.Contains(knownGates, name) {
			log.Warn("a feature gate is not known and has no effect", "name", name)
		}
	}
	s := &setting{cluster: f.cluster, namespace: f.namespace, gates: gates, health: health, log: log}
	inside, insideErr := rest.InClusterConfig()
	s.inCluster = insideErr == nil
	if content, err := os.ReadFile(namespaceFile); err == nil && s.namespace == "" {
		s.namespace = string(bytes.TrimSpace(content))
	}
	if s.namespace == "" {
		s.namespace = klusterletNamespace
	}
	switch {
	case f.member != "":
		if _, err := os.Stat(f.member); err != nil {
			return nil, fmt.Errorf("open %s: %w", f.member, os.ErrNotExist)
		}
		s.member, _, err = loadConfig(f.member, "")
	case s.inCluster:
		s.member = inside
	default:
		s.member, _, err = loadConfig("", "")
	}
	if err != nil {
		return nil, err
	}
	switch {
	case f.own != "":
		if s.own, _, err = loadConfig(f.own, ""); err != nil {
			return nil, err
		}
	case s.inCluster:
		s.own = inside
	default:
		s.own = s.member
	}
	s.own = rest.CopyConfig(s.own)
	s.own.QPS = -1
	return s, nil
}
