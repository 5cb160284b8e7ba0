package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Options say where a lab finds its binaries and keeps its state.
type Options struct {
	// Bin is the folder that cluster-setup.sh filled. Default: $MUSTER_BIN.
	Bin string
	// Dir is where the lab makes a folder for its state, which Close removes.
	// Default: the one for temporary files. It should be on a disk: overlayfs on
	// top of another overlayfs does not work.
	Dir string
}

// Lab is a private network with clusters in it.
type Lab struct {
	id  string // "muster-lab-PID-…": names the folder and the cgroups
	dir string
	bin string
	wan *netns

	mu       sync.Mutex
	closers  []func() error // clusters and forwards, in order of start
	clusters int            // ever started: numbers addresses
}

const idPrefix = "muster-lab-"

// New makes the network. It needs root, and first sweeps up what labs of
// callers that no longer run have left.
func New(o Options) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("real clusters need root, for namespaces and cgroups")
	}
	if o.Bin == "" {
		o.Bin = os.Getenv("MUSTER_BIN")
	}
	bin, err := filepath.Abs(o.Bin)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(bin, "kube")); err != nil {
		return nil, fmt.Errorf("no kube binary (run make test-clusters, or set MUSTER_BIN): %w", err)
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if err := sweep(o.Dir); err != nil {
		return nil, fmt.Errorf("sweep up after an earlier lab: %w", err)
	}
	dir, err := os.MkdirTemp(o.Dir, fmt.Sprintf("%s%d-", idPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	l := &Lab{id: filepath.Base(dir), dir: dir, bin: bin}
	if l.wan, err = newNetns(); err == nil {
		err = l.wan.ip("link set lo up\nlink add br0 type bridge\naddr add " + HubIP + "/24 dev br0\nlink set br0 up\n")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return l, nil
}

// Close stops the clusters and forwards and removes all that the lab made.
func (l *Lab) Close() error {
	l.mu.Lock()
	closers := l.closers
	l.closers = nil
	l.mu.Unlock()
	errs := make([]error, len(closers))
	var all sync.WaitGroup
	for i, c := range closers {
		all.Go(func() { errs[i] = c() })
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), l.wan.file.Close(), os.RemoveAll(l.dir))
}

func (l *Lab) onClose(f func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closers = append(l.closers, f)
}

// Expose lets members and their pods reach a server of the caller's machine,
// such as a hub on a loopback port: what connects to HubIP:port inside the lab
// comes out at target. It returns the address to dial inside, which the server's
// certificate must name.
func (l *Lab) Expose(port int, target string) (string, error) {
	ln, err := l.Listen(port)
	if err != nil {
		return "", err
	}
	f := forward(ln, func() (net.Conn, error) { return net.Dial("tcp", target) })
	l.onClose(f.Close)
	return ln.Addr().String(), nil
}

// Listen opens a listener on HubIP inside the lab, for a server that runs in
// the calling process and needs no forwarding.
func (l *Lab) Listen(port int) (net.Listener, error) {
	return l.wan.listen(net.JoinHostPort(HubIP, strconv.Itoa(port)))
}

// DialContext connects from the lab's network, as a server at HubIP would. It
// fits rest.Config.Dial. The address must be numeric.
func (l *Lab) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return l.wan.dial(ctx, network, address)
}

// StartInside starts a command in the lab's network, where HubIP is its own
// address: a hub that is to listen there, or a client of the members. It is the
// caller's to wait for and to end.
func (l *Lab) StartInside(cmd *exec.Cmd) error { return l.wan.do(cmd.Start) }

// sweep removes the folders and cgroups of labs whose process is gone. Their
// processes, mounts and interfaces went with it.
func sweep(stateDir string) error {
	var errs []error
	trees, err := cgroupTrees()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		left, _ := filepath.Glob(filepath.Join(tree, idPrefix+"*"))
		for _, dir := range left {
			if id := filepath.Base(dir); abandoned(id) {
				errs = append(errs, removeCgroup(id)) // in all trees
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(stateDir, idPrefix+"*"))
	for _, dir := range left {
		if abandoned(filepath.Base(dir)) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// abandoned says whether the process that a lab's id names has ended.
func abandoned(id string) bool {
	pid, err := strconv.Atoi(strings.SplitN(strings.TrimPrefix(id, idPrefix), "-", 2)[0])
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
