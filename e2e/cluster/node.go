package cluster

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nodeArg0 is the name under which a program that imports this package is
// started to be PID 1 of a cluster.
const nodeArg0 = "muster-node"

// nodeSpec is what PID 1 is told, as one line of JSON on its standard input.
type nodeSpec struct {
	Name   string
	IP     string
	Dir    string   // the cluster's folder, on the machine
	Bin    string   // the binaries' folder, on the machine
	Images []string // file names below Bin, loaded before kubelet starts
	User   int      // what needs no root runs as this user and group
	NAT    bool
}

// nodeOrder is what PID 1 may be told later on.
type nodeOrder struct {
	Ready     bool // the start is over: a component that ends is started again
	Component string
	Signal    syscall.Signal
}

// nodeEvent is what PID 1 answers, as lines of JSON on file descriptor 3.
type nodeEvent struct {
	Event string // "api" once the API server is ready, "started" once all runs, "failed"
	Text  string // what failed
}

func init() {
	if os.Args[0] != nodeArg0 {
		return
	}
	syscall.CloseOnExec(3)
	events := json.NewEncoder(os.NewFile(3, "events"))
	n := &node{events: events, running: map[int]*process{}}
	if err := n.run(); err != nil {
		events.Encode(nodeEvent{"failed", err.Error()})
		os.Exit(1) // the kernel kills all that is left in the PID namespace
	}
}

// node is PID 1 of one cluster.
type node struct {
	spec   nodeSpec
	events *json.Encoder

	mu      sync.Mutex
	running map[int]*process
	ready   bool // as in nodeOrder
}

func (n *node) run() error {
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(&n.spec); err != nil {
		return fmt.Errorf("read spec: %w", err)
	}
	go n.obey(in)
	if err := n.mount(); err != nil {
		return err
	}
	if err := n.connect(); err != nil {
		return err
	}
	return n.supervise()
}

// obey carries out orders until the lab is done with us, or dead.
func (n *node) obey(in *json.Decoder) {
	for {
		var order nodeOrder
		if in.Decode(&order) != nil {
			os.Exit(0)
		}
		n.mu.Lock()
		n.ready = n.ready || order.Ready
		for pid, p := range n.running {
			if p.name == order.Component {
				syscall.Kill(pid, order.Signal)
			}
		}
		n.mu.Unlock()
	}
}

// mount makes this namespace's view of the machine: everything that a node
// writes outside the cluster's folder lands in memory that dies with it.
func (n *node) mount() error {
	var err error
	mount := func(source, target, kind string, flags uintptr, data string) {
		if err != nil {
			return
		}
		if e := unix.Mount(source, target, kind, flags, data); e != nil {
			err = fmt.Errorf("mount %s on %s: %w", source, target, e)
		}
	}
	mkdir := func(dirs ...string) {
		for _, d := range dirs {
			if err == nil {
				err = os.MkdirAll(d, 0o755)
			}
		}
	}
	bind := func(source, target string) { mount(source, target, "", unix.MS_BIND|unix.MS_REC, "") }

	mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") // first: nothing below may reach the machine
	mount("proc", "/proc", "proc", 0, "")
	// The folders may lie below what is covered next, so hold on to them.
	dir, e1 := os.Open(n.spec.Dir)
	bin, e2 := os.Open(n.spec.Bin)
	if e := errors.Join(err, e1, e2); e != nil {
		return e
	}
	defer dir.Close()
	defer bin.Close()
	fd := func(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
	mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
	mkdir(nodeDir, binDir, "/run/netns", "/run/lock", "/run/sysctl")
	bind(fd(dir), nodeDir)
	bind(fd(bin), binDir)
	mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755")
	for _, d := range []string{"kubelet", "containerd"} {
		mkdir("/var/lib/" + d)
		bind(nodeDir+"/"+d, "/var/lib/"+d)
	}
	bind(nodeDir+"/log", "/var/log")
	for key, value := range shadowedSysctls {
		file := "/run/sysctl/" + filepath.Base(key)
		if e := os.WriteFile(file, []byte(value+"\n"), 0o644); e != nil {
			return e
		}
		bind(file, "/proc/sys/"+key)
	}
	mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") // kubelet's mounts must reach containerd
	if err == nil {
		err = unix.Sethostname([]byte(n.spec.Name))
	}
	return err
}

// connect brings up the network. The lab has put wan0 here beforehand.
func (n *node) connect() error {
	if err := ipBatch("link set lo up\naddr add " + n.spec.IP + "/24 dev wan0\nlink set wan0 up\nroute add default via " + HubIP + "\n"); err != nil {
		return err
	}
	// These two are the namespace's own, not the machine's.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	rules := []string{"masquerade.nft"}
	if n.spec.NAT {
		rules = append(rules, "nat.nft")
	}
	for _, r := range rules {
		if out, err := exec.Command("nft", "-f", nodeDir+"/config/"+r).CombinedOutput(); err != nil {
			return fmt.Errorf("nft -f %s: %w: %s", r, err, out)
		}
	}
	return nil
}

// supervise starts the components and keeps them running; it returns only when
// one ends before all are up.
func (n *node) supervise() error {
	failed := make(chan error, 16)
	first, then := controlPlane(n.spec.IP)
	first = append([]command{{"containerd", []string{"containerd", "-c", nodeDir + "/config/containerd.toml"}, true}}, first...)
	then = append(then, nodeAgents(n.spec.Name, n.spec.IP)...)
	keepAll := func(commands []command) {
		for _, c := range commands {
			go func() { failed <- n.keep(c) }()
		}
	}
	keepAll(first)
	go n.reap()

	go func() {
		runtime := make(chan error, 1)
		go func() { runtime <- n.loadImages() }()
		awaitAPI()
		n.events.Encode(nodeEvent{Event: "api"})
		if err := <-runtime; err != nil {
			failed <- err
			return
		}
		keepAll(then)
		n.events.Encode(nodeEvent{Event: "started"})
	}()
	return <-failed
}

// awaitAPI returns once the API server answers. There is no limit: the lab has
// one, and a component that ends early is noticed elsewhere.
func awaitAPI() {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // asks only "are you there", sends nothing secret
	}}
	defer client.CloseIdleConnections()
	for {
		if resp, err := client.Get("https://127.0.0.1:6443/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		<-time.After(50 * time.Millisecond)
	}
}

const containerdSocket = "/run/containerd/containerd.sock"

// loadImages waits for containerd and gives it the images that come with the lab.
func (n *node) loadImages() error {
	for {
		conn, err := net.Dial("unix", containerdSocket)
		if err == nil {
			conn.Close()
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	for _, image := range n.spec.Images {
		p, err := n.start(command{"load-images", []string{"ctr", "-n", "k8s.io", "images", "import", binDir + "/" + image}, true})
		if err != nil {
			return err
		}
		if <-p.exited; p.status.ExitStatus() != 0 {
			return fmt.Errorf("load image %s%s", image, endOf(nodeDir+"/log/load-images.log"))
		}
	}
	return nil
}

// process is one that this PID 1 started itself.
type process struct {
	name   string
	exited chan struct{}
	status syscall.WaitStatus // once exited is closed
}

// keep runs a component for ever. One that ends while the cluster starts is an
// error; later it is started again, as systemd or kubelet would.
func (n *node) keep(c command) error {
	for {
		p, err := n.start(c)
		if err != nil {
			return err
		}
		<-p.exited
		n.mu.Lock()
		ready := n.ready
		n.mu.Unlock()
		if !ready {
			return fmt.Errorf("%s ended early with status %d%s", c.name, p.status.ExitStatus(), endOf(nodeDir+"/log/"+c.name+".log"))
		}
		fmt.Fprintln(os.Stderr, time.Now().Format(time.RFC3339), c.name, "ended and is started again")
		<-time.After(time.Second)
	}
}

func (n *node) start(c command) (*process, error) {
	path, err := exec.LookPath(c.argv[0])
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	log, err := os.OpenFile(nodeDir+"/log/"+c.name+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	n.mu.Lock() // reap must not see the process before it is in the map
	defer n.mu.Unlock()
	attr := &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	}
	if !c.root {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(n.spec.User), Gid: uint32(n.spec.User)}
	}
	pid, err := syscall.ForkExec(path, c.argv, attr)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	p := &process{name: c.name, exited: make(chan struct{})}
	n.running[pid] = p
	return p, nil
}

// reap waits for every child, also for those that others left behind, as PID 1
// must. So nothing else in this process may wait: no exec.Cmd once it runs.
func (n *node) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != nil { // interrupted, or no child at the moment
			<-time.After(10 * time.Millisecond)
			continue
		}
		n.mu.Lock()
		if p := n.running[pid]; p != nil {
			p.status = status
			close(p.exited)
			delete(n.running, pid)
		}
		n.mu.Unlock()
	}
}

// endOf quotes the last lines of a log.
func endOf(log string) string {
	text, _ := os.ReadFile(log)
	return fmt.Sprintf("\nend of %s:\n%s", filepath.Base(log), text[max(0, len(text)-2000):])
}
