package controlplanetest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// HubOptions vary a hub.
type HubOptions struct {
	// DataDir holds its state. Default: a new temporary directory.
	DataDir string
	// Listen is the hub API's host:port. Default: a free loopback port.
	Listen string
	// Flags are added to "muster serve".
	Flags []string
}

// Hub is the built binary, serving. Its address and directory stay the same
// over Kill and Restart.
type Hub struct {
	// DataDir is its --data-dir.
	DataDir string
	// Address is the hub API's host:port, as agents dial it.
	Address string
	// DashboardURL is where dashboard and REST API are.
	DashboardURL string
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Password is the first administrator's one-time password; its name is
	// admin. Empty when the directory was not new.
	Password string
	// ServingAfter is how long after its start the hub was ready.
	ServingAfter time.Duration

	options HubOptions
	output  string // the log file: what the hub printed
	process *Process
}

var passwordRE = regexp.MustCompile(`(?m)^\s*Password\s+(\S+)`)

// StartHub starts a hub that ends with the test.
func StartHub(t testing.TB, options HubOptions) *Hub {
	t.Helper()
	if options.DataDir == "" {
		options.DataDir = filepath.Join(t.TempDir(), "hub")
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	h, err := NewHub(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(h.process.Tail())
		}
	})
	return h
}

// NewHub starts a hub and returns once it is ready. ctx bounds the start only;
// the caller stops it.
func NewHub(ctx context.Context, options HubOptions) (*Hub, error) {
	var err error
	if options.Listen == "" {
		if options.Listen, err = FreeAddress(); err != nil {
			return nil, err
		}
	}
	dashboard, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		DataDir: options.DataDir, Address: options.Listen, DashboardURL: "https://" + dashboard,
		Kubeconfig: filepath.Join(options.DataDir, "admin.kubeconfig"),
		options:    options, output: options.DataDir + ".log",
	}
	if err := h.Restart(ctx); err != nil {
		return nil, err
	}
	if found := passwordRE.FindStringSubmatch(h.Output()); found != nil {
		h.Password = found[1]
	}
	return h, nil
}

// Restart starts a hub that was stopped or killed again, on the same directory
// and addresses, and returns once it is ready.
func (h *Hub) Restart(ctx context.Context) error {
	muster, err := Binary("muster")
	if err != nil {
		return err
	}
	args := append([]string{"serve", "--data-dir", h.DataDir, "--listen", h.Address,
		"--dashboard-listen", strings.TrimPrefix(h.DashboardURL, "https://")}, h.options.Flags...)
	start, before := time.Now(), len(h.Output())
	if h.process, err = StartProcess(exec.Command(muster, args...), h.output); err != nil {
		return err
	}
	if err := h.awaitReady(ctx, before); err != nil {
		return errors.Join(fmt.Errorf("start hub: %w%s", err, h.process.Tail()), h.process.Kill())
	}
	h.ServingAfter = time.Since(start)
	return nil
}

// awaitReady waits until this start serves, which it says after what the starts
// before it said, so many bytes: others may answer at an address, too.
func (h *Hub) awaitReady(ctx context.Context, before int) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // asks only "are you there": the CA is not known before it is
	}}
	defer client.CloseIdleConnections()
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		select {
		case <-h.process.Exited():
			return false, fmt.Errorf("the hub ended early: %w", h.process.Err())
		default:
		}
		response, err := client.Get(h.DashboardURL + "/readyz")
		if err != nil {
			return false, nil
		}
		defer response.Body.Close()
		// The welcome text follows readiness: it holds the one-time password.
		return response.StatusCode == http.StatusOK && strings.Contains(h.Output()[before:], "Dashboard"), nil
	})
}

// Kill ends the hub as kill -9 does.
func (h *Hub) Kill() error { return h.process.Kill() }

// Stop asks the hub to end and waits for it.
func (h *Hub) Stop() error { return h.process.Stop() }

// PID is the process id of the running hub.
func (h *Hub) PID() int { return h.process.PID() }

// Output is what the hub has printed and logged since its first start.
func (h *Hub) Output() string { return printed(h.output) }

// Config is the administrator's client configuration for the hub API, without a
// rate limit.
func (h *Hub) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", h.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read hub kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Client is a client of the hub API with an administrator's rights.
func (h *Hub) Client() (kubernetes.Interface, error) {
	config, err := h.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
