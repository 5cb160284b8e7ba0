package handshake_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// remember keeps an identity, signed by the plane's own CA, whose certificate has
// run for an hour and runs on for a while.
func (f *fixture) remember(left time.Duration) {
	f.Helper()
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(authority, name))
		if err != nil {
			f.Fatal(err)
		}
		block, _ := pem.Decode(content)
		return block.Bytes
	}
	parent, err := x509.ParseCertificate(read("ca.crt"))
	if err != nil {
		f.Fatal(err)
	}
	var signer any
	if signer, err = x509.ParsePKCS8PrivateKey(read("ca.key")); err != nil {
		if signer, err = x509.ParseECPrivateKey(read("ca.key")); err != nil {
			f.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		Subject: pkix.Name{CommonName: "system:open-cluster-management:" + f.cluster + ":agent1",
			Organization: []string{"system:open-cluster-management:" + f.cluster, "system:open-cluster-management:managed-clusters"}},
	}, parent, &key.PublicKey, signer)
	if err != nil {
		f.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		f.Fatal(err)
	}
	b, err := f.options.Bootstraps[0].Load(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	kubeconfig := strings.NewReplacer("$NAME", b.Hub.Name, "$SERVER", b.Hub.Server, "$CA", encode(b.Hub.CA)).Replace(`{"apiVersion": "v1", "kind": "Config", "current-context": "default-context",
"clusters": [{"name": "$NAME", "cluster": {"server": "$SERVER", "certificate-authority-data": "$CA"}}],
"contexts": [{"name": "default-context", "context": {"cluster": "$NAME", "user": "default-auth", "namespace": "configuration"}}],
"users": [{"name": "default-auth", "user": {"client-certificate": "tls.crt", "client-key": "tls.key"}}]}`)
	err = f.store.Write(f.Context(), map[string][]byte{"cluster-name": []byte(f.cluster), "agent-name": []byte("agent1"), "kubeconfig": []byte(kubeconfig),
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})})
	if err != nil {
		f.Fatal(err)
	}
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func untyped(f *fixture, object any) *unstructured.Unstructured {
	f.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		f.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// announce makes the ManagedCluster as the administrator would.
func (f *fixture) announce() {
	f.Helper()
	cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: f.cluster}}
	cluster.APIVersion, cluster.Kind = ocmv1.GroupVersion.String(), "ManagedCluster"
	_, err := f.client.Resource(clustersResource).Create(f.Context(), untyped(f, cluster), metav1.CreateOptions{})
	f.must(err)
}

func TestCertificateIsRenewedAsItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.announce()
	f.accept()
	f.remember(10 * time.Minute) // of 70: less than a fifth
	f.run()
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
	f.eventually("a request", func() bool { return len(f.requests()) == 1 })
	if user := f.requests()[0].Spec.Username; user != "system:open-cluster-management:"+f.cluster+":agent1" {
		t.Errorf("the request is made by %s", user)
	}
	f.approve(certificatesv1.CertificateApproved)
	c := f.condition(ocmv1.ConditionCertificateRotated, metav1.ConditionTrue)
	if c.Reason != "ClientCertificateUpdated" || !strings.HasPrefix(c.Message, "client certificate rotated starting from ") || !strings.HasSuffix(c.Message, " +0000 UTC") {
		t.Errorf("condition %+v", c)
	}
	i, err := f.store.Load(t.Context())
	if err != nil || time.Until(i.Expires()) < time.Hour || i.Agent != "agent1" {
		t.Errorf("identity %+v: %v", i, err)
	}
}

// An expired certificate leads back to the bootstrap identity, with the same agent
// name: at start, and under way.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]time.Duration{"at start": -time.Minute, "under way": 8 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.announce()
			f.accept()
			f.remember(left)
			f.run()
			f.eventually("a request by the bootstrap identity", func() bool {
				for _, r := range f.requests() {
					if r.Spec.Username == "bootstrap-of-"+f.cluster {
						cn, _ := subject(t, r.Spec.Request)
						return cn == "system:open-cluster-management:"+f.cluster+":agent1"
					}
				}
				return false
			})
			f.approve(certificatesv1.CertificateApproved)
			f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
		})
	}
}
