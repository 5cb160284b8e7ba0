package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/clustermanager"
	"muster.dev/muster/backend/operator/klusterlet"
	"muster.dev/muster/deploy"
)

// What an operator looks after.
const (
	OperateHub   = "hub"
	OperateSpoke = "spoke"
)

const (
	probeHeader = 5 * time.Second
	probeStop   = 2 * time.Second
)

// OperatorConfig says what the operators look after and with which images.
type OperatorConfig struct {
	// Kubeconfig leads to the cluster whose ClusterManagers and Klusterlets are looked after; empty: the one that the operator's pod is in.
	Kubeconfig string
	// Namespace is the operator's own: its Lease and the registry credentials are there.
	Namespace string
	// Sides are OperateHub (ClusterManager), OperateSpoke (Klusterlet) or both.
	Sides []string
	// HubImage and AgentImage run where a resource names no image.
	HubImage, AgentImage string
	// Replicas of each of a ClusterManager's Deployments; 0: by the number of control-plane nodes.
	Replicas int32
	// KeepKinds leaves the hub's kinds, and everybody's objects, when a ClusterManager is removed.
	KeepKinds bool
	// LeaderElection lets one of several replicas act.
	LeaderElection bool
	// ProbeListen is the host:port of /healthz and /readyz; empty: none.
	ProbeListen string
	// LogLevel bounds what is logged.
	LogLevel slog.Level
}

func (c *OperatorConfig) complete() (*rest.Config, error) {
	if c.Namespace == "" {
		c.Namespace = ocmoperatorv1.OperatorNamespace
		if own := os.Getenv("POD_NAMESPACE"); own != "" {
			c.Namespace = own
		}
	}
	for _, side := range c.Sides {
		if side != OperateHub && side != OperateSpoke {
			return nil, fault.Invalid("there is no operator for %q", side).WithFix("use hub, spoke or both")
		}
	}
	if len(c.Sides) == 0 {
		c.Sides = []string{OperateHub, OperateSpoke}
	}
	if c.Replicas < 0 {
		return nil, fault.Invalid("%d replicas are not possible", c.Replicas).WithFix("use 0 to have the number chosen")
	}
	if c.Kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fault.Invalid("this is no pod, and no kubeconfig is given").WithFix("pass --kubeconfig FILE")
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fault.Invalid("the kubeconfig cannot be used: %s", err.Error()).WithFix("check --kubeconfig")
	}
	return config, nil
}

// Operate runs the operators until ctx ends.
func Operate(ctx context.Context, config OperatorConfig, logs io.Writer) error {
	cluster, err := config.complete()
	if err != nil {
		return err
	}
	startLogging(logs, config.LogLevel)
	cluster.QPS, cluster.UserAgent = -1, "muster-operator"
	if err := config.checkNamespace(ctx, cluster); err != nil {
		return err
	}
	m, err := config.manager(cluster)
	if err != nil {
		return err
	}
	aliases, err := ownHostAliases(ctx, cluster)
	if err != nil {
		return err
	}
	if err := config.setUp(ctx, m, aliases); err != nil {
		return err
	}
	slog.Info("operator started", "sides", config.Sides, "address", cluster.Host)
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run operators: %w", err)
	}
	slog.Info("operator stopped")
	return nil
}

// checkNamespace fails where replicas cannot elect one that acts, for want of the namespace of their Lease: they would try for ever. It is
// not made here, since nobody would remove it. An operator that may not look has to try.
func (c *OperatorConfig) checkNamespace(ctx context.Context, cluster *rest.Config) error {
	if !c.LeaderElection {
		return nil
	}
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, c.Namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return fault.Invalid("there is no namespace %s to keep the operator's Lease in", c.Namespace).
			WithFix("create it with kubectl create namespace " + c.Namespace + ", name another by --namespace, or pass --leader-elect=false where no other replica runs")
	}
	return nil
}

// manager elects per side, so that an operator of one does not wait for an operator of the other.
func (c *OperatorConfig) manager(cluster *rest.Config) (ctrl.Manager, error) {
	logger := slog.New(sorted{slog.Default().Handler()})
	if !c.LeaderElection {
		return kube.NewManager(cluster, logger)
	}
	name := "muster-operator"
	if len(c.Sides) == 1 {
		name += "-" + c.Sides[0]
	}
	return kube.NewElectedManager(cluster, logger, kube.Election{Namespace: c.Namespace, Name: name, Identity: newIdentity()})
}

func (c *OperatorConfig) setUp(ctx context.Context, m ctrl.Manager, aliases []corev1.HostAlias) error {
	if slices.Contains(c.Sides, OperateHub) {
		if err := clustermanager.SetupWithManager(ctx, m, clustermanager.Settings{
			HubImage: c.HubImage, AgentImage: c.AgentImage, Replicas: c.Replicas, Namespace: c.Namespace, KeepKinds: c.KeepKinds, HostAliases: aliases,
			Manifests: deploy.Operator(), Kinds: deploy.HubCRDs(), Webhooks: deploy.Webhooks(), Rights: deploy.ExternalRBAC(),
		}); err != nil {
			return err
		}
	}
	if slices.Contains(c.Sides, OperateSpoke) {
		if err := klusterlet.SetupWithManager(ctx, m, klusterlet.Settings{
			AgentImage: c.AgentImage, Namespace: c.Namespace, HostAliases: aliases,
			Manifests: deploy.Operator(), Kinds: deploy.MemberCRDs(),
		}); err != nil {
			return err
		}
	}
	if c.ProbeListen == "" {
		return nil
	}
	probes, err := newProbes(c.ProbeListen, m)
	if err != nil {
		return err
	}
	return m.Add(probes)
}

// ownHostAliases are those of the pod that this is: whoever had to give them to the operator has to give them to what it runs.
func ownHostAliases(ctx context.Context, cluster *rest.Config) ([]corev1.HostAlias, error) {
	name, namespace := os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return nil, nil
	}
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the operator's own pod: %w", err)
	}
	return pod.Spec.HostAliases, nil
}

// probes answers the kubelet, on every replica.
type probes struct {
	listener net.Listener
	server   *http.Server
}

func newProbes(listen string, m ctrl.Manager) (*probes, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeStop)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			http.Error(w, "the caches are not filled", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
	})
	return &probes{listener: listener, server: &http.Server{Handler: mux, ReadHeaderTimeout: probeHeader}}, nil
}

// NeedLeaderElection says that replicas which wait are alive, too.
func (p *probes) NeedLeaderElection() bool { return false }

// Start serves until ctx ends.
func (p *probes) Start(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- p.server.Serve(p.listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve probes: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeStop)
	defer cancel()
	if err := p.server.Shutdown(limit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop probes: %w", err)
	}
	return p.server.Close()
}
