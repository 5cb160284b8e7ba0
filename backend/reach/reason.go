package reach

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"muster.dev/muster/backend/registration"
	"net"
	"strings"
	"syscall"
	"time"
)

// DialReason words why a connection failed, for people.
func DialReason(err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return "no address to dial"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH):
		return "no route to host"
	case errors.Is(err, syscall.ENETUNREACH):
		return "network is unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return "the connection was closed by the other side"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return "the connection failed"
}

// TLSReason words why a server's certificate is not accepted, for people.
func TLSReason(err error, now time.Time) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return "its certificate was not issued by the CA of the kubeconfig"
	case errors.As(err, &name):
		return "its certificate is for " + CertificateNames(name.Certificate) + ", not for " + name.Host
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && now.Before(invalid.Cert.NotBefore):
		return "its certificate is valid only from " + invalid.Cert.NotBefore.UTC().Format(time.RFC3339)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate expired at " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339)
	case errors.As(err, &invalid):
		return "its certificate is not valid for a server"
	}
	return "the TLS handshake failed"
}

// CertificateNames lists the names and addresses a certificate covers, cut after a few.
func CertificateNames(certificate *x509.Certificate) string {
	names := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	const most = 6
	suffix := ""
	if len(names) > most {
		names, suffix = names[:most], " and others"
	}
	return registration.PlainText(strings.Join(names, ", ")) + suffix
}

// TransportReason tells a failed connection from a failed handshake; the code is
// empty if it is neither.
func TransportReason(err error) (reason, code string) {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var lookup *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		return TLSReason(err, time.Now()), registration.CodeTLS
	case errors.As(err, &lookup):
		return "the name " + lookup.Name + " does not resolve: " + lookupReason(err), registration.CodeDNS
	case errors.As(err, &operation), errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded):
		return DialReason(err), registration.CodeTCP
	}
	return "", ""
}
