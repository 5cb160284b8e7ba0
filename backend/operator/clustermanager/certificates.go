package clustermanager

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	signerLifetime  = 365 * 24 * time.Hour
	servingLifetime = 30 * 24 * time.Hour
	clockSkew       = 5 * time.Minute
	// A certificate is replaced in the last fifth of its life.
	renewalPart = 5
)

// pair is a certificate, or a chain of them, and its key, in PEM.
type pair struct{ cert, key []byte }

// authority signs what the webhooks serve with.
type authority struct {
	pair
	parsed *x509.Certificate
	signer *ecdsa.PrivateKey
}

// readAuthority takes the authority from what is stored. An error says that it cannot be used (any more).
func readAuthority(stored pair, now time.Time) (*authority, error) {
	certs, err := cert.ParseCertsPEM(stored.cert)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(stored.key)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok || !signer.PublicKey.Equal(certs[0].PublicKey) {
		return nil, errors.New("certificate and key do not belong together")
	}
	if !certs[0].IsCA || !now.Before(renewAt(certs[0])) {
		return nil, errors.New("it has come to its end")
	}
	return &authority{pair: stored, parsed: certs[0], signer: signer}, nil
}

func newAuthority(name string, now time.Time) (*authority, error) {
	template, err := newTemplate(fmt.Sprintf("%s-webhook@%d", name, now.Unix()), now, signerLifetime)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	signed, err := sign(template, nil)
	if err != nil {
		return nil, err
	}
	return readAuthority(signed, now)
}

// serving returns stored if it still is a good certificate for hosts, else a new one.
func (a *authority) serving(stored pair, hosts []string, now time.Time) (pair, error) {
	if certs, err := cert.ParseCertsPEM(stored.cert); err == nil && len(stored.key) > 0 &&
		now.Before(renewAt(certs[0])) && certs[0].CheckSignatureFrom(a.parsed) == nil &&
		!slices.ContainsFunc(hosts, func(host string) bool { return certs[0].VerifyHostname(host) != nil }) {
		return stored, nil
	}
	template, err := newTemplate(hosts[0], now, servingLifetime)
	if err != nil {
		return pair{}, err
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	signed, err := sign(template, a)
	if err != nil {
		return pair{}, err
	}
	signed.cert = append(signed.cert, a.cert...)
	return signed, nil
}

// bundle is what verifies the webhooks: the authority, and its predecessors for as long as they are valid.
func (a *authority) bundle(stored []byte, now time.Time) []byte {
	out := bytes.Clone(a.cert)
	certs, err := cert.ParseCertsPEM(stored)
	if err != nil {
		return out
	}
	for _, old := range certs {
		if !old.Equal(a.parsed) && now.Before(old.NotAfter) {
			if text, err := cert.EncodeCertificates(old); err == nil {
				out = append(out, text...)
			}
		}
	}
	return out
}

// renewAt is when a certificate enters the last part of its life.
func renewAt(c *x509.Certificate) time.Time {
	return c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / renewalPart)
}

// nextRenewal is the first renewal among certificates in PEM.
func nextRenewal(pems ...[]byte) time.Time {
	var next time.Time
	for _, text := range pems {
		certs, err := cert.ParseCertsPEM(text)
		if err != nil {
			continue
		}
		if at := renewAt(certs[0]); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func newTemplate(name string, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(lifetime),
	}, nil
}

// sign makes a key and a certificate for it, signed by parent or, without one, by itself.
func sign(template *x509.Certificate, parent *authority) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("generate key: %w", err)
	}
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.parsed, parent.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		return pair{}, fmt.Errorf("sign certificate %s: %w", template.Subject.CommonName, err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("read certificate %s: %w", template.Subject.CommonName, err)
	}
	text, err := cert.EncodeCertificates(parsed)
	if err != nil {
		return pair{}, fmt.Errorf("encode certificate %s: %w", template.Subject.CommonName, err)
	}
	keyText, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return pair{}, fmt.Errorf("encode key: %w", err)
	}
	return pair{cert: text, key: keyText}, nil
}
