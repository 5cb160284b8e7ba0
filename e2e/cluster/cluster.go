package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// ClusterOptions vary a cluster. The zero value is an open one. Clusters have
// no DNS: pods resolve no names, and clients of the API need none
// (KUBERNETES_SERVICE_HOST holds an address).
type ClusterOptions struct {
	// NAT closes the cluster to connections from outside, as behind a home
	// router: only Kubeconfig works, WANKubeconfig does not.
	NAT bool
}

// Cluster is one running cluster.
type Cluster struct {
	Name string
	IP   string // in the lab's network; the API server is at port 6443
	// How long after the call of Start the API server and the node were ready.
	APIAfter, NodeAfter time.Duration

	number  int // in the lab, from 0
	lab     *Lab
	dir     string
	cgroup  string
	user    int
	creds   *credentials
	door    *forwarder // the loopback port of Kubeconfig
	pid1    *exec.Cmd
	orders  *json.Encoder // to PID 1, which leaves when its standard input ends
	api     chan struct{} // closed when the API server is ready
	started chan struct{} // closed when all components run
	exited  chan struct{} // closed when PID 1 is gone, and so all else
	failure string        // what PID 1 said last, once exited is closed
}

var nameRE = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Each cluster has a user of its own, from far above those that machines
// use, for what needs no root. It is there less for safety than because the
// kernel counts inotify instances by user, and root's (128) run out first.
const (
	userBase = 2_000_000_000
	maxPID   = 1 << 22
)

var (
	// ExampleManifest is a Deployment and a Service, both called web, of the
	// image that cluster-setup.sh builds as web.tar.
	//go:embed web.yaml
	ExampleManifest string
)

// Start brings up a cluster and returns once its node is Ready. Names are those
// of its node: DNS labels, unique in the lab. ctx bounds the start only.
func (l *Lab) Start(ctx context.Context, name string, o ClusterOptions) (*Cluster, error) {
	if !nameRE.MatchString(name) {
		return nil, fmt.Errorf("cluster name %q is not a DNS label", name)
	}
	l.mu.Lock()
	number := l.clusters
	l.clusters++
	l.mu.Unlock()
	if number > 254-firstNode {
		return nil, errors.New("no address left: a lab has room for 244 clusters, counting stopped ones")
	}
	if err := checkTools(); err != nil {
		return nil, err
	}
	c := &Cluster{
		Name: name, IP: fmt.Sprintf(nodeIPFmt, firstNode+number),
		number: number, lab: l, dir: filepath.Join(l.dir, name), cgroup: l.id + "-" + name,
		user: userBase + os.Getpid()%maxPID*256 + number,
		api:  make(chan struct{}), started: make(chan struct{}), exited: make(chan struct{}),
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, err
	}
	l.onClose(c.Stop)
	if err := c.start(ctx, o); err != nil {
		err = fmt.Errorf("start cluster %s: %w", name, err)
		if ctx.Err() != nil {
			err = fmt.Errorf("%w%s", err, c.lastLog())
		}
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Signal sends a signal to a component: etcd, apiserver, controller-manager,
// scheduler, containerd, kubelet or proxy. One that dies is started again
// a second later; one stopped by SIGSTOP hangs until SIGCONT.
func (c *Cluster) Signal(component string, signal syscall.Signal) error {
	return c.orders.Encode(nodeOrder{Component: component, Signal: signal})
}

// Disconnect cuts the cluster off from the lab's network: no packet passes, as
// with a pulled cable. Kubeconfig goes on working.
func (c *Cluster) Disconnect() error { return c.lab.wan.ip("link set " + c.port() + " down\n") }

// Reconnect undoes Disconnect.
func (c *Cluster) Reconnect() error { return c.lab.wan.ip("link set " + c.port() + " up\n") }

// StartInside starts a command in the cluster's network, as an operator on the
// member would: it reaches the hub at HubIP, and with WANKubeconfig its own API
// server, also behind NAT. It is the caller's to wait for and to end.
func (c *Cluster) StartInside(cmd *exec.Cmd) error {
	ns, err := c.netns()
	if err != nil {
		return err
	}
	defer ns.file.Close()
	return ns.do(cmd.Start)
}

// Stop ends the cluster at once and removes all it made. It may be called twice.
func (c *Cluster) Stop() error {
	var errs []error
	if c.pid1 != nil {
		c.pid1.Process.Kill() // the kernel kills the whole PID namespace, then lets go of PID 1
		<-c.exited
	}
	if c.door != nil {
		c.door.Close()
	}
	errs = append(errs, removeCgroup(c.cgroup), os.RemoveAll(c.dir))
	return errors.Join(errs...)
}

// Kubeconfig is the path of an admin's kubeconfig that works on the machine: a
// loopback port, forwarded into the cluster.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig", "admin") }

// WANKubeconfig is the path of one that works inside the lab: in pods of other
// clusters, and with Lab.DialContext.
func (c *Cluster) WANKubeconfig() string { return filepath.Join(c.dir, "kubeconfig", "admin-wan") }

// LogDir holds a log for each component, and pods/ for the pods'.
func (c *Cluster) LogDir() string { return filepath.Join(c.dir, "log") }

// PID is that of the cluster's first process, for nsenter.
func (c *Cluster) PID() int { return c.pid1.Process.Pid }

// LoadImage gives containerd an image archive, in docker-save or OCI layout; an
// OCI index must hold the image's full name in one of the annotations
// io.containerd.image.name and org.opencontainers.image.ref.name. Pods find it
// under that name with imagePullPolicy IfNotPresent or Never.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	socket := fmt.Sprintf("/proc/%d/root%s", c.PID(), containerdSocket)
	out, err := exec.CommandContext(ctx, "ctr", "--address", socket, "-n", "k8s.io", "images", "import", archive).CombinedOutput()
	if err != nil {
		return fmt.Errorf("load %s into %s: %w: %s", archive, c.Name, err, bytes.TrimSpace(out))
	}
	return nil
}

// Kubectl runs kubectl as admin and returns its standard output. stdin may be nil.
func (c *Cluster) Kubectl(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.lab.bin, "kube"), append([]string{"kubectl", "--kubeconfig", c.Kubeconfig()}, args...)...)
	cmd.Stdin = stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
