package joiningtest

import (
	"context"
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
	"net/netip"
	"testing"
	"time"

	"muster.dev/muster/backend/fault"
)

// ClusterPath is where Clusters are; a name follows.
const ClusterPath = "/apis/cluster.karmada.io/v1alpha1/clusters/"

// MemberUID is the identity of the member of Pair.
const MemberUID = "fb14c335-3a47-4bc5-b2b1-7daa6a42bd41"

// Pair is a hub and a member, with karmada-cluster on the hub as it makes it.
func Pair(t *testing.T) (hub, member *API) {
	hub, member = NewAPI(t, "hub-uid"), NewAPI(t, MemberUID)
	hub.Put("/api/v1/namespaces/karmada-cluster", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "karmada-cluster"}})
	return hub, member
}

// KubeconfigOf is a kubeconfig with one context and these cluster and user fields.
func KubeconfigOf(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: one\ncontexts:\n- name: one\n  context: {cluster: c, user: u}\nclusters:\n- name: c\n  cluster: {" +
		cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n"
}

// KubeconfigFor is a kubeconfig for the operator of a member.
func KubeconfigFor(member *API) string {
	return KubeconfigOf(fmt.Sprintf("server: %q, certificate-authority-data: %s", member.Server.URL, base64.StdEncoding.EncodeToString(member.CA())), "token: "+OperatorToken)
}

// Resolver answers each lookup with the next list of addresses.
type Resolver struct {
	Answers [][]netip.Addr
	Asked   int
}

// LookupNetIP implements reach.Resolver.
func (f *Resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	f.Asked++
	if f.Asked > len(f.Answers) {
		return nil, &net.DNSError{IsNotFound: true}
	}
	return f.Answers[f.Asked-1], nil
}

// CodeOf is the code of a fault, empty for other errors.
func CodeOf(err error) string {
	known, ok := fault.As(err)
	if !ok {
		return ""
	}
	return known.Code
}

// KeyPair returns a self-signed certificate and its key, both as PEM.
func KeyPair(t testing.TB) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}
