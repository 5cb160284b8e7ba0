package controlplanetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority signs the certificates of one test cluster. Its key never leaves
// the process but for KeyPEM.
type Authority struct {
	// CertPEM is the authority's own certificate.
	CertPEM []byte
	// KeyPEM is its key, which a cluster's own signer needs.
	KeyPEM []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a self-signed certificate authority.
func NewAuthority(name string) (*Authority, error) {
	key, keyPEM, err := NewKey()
	if err != nil {
		return nil, err
	}
	template := newTemplate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate authority %s: %w", name, err)
	}
	return &Authority{CertPEM: block("CERTIFICATE", der), KeyPEM: keyPEM, cert: cert, key: key}, nil
}

// Issue makes a certificate, valid for a year, for a server (names are its DNS
// names and addresses) or a client (no names).
func (a *Authority) Issue(subject pkix.Name, names []string) (certPEM, keyPEM []byte, err error) {
	key, keyPEM, err := NewKey()
	if err != nil {
		return nil, nil, err
	}
	template := newTemplate(subject)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate of %s: %w", subject.CommonName, err)
	}
	return block("CERTIFICATE", der), keyPEM, nil
}

// Kubeconfig writes a kubeconfig whose one context, called cluster, uses a fresh
// client certificate for subject.
func (a *Authority) Kubeconfig(cluster, server string, subject pkix.Name) ([]byte, error) {
	cert, key, err := a.Issue(subject, nil)
	if err != nil {
		return nil, err
	}
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, kubeconfigText, cluster, subject.CommonName, server, encode(a.CertPEM), encode(cert), encode(key)), nil
}

// NewKey makes an ECDSA P-256 key, also in PEM.
func NewKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode key: %w", err)
	}
	return key, block("EC PRIVATE KEY", der), nil
}

func newTemplate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand ends the program rather than fail
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

const kubeconfigText = `apiVersion: v1
kind: Config
current-context: %[1]s
contexts: [{name: %[1]s, context: {cluster: %[1]s, user: %[2]s}}]
clusters: [{name: %[1]s, cluster: {server: "%[3]s", certificate-authority-data: %[4]s}}]
users: [{name: %[2]s, user: {client-certificate-data: %[5]s, client-key-data: %[6]s}}]
`
