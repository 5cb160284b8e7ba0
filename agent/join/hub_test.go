package join_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/join"
)

// authority issues certificates for a test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key: key, cert: cert, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (a *authority) pin() string { return join.Pin(a.cert) }

// sign issues a certificate for a public key.
func (a *authority) sign(subject pkix.Name, key any, age, lifetime time.Duration, addresses ...net.IP) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, IPAddresses: addresses,
		NotBefore: time.Now().Add(-age), NotAfter: time.Now().Add(lifetime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key, a.key)
	if err != nil {
		panic(err)
	}
	return der
}

func (a *authority) serving(t *testing.T, address string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{a.sign(pkix.Name{CommonName: "hub"}, key.Public(), time.Second, time.Hour, net.ParseIP(address))}, PrivateKey: key}
}

const (
	tokenID     = "abcdef"
	tokenSecret = "0123456789abcdef"
)

func goodToken(t *testing.T) join.Token {
	t.Helper()
	token, err := join.ParseToken(tokenID + "." + tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// hub is as much of a hub as joining needs. What is not set does the right thing.
type hub struct {
	*testing.T
	ca       *authority
	store    *membertest.Server
	server   *httptest.Server
	address  string        // HOST:PORT
	lifetime time.Duration // of certificates, from now on
	age      time.Duration // which they have when they are issued

	servedBy   *authority                         // of the serving certificate
	named      *authority                         // in cluster-info
	date       time.Time                          // of the Date header
	sign       func(n int) (jws string, set bool) // signature on the n-th read of cluster-info
	knowsToken bool
	expired    string                                    // when the token expired, as the hub tells its holder
	approve    func(csr *unstructured.Unstructured) bool // false: leave it as it is

	mu       sync.Mutex
	received []string // requests as they arrived, head and body
	infos    int
	csr      *unstructured.Unstructured // the newest
}

var (
	requests = membertest.Resource{GroupVersion: "certificates.k8s.io/v1", Plural: "certificatesigningrequests", Kind: "CertificateSigningRequest"}
	clusters = membertest.Resource{GroupVersion: "cluster.karmada.io/v1alpha1", Plural: "clusters", Kind: "Cluster"}
	works    = membertest.Resource{GroupVersion: "work.karmada.io/v1alpha1", Plural: "works", Kind: "Work", Namespaced: true}
)

func startHub(t *testing.T, change func(*hub)) *hub {
	t.Helper()
	h := &hub{T: t, ca: newAuthority(t), store: membertest.New(t), age: time.Second, lifetime: time.Hour, knowsToken: true}
	for _, r := range []membertest.Resource{requests, clusters, works} {
		h.store.Serve(r)
	}
	h.servedBy, h.named = h.ca, h.ca
	h.store.Default = h.issue
	if change != nil {
		change(h)
	}
	h.server = httptest.NewUnstartedServer(h)
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.server.TLS = &tls.Config{Certificates: []tls.Certificate{h.servedBy.serving(t, "127.0.0.1")}, ClientAuth: tls.RequestClientCert}
	h.address = h.server.Listener.Addr().String()
	h.server.StartTLS()
	t.Cleanup(h.server.Close)
	return h
}

func (h *hub) kubeconfig() string {
	data, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{"": {Server: "https://" + h.address, CertificateAuthorityData: h.named.pem}}})
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}

// jws signs cluster-info by a secret.
func (h *hub) jws(secret string) string {
	encode := base64.RawURLEncoding.EncodeToString
	header := encode([]byte(`{"alg":"HS256","kid":"` + tokenID + `"}`))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(header + "." + encode([]byte(h.kubeconfig()))))
	return header + ".." + encode(mac.Sum(nil))
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var head bytes.Buffer
	_ = r.Header.Write(&head)
	h.mu.Lock()
	h.received = append(h.received, r.Method+" "+r.URL.String()+"\n"+head.String()+"\n"+string(body))
	h.mu.Unlock()
	if !h.date.IsZero() {
		w.Header().Set("Date", h.date.UTC().Format(http.TimeFormat))
	}
	if strings.HasSuffix(r.URL.Path, "/configmaps/cluster-info") {
		h.clusterInfo(w)
		return
	}
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	byToken := bearer == tokenID+"."+tokenSecret && h.knowsToken
	byCertificate := len(r.TLS.PeerCertificates) > 0 && r.TLS.PeerCertificates[0].CheckSignatureFrom(h.ca.cert) == nil
	if !byToken && !byCertificate {
		if h.expired != "" && bearer == tokenID+"."+tokenSecret {
			w.Header().Set("Muster-Token-Expired", h.expired)
		}
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401, "reason": "Unauthorized"})
		return
	}
	h.store.ServeHTTP(w, r)
}

func (h *hub) clusterInfo(w http.ResponseWriter) {
	h.mu.Lock()
	h.infos++
	n := h.infos
	h.mu.Unlock()
	data := map[string]string{"kubeconfig": h.kubeconfig()}
	jws, set := h.jws(tokenSecret), true
	if h.sign != nil {
		jws, set = h.sign(n)
	}
	if set {
		data["jws-kubeconfig-"+tokenID] = jws
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "data": data})
}

// issue signs certificate requests as they are stored.
func (h *hub) issue(o *unstructured.Unstructured) {
	if status, _ := o.Object["status"].(map[string]any); o.GetKind() != "CertificateSigningRequest" || len(status) > 0 || h.approve != nil && !h.approve(o) {
		return
	}
	h.csr = o.DeepCopy()
	text, _, _ := unstructured.NestedString(o.Object, "spec", "request")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return
	}
	block, _ := pem.Decode(data)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.ca.sign(csr.Subject, csr.PublicKey, h.age, h.lifetime)})
	o.Object["status"] = map[string]any{"certificate": base64.StdEncoding.EncodeToString(certificate)}
}

// sent says whether any request held a text.
func (h *hub) sent(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.received {
		if strings.Contains(r, text) {
			return true
		}
	}
	return false
}

func (h *hub) cluster(name, id string, ready bool) *unstructured.Unstructured {
	status := "False"
	if ready {
		status = "True"
	}
	return h.store.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"id": id, "syncMode": "Pull"},
		"status": map[string]any{"kubernetesVersion": "v1.36.3", "conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": "R", "message": "M"}}}}})
}

// newMember is a cluster that registers.
func newMember(t *testing.T) (*membertest.Server, *rest.Config) {
	t.Helper()
	m := membertest.New(t)
	m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}}})
	return m, m.Config()
}
