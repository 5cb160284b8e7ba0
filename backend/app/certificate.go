package app

import (
	"crypto/tls"
	"net"

	"muster.dev/muster/backend/controlplane/keypair"
)

// certificate returns what the dashboard is served with: the pair of the
// configuration, else one of the plane's own.
func (a *App) certificate() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	certFile, keyFile := a.config.TLSCert, a.config.TLSKey
	if certFile == "" && a.external != nil {
		return a.external.Certificate(a.dashboardHosts()), nil
	}
	if certFile == "" {
		certFile, keyFile = a.embedded.PKI().ServingCertFile(), a.embedded.PKI().ServingKeyFile()
	}
	pair, err := keypair.Load(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return pair.Get, nil
}

// dashboardHosts are the names and addresses that a certificate made for the
// dashboard alone covers.
func (a *App) dashboardHosts() []string {
	hosts := append([]string{"localhost", "127.0.0.1", "::1"}, a.config.CertHosts...)
	if host, _, err := net.SplitHostPort(a.config.DashboardListen); err == nil {
		if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
