package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/agent"
	"muster.dev/muster/agent/handshake"
	"muster.dev/muster/agent/manifestwork"
)

// workFlags are the flags of the work agent: those of the field (contract ocm.md,
// 3.2), and ours.
type workFlags struct {
	driver, config  string
	agentID         string
	interval, grace time.Duration
	qps, hubQPS     float32
	burst, hubBurst int
}

func workCommand() *cobra.Command {
	var common agentFlags
	var f workFlags
	c := &cobra.Command{
		Use: "work", Short: "Carry out the ManifestWorks of this cluster at an Open Cluster Management hub", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.driver != "kube" {
				return fmt.Errorf("works from %q are not supported, only from kube", f.driver)
			}
			if f.config == "" {
				return errors.New("--workload-source-config is required")
			}
			return common.run(c.Context(), func(ctx context.Context, s *setting) error { return f.follow(ctx, s) })
		},
	}
	flags := c.Flags()
	common.add(flags)
	f.add(flags)
	flags.StringVar(&f.config, "hub-kubeconfig", "", "kubeconfig of the hub; the same as --workload-source-config")
	flags.StringVar(&f.agentID, "agent-id", "", "what tells what this agent applied from what others did")
	flags.Float32Var(&f.qps, "kube-api-qps", 0, "requests a second to this cluster (default no limit)")
	flags.IntVar(&f.burst, "kube-api-burst", 0, "requests to this cluster at once")
	flags.Float32Var(&f.hubQPS, "hub-kube-api-qps", 0, "requests a second to the hub (default no limit)")
	flags.IntVar(&f.hubBurst, "hub-kube-api-burst", 0, "requests to the hub at once")
	return c
}

func (f *workFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.driver, "workload-source-driver", "kube", "where works come from: kube")
	flags.StringVar(&f.config, "workload-source-config", "", "kubeconfig of the hub")
	flags.DurationVar(&f.interval, "status-sync-interval", manifestwork.DefaultStatusInterval, "how often objects are read that cannot be watched")
	flags.DurationVar(&f.grace, "appliedmanifestwork-eviction-grace-period", manifestwork.DefaultEvictionGrace, "how long objects outlive a work that vanished, or a hub that is served no more")
}

// worker returns the work agent for a hub.
func (f *workFlags) worker(s *setting, hub *rest.Config, cluster, agentID string) (*manifestwork.Agent, error) {
	hub = rest.CopyConfig(hub)
	hub.UserAgent = "muster-agent/work"
	if f.hubQPS > 0 {
		hub.QPS, hub.Burst = f.hubQPS, f.hubBurst
	}
	member := rest.CopyConfig(s.member)
	if f.qps > 0 {
		member.QPS, member.Burst = f.qps, f.burst
	}
	return manifestwork.New(manifestwork.Options{Cluster: cluster, AgentID: agentID, Hub: hub, Member: member,
		EvictionGrace: f.grace, StatusInterval: f.interval, RawFeedback: s.gate("RawFeedbackJsonString", false), Log: s.log})
}

// follow carries out the works of the hub that the kubeconfig leads to, whatever
// that is as time goes on.
func (f *workFlags) follow(ctx context.Context, s *setting) error {
	waiting := false
	for ctx.Err() == nil {
		hub, cluster, content, err := readHub(f.config)
		if s.cluster != "" {
			cluster = s.cluster
		}
		if err == nil && cluster == "" {
			err = errors.New("neither --spoke-cluster-name nor the file cluster-name beside the kubeconfig tells the name of the cluster")
		}
		if err != nil {
			if !waiting {
				s.log.Info("waiting for the kubeconfig of the hub", "error", err)
			}
			waiting = true
			s.health.note(err.Error())
			sleep(ctx, time.Second)
			continue
		}
		waiting = false
		run, stop := context.WithCancel(ctx)
		go func() {
			for run.Err() == nil {
				if _, _, now, err := readHub(f.config); err == nil && !bytes.Equal(now, content) {
					s.log.Info("the kubeconfig of the hub has changed", "cluster", cluster)
					stop()
				}
				sleep(run, time.Second)
			}
		}()
		err = f.serve(run, s, hub, cluster)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// serve carries out the works of one hub, but for times when that denies the cluster:
// a stream that its API lets live on is dropped.
func (f *workFlags) serve(ctx context.Context, s *setting, hub *rest.Config, cluster string) error {
	denial, err := handshake.NewDenial(hub, cluster)
	if err != nil {
		return err
	}
	go denial.Run(ctx)
	for ctx.Err() == nil {
		worker, err := f.worker(s, hub, cluster, f.agentID)
		if err != nil {
			return err
		}
		s.health.watch(func() (bool, string) { problem := worker.Problem(); return problem == "", problem })
		s.log.Info("carrying out works", "cluster", cluster, "hub", hub.Host)
		within, stop := context.WithCancel(ctx)
		go func() {
			denial.Await(within, true)
			stop()
		}()
		err = worker.Run(within)
		stop()
		if err != nil {
			return err
		}
		if ctx.Err() == nil {
			s.log.Info("the hub denies the cluster: no works until it accepts it again", "cluster", cluster)
			s.health.watch(func() (bool, string) { return true, "" })
			denial.Await(ctx, false)
		}
	}
	return nil
}

// readHub reads a kubeconfig with all that it refers to, and the name of the
// cluster from the file beside it.
func readHub(file string) (config *rest.Config, cluster string, content []byte, err error) {
	loaded, err := clientcmd.LoadFromFile(file)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, "", nil, fmt.Errorf("open %s: %w", file, os.ErrNotExist)
		}
		return nil, "", nil, fmt.Errorf("%s is no kubeconfig", file) // not quoted: it may hold a secret
	}
	if err := clientcmd.ResolveLocalPaths(loaded); err != nil {
		return nil, "", nil, err
	}
	if err := clientcmdapi.FlattenConfig(loaded); err != nil {
		return nil, "", nil, fmt.Errorf("read what %s refers to: %w", file, err)
	}
	if content, err = clientcmd.Write(*loaded); err != nil {
		return nil, "", nil, err
	}
	if config, err = clientcmd.RESTConfigFromKubeConfig(content); err != nil {
		return nil, "", nil, fmt.Errorf("%s does not say how to sign in", file)
	}
	config.UserAgent = "muster-agent/" + agent.Version
	name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cluster-name")) // absent: the flag has to tell
	return config, string(bytes.TrimSpace(name)), content, nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
