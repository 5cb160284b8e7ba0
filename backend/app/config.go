// Package app wires the hub together: it is the only package that may import
// everything in backend. It starts control plane, database, controllers, live
// hub and web server in that order and stops them in reverse.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"muster.dev/muster/backend/estimator"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/policy"
)

// Default addresses: loopback unless told otherwise.
const (
	DefaultListen          = "127.0.0.1:6443"
	DefaultDashboardListen = "127.0.0.1:8443"
)

// Config is everything an operator can say about a hub.
type Config struct {
	// DataDir holds all state: keys, storage and the SQLite database.
	DataDir string
	// Listen is the hub API's host:port.
	Listen string
	// DashboardListen is the dashboard's and REST API's host:port.
	DashboardListen string
	// Advertise is the host or host:port under which members reach the hub API;
	// empty: derived from Listen.
	Advertise string
	// CertHosts are further names and addresses in the hub API's certificate.
	CertHosts []string
	// TLSCert and TLSKey are PEM files that serve the dashboard only; the hub
	// API always chains to the CA that members pin.
	TLSCert, TLSKey string
	// Origins are further https origins the dashboard is reached under.
	Origins []string
	// Database is a PostgreSQL URL; empty: SQLite in DataDir.
	Database string
	// AllowMemberCIDRs are address ranges that REST may dial although policy
	// refuses them (loopback, link-local).
	AllowMemberCIDRs []netip.Prefix
	// AgentImage is the image named in register commands and manifests.
	AgentImage string
	// AutoApproveUsers introduce clusters of Open Cluster Management that need
	// nobody's consent.
	AutoApproveUsers []string
	// Gates are the features that are switched on.
	Gates policy.Gates
	// IdleGates were given too and have no effect; the log says so.
	IdleGates []string
	// TaintEviction lets NoExecute taints evict, with the gate Failover.
	TaintEviction bool
	// EvictionTimeout is how long an eviction without a grace period waits.
	EvictionTimeout time.Duration
	// EvictionRate is how many targets are evicted a second.
	EvictionRate float64
	// SkippedNamespaces are expressions for the names of namespaces that are never
	// propagated, beside the reserved ones.
	SkippedNamespaces []string
	// Estimator says whether the scheduler estimators of members are asked.
	Estimator estimator.Options
	// External is the existing Kubernetes API to run on; nil: the hub serves its
	// own.
	External *External
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// Version is the build's version.
	Version string
}

// Complete fills what was left open and checks the rest.
func (c *Config) Complete() error {
	if c.DataDir == "" {
		return fault.Invalid("no data directory given").WithFix("pass --data-dir DIRECTORY")
	}
	absolute, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("find data directory: %w", err)
	}
	c.DataDir = absolute
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return fault.Invalid("--tls-cert and --tls-key go together").WithFix("give both, or neither for a certificate of the hub's own CA")
	}
	for _, address := range []string{c.Listen, c.DashboardListen} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fault.Invalid("listen address %q is not host:port", address).WithFix("write it like " + DefaultListen)
		}
	}
	if c.Database == "" {
		c.Database = "sqlite:" + filepath.Join(c.DataDir, "muster.db")
	}
	if err := c.Estimator.Complete(); err != nil {
		return err
	}
	if c.External != nil {
		return c.External.complete() // the API knows how it is reached
	}
	return c.completeAdvertise()
}

func (c *Config) completeAdvertise() error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("split listen address: %w", err)
	}
	if c.Advertise == "" {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			if host, err = outwardAddress(); err != nil {
				return err
			}
		}
		c.Advertise = net.JoinHostPort(host, port)
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Advertise); err != nil {
		c.Advertise = net.JoinHostPort(c.Advertise, port)
	}
	return nil
}

// outwardAddress is the first global address of this machine. No packet is
// sent and nobody is asked.
func outwardAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("list the machine's addresses: %w", err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP.String(), nil
		}
	}
	return "", fault.Invalid("this machine has no address that members could reach").WithFix("pass --advertise HOST[:PORT]")
}

// prepareDataDir makes the directory private to its owner.
func (c *Config) prepareDataDir() error {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	info, err := os.Stat(c.DataDir)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	if !info.IsDir() {
		return errors.New(c.DataDir + " is not a directory")
	}
	return nil
}
