package handshake

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

const (
	// agentPrefix begins the user name of every agent; the groups begin so too.
	agentPrefix = "system:open-cluster-management:"
	agentsGroup = agentPrefix + "managed-clusters"
)

// Keys of a stored identity (contract 2.3 c).
const (
	keyKubeconfig  = "kubeconfig"
	keyCluster     = "cluster-name"
	keyAgent       = "agent-name"
	keyCertificate = "tls.crt"
	keyPrivate     = "tls.key"
)

// Identity is what an agent is at its hub.
type Identity struct {
	Cluster, Agent string
	// Hub is where it is that.
	Hub Stanza
	// CertPEM and KeyPEM are the client certificate and its key.
	CertPEM, KeyPEM []byte

	leaf *x509.Certificate
}

// newIdentity checks that certificate and key fit each other and name the agent.
func newIdentity(cluster, agent string, hub Stanza, certPEM, keyPEM []byte) (*Identity, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the agent's certificate: %w", err)
	}
	leaf := pair.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("read the agent's certificate: %w", err)
		}
	}
	if leaf.Subject.CommonName != agentPrefix+cluster+":"+agent {
		return nil, errors.New("the certificate is not that of this cluster's agent")
	}
	return &Identity{Cluster: cluster, Agent: agent, Hub: hub, CertPEM: certPEM, KeyPEM: keyPEM, leaf: leaf}, nil
}

// parse reads an identity from the keys of its secret. Whoever the agent was is
// told also where the rest does not make an identity.
func parse(data map[string][]byte) (identity *Identity, cluster, agent string, err error) {
	cluster, agent = strings.TrimSpace(string(data[keyCluster])), strings.TrimSpace(string(data[keyAgent]))
	if len(data[keyKubeconfig]) == 0 {
		return nil, cluster, agent, errors.New("there is no kubeconfig")
	}
	config, err := clientcmd.Load(data[keyKubeconfig])
	if err != nil {
		return nil, cluster, agent, errors.New("the kubeconfig cannot be read") // not quoted: it may hold a secret
	}
	hub, _, err := current(config)
	if err != nil {
		return nil, cluster, agent, err
	}
	identity, err = newIdentity(cluster, agent, hub, data[keyCertificate], data[keyPrivate])
	return identity, cluster, agent, err
}

// data writes an identity as the keys of its secret.
func (i *Identity) data() (map[string][]byte, error) {
	cluster := i.Hub.Cluster()
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{i.Hub.Name: &cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"default-auth": {ClientCertificate: keyCertificate, ClientKey: keyPrivate}},
		Contexts:       map[string]*clientcmdapi.Context{"default-context": {Cluster: i.Hub.Name, AuthInfo: "default-auth", Namespace: "configuration"}},
		CurrentContext: "default-context",
	})
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of the agent: %w", err)
	}
	return map[string][]byte{
		keyKubeconfig: kubeconfig, keyCluster: []byte(i.Cluster), keyAgent: []byte(i.Agent),
		keyCertificate: i.CertPEM, keyPrivate: i.KeyPEM,
	}, nil
}

// Config signs in to the hub as the agent.
func (i *Identity) Config() *rest.Config {
	config := i.Hub.config()
	config.CertData, config.KeyData = i.CertPEM, i.KeyPEM
	return config
}

// Expires is when the certificate does.
func (i *Identity) Expires() time.Time { return i.leaf.NotAfter }

// unusable says why a stored identity does not do, "" if it does (contract 2.2.4).
// Without a bootstrap kubeconfig its hub cannot be compared.
func (a *Agent) unusable(i *Identity, b *Bootstrap, now time.Time) string {
	switch {
	case i == nil:
		return "there is no identity"
	case i.Cluster != a.cluster:
		return "the cluster has another name"
	case i.Agent != a.agent:
		return "the agent has another name"
	case !now.Before(i.leaf.NotAfter):
		return "the certificate has expired"
	case b == nil:
		return ""
	}
	return i.Hub.differs(b.Hub)
}

// newKey makes a key, and writes it as PEM.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// certificateForm is what a certificate request asks for, and how it is found again.
type certificateForm struct {
	prefix, signer string
	labels         map[string]string
	subject        pkix.Name
	names          []string // of hosts
}

// agentForm asks for a certificate of an agent.
func agentForm(cluster, agent string) *certificateForm {
	return &certificateForm{
		prefix: cluster + "-", signer: certificatesv1.KubeAPIServerClientSignerName, labels: map[string]string{ocmv1.ClusterNameLabel: cluster},
		subject: pkix.Name{CommonName: agentPrefix + cluster + ":" + agent, Organization: []string{agentPrefix + cluster, agentsGroup}},
	}
}

// body writes the request for a key.
func (f *certificateForm) body(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: f.subject, DNSNames: f.names}, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// belongs says whether a certificate is for a key.
func belongs(certPEM []byte, key *ecdsa.PrivateKey) bool {
	block, _ := pem.Decode(bytes.TrimSpace(certPEM))
	if block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	return err == nil && key.PublicKey.Equal(certificate.PublicKey)
}
