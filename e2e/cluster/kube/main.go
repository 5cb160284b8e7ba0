// Command kube is one multi-call binary with every Kubernetes component a test cluster
// needs. The first argument picks the component, the rest are its own flags:
//
//	kube etcd DIR CLIENT_URL
//	kube apiserver|controller-manager|scheduler|kubelet|proxy|kubectl FLAGS...
//
// One binary means one link and, while it runs, one copy of the text pages for
// all components of all clusters. Each component stays a process of its own:
// Kubernetes' flags and feature gates are global to a process.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	name := os.Args[1]
	os.Args = append([]string{"kube-" + name}, os.Args[2:]...)
	var cmd *cobra.Command
	switch name {
	case "etcd":
		if err := etcd(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "etcd:", err)
			os.Exit(1)
		}
		return
	case "kubectl":
		os.Args[0] = "kubectl"
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err) // prints as kubectl does, and exits
		}
		return
	case "apiserver":
		cmd = apiserver.NewAPIServerCommand()
	case "controller-manager":
		cmd = controllermanager.NewControllerManagerCommand()
	case "scheduler":
		cmd = scheduler.NewSchedulerCommand()
	case "kubelet":
		cmd = kubelet.NewKubeletCommand(context.Background())
	case "proxy":
		cmd = proxy.NewProxyCommand()
	default:
		usage()
	}
	os.Exit(cli.Run(cmd))
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kube etcd|apiserver|controller-manager|scheduler|kubelet|proxy|kubectl ...")
	os.Exit(2)
}

// etcd serves one throw-away member until it is told to stop.
func etcd(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want DIR CLIENT_URL, got %d arguments", len(args))
	}
	client, err := url.Parse(args[1])
	if err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Dir = args[0]
	cfg.LogLevel = "error"
	cfg.UnsafeNoFsync = true // the data dies with the cluster
	cfg.ListenClientUrls = []url.URL{*client}
	cfg.AdvertiseClientUrls = cfg.ListenClientUrls
	// There is no peer, but etcd insists on an address for one: any free port.
	cfg.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.AdvertisePeerUrls = cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}
