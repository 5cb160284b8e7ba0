package controlplanetest

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout bounds the start of a member or a hub. Alone on two cores either
// takes 2–4 s.
const startTimeout = 5 * time.Minute

// memberControllers are the kube controllers that joining, leaving and applying
// rely on. Node lifecycle is left out: nothing renews a fake node's lease.
const memberControllers = "serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller," +
	"namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller," +
	"deployment-controller,replicaset-controller,certificatesigningrequest-signing-controller"

// MemberOptions vary a member. The zero value has no node.
type MemberOptions struct {
	// Name is the member's cluster and context in its kubeconfig. Default: "member".
	Name string
	// Nodes is how many fake Ready nodes it shows, 4 cores and 16 GiB each.
	Nodes int
	// Unsigned leaves out the signer of client certificates.
	Unsigned bool
	// APIFlags are added to its API server's.
	APIFlags []string
}

// Member is a light cluster: a control plane that clients cannot tell from a
// real one, with no machines behind it.
type Member struct {
	// Name is the cluster's and the context's name in the kubeconfig.
	Name string
	// Server is the API server's URL.
	Server string
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string
	// Client has an administrator's rights and no rate limit.
	Client kubernetes.Interface

	dir       string
	authority *Authority
	config    *rest.Config
	processes []*Process // in order of start
}

// Start starts a member for one test.
func Start(t testing.TB) *Member {
	t.Helper()
	return StartMember(t, MemberOptions{})
}

// StartMember starts a member that ends with the test.
func StartMember(t testing.TB, options MemberOptions) *Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	m, err := NewMember(ctx, t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// NewMember starts a member that keeps its files in dir and returns once it
// serves and its first namespaces are complete. ctx bounds the start only; the caller
// stops it.
func NewMember(ctx context.Context, dir string, options MemberOptions) (*Member, error) {
	if options.Name == "" {
		options.Name = "member"
	}
	m := &Member{Name: options.Name, dir: dir}
	if err := m.start(ctx, options); err != nil {
		err = fmt.Errorf("start member %s: %w", m.Name, err)
		for _, p := range m.processes {
			err = fmt.Errorf("%w%s", err, p.Tail())
		}
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// Config is a fresh copy of the administrator's client configuration.
func (m *Member) Config() *rest.Config { return rest.CopyConfig(m.config) }

// CA is the certificate authority, in PEM, that the API server's certificate
// chains to and that client certificates are checked against.
func (m *Member) CA() []byte { return m.authority.CertPEM }

// CAFiles are the paths of certificate and key of the authority that client
// certificates are checked against.
func (m *Member) CAFiles() (certFile, keyFile string) {
	return filepath.Join(m.dir, "ca.crt"), filepath.Join(m.dir, "ca.key")
}

// KubeconfigFor writes a kubeconfig for another user of the member and returns
// its path.
func (m *Member) KubeconfigFor(user string, groups ...string) (string, error) {
	data, err := m.authority.Kubeconfig(m.Name, m.Server, pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return "", err
	}
	path := filepath.Join(m.dir, "kubeconfig-"+user)
	return path, os.WriteFile(path, data, 0o600)
}

// Kill ends the member's processes at once. Its address refuses connections
// from then on.
func (m *Member) Kill() error {
	var errs []error
	for _, p := range m.processes {
		errs = append(errs, p.Kill())
	}
	return errors.Join(errs...)
}

// Hang has the member's API server take connections and answer nothing, until the
// returned function is called or the member ends.
func (m *Member) Hang() (resume func() error, err error) {
	api := m.processes[apiProcess].PID()
	if err := syscall.Kill(api, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stop the API server of %s: %w", m.Name, err)
	}
	return func() error {
		if err := syscall.Kill(api, syscall.SIGCONT); err != nil {
			return fmt.Errorf("continue the API server of %s: %w", m.Name, err)
		}
		return nil
	}, nil
}

// apiProcess is the API server's place among a member's processes: etcd starts
// before it.
const apiProcess = 1

// Stop ends the member. There is nothing to keep, so nobody is asked politely.
func (m *Member) Stop() error { return m.Kill() }

func (m *Member) start(ctx context.Context, options MemberOptions) error {
	kube, err := Binary("kube")
	if err != nil {
		return err
	}
	apiAddress, err := FreeAddress()
	if err != nil {
		return err
	}
	etcdAddress, err := FreeAddress()
	if err != nil {
		return err
	}
	m.Server = "https://" + apiAddress
	if err := m.writeFiles(); err != nil {
		return err
	}
	run := func(component string, arguments ...string) error {
		cmd := exec.Command(kube, append([]string{component}, arguments...)...)
		cmd.Dir = m.dir
		p, err := StartProcess(cmd, filepath.Join(m.dir, component+".log"))
		if err == nil {
			m.processes = append(m.processes, p)
		}
		return err
	}
	if err := run("etcd", filepath.Join(m.dir, "etcd"), "http://"+etcdAddress); err != nil {
		return err
	}
	if err := run("apiserver", append(m.apiserverFlags(apiAddress, etcdAddress), options.APIFlags...)...); err != nil {
		return err
	}
	if err := m.awaitAPI(ctx); err != nil {
		return err
	}
	if err := run("controller-manager", m.controllerFlags(options)...); err != nil {
		return err
	}
	if err := m.createNodes(ctx, options.Nodes); err != nil {
		return err
	}
	return m.awaitNamespaces(ctx)
}

func (m *Member) writeFiles() (err error) {
	if m.authority, err = NewAuthority(m.Name + "-ca"); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(m.Server[len("https://"):])
	if err != nil {
		return fmt.Errorf("split server address: %w", err)
	}
	names := []string{host, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1"}
	cert, key, err := m.authority.Issue(pkix.Name{CommonName: "kube-apiserver"}, names)
	if err != nil {
		return err
	}
	_, accountKey, err := NewKey()
	if err != nil {
		return err
	}
	admin, err := m.authority.Kubeconfig(m.Name, m.Server, pkix.Name{CommonName: m.Name + "-admin", Organization: []string{"system:masters"}})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"ca.crt": m.authority.CertPEM, "ca.key": m.authority.KeyPEM, "apiserver.crt": cert, "apiserver.key": key,
		"accounts.key": accountKey, "kubeconfig": admin,
	} {
		if err := os.WriteFile(filepath.Join(m.dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write member file: %w", err)
		}
	}
	m.Kubeconfig = filepath.Join(m.dir, "kubeconfig")
	if m.config, err = clientcmd.RESTConfigFromKubeConfig(admin); err != nil {
		return fmt.Errorf("read member kubeconfig: %w", err)
	}
	m.config.QPS = -1
	m.Client, err = kubernetes.NewForConfig(m.config)
	return err
}

func (m *Member) apiserverFlags(address, etcd string) []string {
	host, port, _ := net.SplitHostPort(address)
	file := func(name string) string { return filepath.Join(m.dir, name) }
	return []string{
		"--etcd-servers=http://" + etcd, "--bind-address=" + host, "--advertise-address=127.0.0.1", "--secure-port=" + port,
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC", "--client-ca-file=" + file("ca.crt"),
		"--tls-cert-file=" + file("apiserver.crt"), "--tls-private-key-file=" + file("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + file("accounts.key"), "--service-account-signing-key-file=" + file("accounts.key"),
		"--cert-dir=" + m.dir,
	}
}

func (m *Member) controllerFlags(options MemberOptions) []string {
	file := func(name string) string { return filepath.Join(m.dir, name) }
	controllers := memberControllers
	if options.Unsigned {
		controllers = strings.ReplaceAll(controllers, ",certificatesigningrequest-signing-controller", "")
	}
	return []string{
		"--kubeconfig=" + m.Kubeconfig, "--controllers=" + controllers,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000",
		"--service-account-private-key-file=" + file("accounts.key"), "--root-ca-file=" + file("ca.crt"),
		"--cluster-signing-cert-file=" + file("ca.crt"), "--cluster-signing-key-file=" + file("ca.key"),
		"--flex-volume-plugin-dir=" + m.dir,
	}
}

// awaitAPI polls until the API server is ready or one of the processes ended.
func (m *Member) awaitAPI(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, p := range m.processes {
			select {
			case <-p.Exited():
				return false, fmt.Errorf("%s ended early: %w", p.cmd.Path, p.Err())
			default:
			}
		}
		err := m.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		return err == nil, nil
	})
}

// memberNamespaces exist in every cluster from the start.
var memberNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// awaitNamespaces returns once the controllers have made in the first namespaces
// what they make in each: a test that compares before and after counts on it.
func (m *Member) awaitNamespaces(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, namespace := range memberNamespaces {
			if _, err := m.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
				return false, nil // not yet
			}
			if _, err := m.Client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
				return false, nil // not yet
			}
		}
		return true, nil
	})
}

func (m *Member) createNodes(ctx context.Context, count int) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	for i := range count {
		_, err := m.Client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1), Labels: map[string]string{corev1.LabelOSStable: "linux"}},
			Status: corev1.NodeStatus{
				Capacity: capacity, Allocatable: capacity,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "FakeNode",
					LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create fake node: %w", err)
		}
	}
	return nil
}
