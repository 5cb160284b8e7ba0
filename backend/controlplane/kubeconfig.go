package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// Names in the admin kubeconfig that scripts of the field know (contract
// karmada.md section 13).
const (
	adminContext = "karmada-apiserver"
	adminUser    = "karmada-admin"
	adminName    = "system:admin"
	adminGroup   = "system:masters"
)

// AdminKubeconfigFile is where the administrator's kubeconfig lies in dataDir.
func AdminKubeconfigFile(dataDir string) string { return filepath.Join(dataDir, "admin.kubeconfig") }

// EnsureAdminKubeconfig writes the administrator's kubeconfig for the hub API
// at advertise (host:port) and returns its path. A good one is left alone.
func (p *PKI) EnsureAdminKubeconfig(dataDir, advertise string) (string, error) {
	file := AdminKubeconfigFile(dataDir)
	server := "https://" + advertise
	ca, err := p.CA()
	if err != nil {
		return "", err
	}
	if current, err := clientcmd.LoadFromFile(file); err == nil && usable(current, server, ca) {
		return file, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read admin kubeconfig: %w", err)
	}
	certPEM, keyPEM, err := p.ClientCertificate(adminName, []string{adminGroup})
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[adminContext] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[adminUser] = &clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}
	config.Contexts[adminContext] = &clientcmdapi.Context{Cluster: adminContext, AuthInfo: adminUser}
	config.CurrentContext = adminContext
	data, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("encode admin kubeconfig: %w", err)
	}
	return file, writeFile(file, data, os.FileMode(0o600))
}

func usable(config *clientcmdapi.Config, server string, ca []byte) bool {
	cluster, user := config.Clusters[adminContext], config.AuthInfos[adminUser]
	if cluster == nil || user == nil || cluster.Server != server || !bytes.Equal(cluster.CertificateAuthorityData, ca) {
		return false
	}
	certs, err := cert.ParseCertsPEM(user.ClientCertificateData)
	return err == nil && time.Until(certs[0].NotAfter) > leafRenewBefore
}

// servingHosts are the names and addresses the serving certificate covers:
// loopback, what we listen on and what we advertise.
func servingHosts(addresses ...string) ([]string, error) {
	hosts := []string{"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc"}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("address %q is not host:port: %w", address, err)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() || slices.Contains(hosts, host) {
			continue
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}
