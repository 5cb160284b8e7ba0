package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// checkTools says at once what else would be found out the hard way.
func checkTools() error {
	for _, tool := range []string{"ip", "nft", "containerd", "ctr", "runc", cniBin + "/ptp"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("find %s (make setup installs what is missing): %w", tool, err)
		}
	}
	return nil
}

func (c *Cluster) start(ctx context.Context, o ClusterOptions) error {
	begin := time.Now()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err = c.prepare(ln.Addr().String()); err == nil {
		err = c.spawn(o)
	}
	if err != nil {
		ln.Close()
		return err
	}
	c.door = forward(ln, c.dialAPI)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.exited:
			cancel(errors.New(c.failure))
		case <-ctx.Done():
		}
	}()

	if err := await(ctx, c.api, "the API server"); err != nil {
		return err
	}
	c.APIAfter = time.Since(begin)
	if err := await(ctx, c.started, "the other components"); err != nil {
		return err
	}
	if err := c.awaitNode(ctx); err != nil {
		return err
	}
	c.NodeAfter = time.Since(begin)
	return c.orders.Encode(nodeOrder{Ready: true})
}

// prepare writes all that PID 1 needs and makes the cgroup. door is the address
// of Kubeconfig.
func (c *Cluster) prepare(door string) (err error) {
	if err := writeConfig(c.dir, c.Name, c.cgroup); err != nil {
		return err
	}
	c.creds, err = writeCredentials(c.dir, c.Name, c.IP, map[string]string{
		"admin": "https://" + door, "admin-wan": "https://" + c.IP + ":6443"})
	if err != nil {
		return err
	}
	if err := handOver(c.dir, c.user); err != nil {
		return err
	}
	return makeCgroup(c.cgroup)
}

// await waits for a stage that PID 1 reports.
func await(ctx context.Context, stage <-chan struct{}, what string) error {
	select {
	case <-stage:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
	}
}

// spawn starts PID 1 in its namespaces, gives it its interface and tells it
// what to be.
func (c *Cluster) spawn(o ClusterOptions) error {
	log, err := os.Create(filepath.Join(c.dir, "log", "pid1.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	eventsR, eventsW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer eventsW.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{nodeArg0}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + nodeDir}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{eventsW}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true, // so that a Ctrl-C at the terminal reaches the caller alone
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		eventsR.Close()
		return fmt.Errorf("start PID 1: %w", err)
	}
	c.pid1, c.orders = cmd, json.NewEncoder(stdin)
	go c.follow(eventsR)

	link := fmt.Sprintf("link add %[1]s type veth peer name wan0 netns %[2]d\nlink set %[1]s master br0 up\n", c.port(), c.PID())
	if err := c.lab.wan.ip(link); err != nil {
		return err
	}
	spec := nodeSpec{Name: c.Name, IP: c.IP, Dir: c.dir, Bin: c.lab.bin, User: c.user, NAT: o.NAT, Images: []string{"pause.tar"}}
	return c.orders.Encode(spec)
}

// follow notes what PID 1 reports, until it is gone.
func (c *Cluster) follow(events io.ReadCloser) {
	defer close(c.exited)
	defer c.pid1.Wait()
	defer events.Close()
	for in := json.NewDecoder(events); ; {
		var e nodeEvent
		if in.Decode(&e) != nil {
			if c.failure == "" {
				c.failure = "PID 1 was killed"
			}
			return
		}
		switch e.Event {
		case "api":
			close(c.api)
		case "started":
			close(c.started)
		case "failed":
			c.failure = e.Text
		}
	}
}

// port is the lab's end of the cluster's cable.
func (c *Cluster) port() string { return fmt.Sprintf("port%d", c.number) }

// dialAPI connects to the API server from inside the cluster's own network
// namespace: the only way in to a cluster behind NAT.
func (c *Cluster) dialAPI() (net.Conn, error) {
	ns, err := c.netns()
	if err != nil {
		return nil, err
	}
	defer ns.file.Close()
	return ns.dial(context.Background(), "tcp", "127.0.0.1:6443")
}

func (c *Cluster) netns() (*netns, error) {
	select {
	case <-c.exited: // the process id may be another's by now
		return nil, fmt.Errorf("cluster %s is stopped", c.Name)
	default:
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.PID()))
	return &netns{file}, err
}

// lastLog quotes the component log that was written last.
func (c *Cluster) lastLog() string {
	logs, _ := filepath.Glob(filepath.Join(c.LogDir(), "*.log"))
	var newest string
	var when time.Time
	for _, l := range logs {
		if info, err := os.Stat(l); err == nil && info.Size() > 0 && info.ModTime().After(when) {
			newest, when = l, info.ModTime()
		}
	}
	return endOf(newest)
}
