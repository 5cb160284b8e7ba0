package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	caLifetime      = 10 * 365 * 24 * time.Hour
	leafLifetime    = 365 * 24 * time.Hour
	leafRenewBefore = 30 * 24 * time.Hour
	clockSkew       = 5 * time.Minute // members' clocks may be behind ours
)

// PKI is the hub's key material on disk. The certificate authority is made
// once and never again: every member pins it. An administrator may put another
// in its place; what was signed by the old one is then made anew.
type PKI struct{ dir string }

// NewPKI returns the PKI kept in dataDir/pki, making what is missing.
func NewPKI(dataDir string) (*PKI, error) {
	p := &PKI{dir: filepath.Join(dataDir, "pki")}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create pki directory: %w", err)
	}
	if err := p.ensureCA(); err != nil {
		return nil, err
	}
	if _, err := p.ensureKey(p.ServiceAccountKeyFile()); err != nil {
		return nil, err
	}
	return p, nil
}

// CAFile and its companions are the paths of the key material.
func (p *PKI) CAFile() string    { return filepath.Join(p.dir, "ca.crt") }
func (p *PKI) caKeyFile() string { return filepath.Join(p.dir, "ca.key") }

// ServingCertFile is the hub API's serving certificate, followed by the CA.
func (p *PKI) ServingCertFile() string { return filepath.Join(p.dir, "apiserver.crt") }

// ServingKeyFile is the key of ServingCertFile.
func (p *PKI) ServingKeyFile() string { return filepath.Join(p.dir, "apiserver.key") }

// ServiceAccountKeyFile signs and verifies service-account tokens.
func (p *PKI) ServiceAccountKeyFile() string { return filepath.Join(p.dir, "sa.key") }

// CA returns the certificate authority in PEM.
func (p *PKI) CA() ([]byte, error) { return os.ReadFile(p.CAFile()) }

func (p *PKI) ensureCA() error {
	_, err := os.Stat(p.CAFile())
	if err == nil {
		_, _, err = p.loadCA()
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read certificate authority: %w", err)
	}
	key, err := p.ensureKey(p.caKeyFile())
	if err != nil {
		return err
	}
	template, err := newAuthorityTemplate("muster-ca")
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("sign certificate authority: %w", err)
	}
	return writeFile(p.CAFile(), encodeCert(der), 0o644)
}

func (p *PKI) loadCA() (*x509.Certificate, crypto.Signer, error) {
	certs, err := cert.CertsFromFile(p.CAFile())
	if err != nil {
		return nil, nil, fmt.Errorf("read certificate authority: %w", err)
	}
	key, err := keyutil.PrivateKeyFromFile(p.caKeyFile())
	if err != nil {
		return nil, nil, fmt.Errorf("read the certificate authority's key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("the certificate authority's key %s cannot sign", p.caKeyFile())
	}
	return certs[0], signer, nil
}

// EnsureServing makes the serving certificate if it is missing, lacks one of
// hosts, ends within 30 days, or is of an authority that was replaced.
func (p *PKI) EnsureServing(hosts []string) error {
	authority, _, err := p.loadCA()
	if err != nil {
		return err
	}
	if certs, err := cert.CertsFromFile(p.ServingCertFile()); err == nil && covers(certs[0], hosts) &&
		time.Until(certs[0].NotAfter) > leafRenewBefore && certs[0].CheckSignatureFrom(authority) == nil {
		return nil
	}
	template, err := newTemplate(pkix.Name{CommonName: "muster-hub"}, leafLifetime)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := p.ensureKey(p.ServingKeyFile())
	if err != nil {
		return err
	}
	pem, err := p.sign(template, key.Public())
	if err != nil {
		return err
	}
	ca, err := p.CA()
	if err != nil {
		return err
	}
	return writeFile(p.ServingCertFile(), append(pem, ca...), 0o644)
}

// ClientCertificate issues a client certificate for user in groups and returns
// certificate and key in PEM; nothing is kept.
func (p *PKI) ClientCertificate(user string, groups []string) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate client key: %w", err)
	}
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups}, leafLifetime)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if certPEM, err = p.sign(template, key.Public()); err != nil {
		return nil, nil, err
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return certPEM, keyPEM, err
}

func (p *PKI) sign(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	ca, key, err := p.loadCA()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %s: %w", template.Subject.CommonName, err)
	}
	return encodeCert(der), nil
}

func (p *PKI) ensureKey(file string) (crypto.Signer, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("generate key: %w", err)
		}
		pem, err := keyutil.MarshalPrivateKeyToPEM(key)
		if err != nil {
			return nil, fmt.Errorf("encode key: %w", err)
		}
		if err := writeFile(file, pem, 0o600); err != nil {
			return nil, err
		}
	}
	key, err := keyutil.PrivateKeyFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", file, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("key %s cannot sign", file)
	}
	return signer, nil
}

// newAuthorityTemplate is a certificate that may sign others.
func newAuthorityTemplate(name string) (*x509.Certificate, error) {
	template, err := newTemplate(pkix.Name{CommonName: name}, caLifetime)
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	return template, nil
}

func newTemplate(subject pkix.Name, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(lifetime),
	}, nil
}

func covers(c *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return c.VerifyHostname(host) != nil })
}

func encodeCert(der []byte) []byte {
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err) // we have just made it
	}
	pem, err := cert.EncodeCertificates(parsed)
	if err != nil {
		panic(err)
	}
	return pem
}

// writeFile replaces file whole, so that a crash leaves the old or the new one.
func writeFile(file string, data []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // gone after the rename
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
