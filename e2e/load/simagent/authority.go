package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/backend/apis"
)

// authority signs the agents' certificates as the hub would.
type authority struct {
	server string // the hub's URL
	ca     []byte // PEM
	cert   *x509.Certificate
	signer crypto.PrivateKey
	// key is every agent's: making thousands would take longer than connecting.
	key *ecdsa.PrivateKey
}

// readAuthority reads the authority of a hub on this machine.
func readAuthority(dataDir string) (*authority, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dataDir, "admin.kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	a := &authority{server: config.Host}
	certFile, keyFile := filepath.Join(dataDir, "pki", "ca.crt"), filepath.Join(dataDir, "pki", "ca.key")
	if a.ca, err = os.ReadFile(certFile); err != nil {
		return nil, fmt.Errorf("read the hub's authority: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the hub's authority: %w", err)
	}
	a.cert, a.signer = pair.Leaf, pair.PrivateKey
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return a, nil
}

// issue makes the certificate of a cluster's agent.
func (a *authority) issue(cluster string) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: apis.AgentUserPrefix + cluster, Organization: []string{apis.AgentGroup}},
		NotBefore: time.Now().Add(-5 * time.Minute), NotAfter: time.Now().AddDate(0, 1, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", cluster, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}, nil
}
