package estimator

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"muster.dev/muster/backend/fault"
)

// Defaults of the field (contract sections 3.2 and 9.5).
const (
	DefaultPrefix    = "karmada-scheduler-estimator"
	DefaultNamespace = "karmada-system"
	DefaultPort      = 10352
	DefaultTimeout   = 3 * time.Second
)

// Options say whether estimators are asked, and how they are reached.
type Options struct {
	// Enabled has estimators asked at all.
	Enabled bool
	// NotPull leaves out the clusters of mode Pull.
	NotPull bool
	// Timeout bounds what a decision waits for estimators.
	Timeout time.Duration
	// Prefix and Namespace name the Services, <prefix>-<cluster>, and Port their port.
	Prefix, Namespace string
	Port              int
	// Address is HOST:PORT with {cluster} for the cluster's name, for estimators
	// without a Service on the hub.
	Address string
	// CAFile, CertFile and KeyFile are PEM files for TLS. Without CAFile and Insecure
	// the connection is not encrypted, as in the field.
	CAFile, CertFile, KeyFile string
	// Insecure uses TLS without looking at the estimator's certificate.
	Insecure bool
}

// Complete judges the options.
func (o *Options) Complete() error {
	switch {
	case !o.Enabled:
		return nil
	case o.Timeout <= 0:
		return fault.Invalid("--scheduler-estimator-timeout must be more than 0")
	case o.Port < 1 || o.Port > 65535:
		return fault.Invalid("--scheduler-estimator-port %d is not a port", o.Port)
	case (o.CertFile == "") != (o.KeyFile == ""):
		return fault.Invalid("--scheduler-estimator-cert-file and --scheduler-estimator-key-file go together")
	}
	return checkTemplate(o.Address)
}

// tls is how connections are secured; nil: not at all.
func (o *Options) tls() (*tls.Config, error) {
	if o.CAFile == "" && !o.Insecure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure} //nolint:gosec // who asks for it gets it
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA of the estimators: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.Invalid("--scheduler-estimator-ca-file %s holds no certificate", o.CAFile)
		}
	}
	if o.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read certificate for the estimators: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}
