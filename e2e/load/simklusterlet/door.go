package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"muster.dev/muster/agent/handshake"
)

// Who introduces clusters.
const (
	accountSpace = "open-cluster-management"
	account      = "agent-registration-bootstrap"
)

// door is where all agents introduce themselves.
type door struct {
	server, token string
	ca            []byte
}

// openDoor asks the hub for a token, as "clusteradm get token" does.
func openDoor(ctx context.Context, kubeconfig string) (*door, error) {
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	granted, err := client.CoreV1().ServiceAccounts(accountSpace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for a bootstrap token: %w", err)
	}
	return &door{server: admin.Host, token: granted.Status.Token, ca: admin.CAData}, nil
}

// source is the bootstrap kubeconfig of one agent. Clients share connections if
// all of their TLS settings are alike; a line after the CA tells those of two
// agents apart, which are two machines.
func (d *door) source(cluster string) handshake.Source {
	ca := append(append([]byte{}, d.ca...), []byte("\n"+cluster+"\n")...)
	return &source{handshake.Bootstrap{
		Hub:         handshake.Stanza{Name: "hub", Server: d.server, CA: ca},
		Config:      &rest.Config{Host: d.server, BearerToken: d.token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}},
		Fingerprint: "unchanged",
	}}
}

// source is a handshake.Source that never changes.
type source struct{ bootstrap handshake.Bootstrap }

// Load implements handshake.Source.
func (s *source) Load(context.Context) (*handshake.Bootstrap, error) { return &s.bootstrap, nil }

// Every implements handshake.Source.
func (s *source) Every() time.Duration { return time.Hour }

// String implements handshake.Source.
func (s *source) String() string { return "the simulated bootstrap kubeconfig" }

// memory is a handshake.Store that forgets when the program ends.
type memory struct {
	mu   sync.Mutex
	data map[string][]byte
}

// Read implements handshake.Store.
func (m *memory) Read(context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data, nil
}

// Write implements handshake.Store.
func (m *memory) Write(_ context.Context, data map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = data
	return nil
}

// Load implements handshake.Store. An agent reads its identity back only when its
// process starts anew, which agents here do not.
func (m *memory) Load(context.Context) (*handshake.Identity, error) { return nil, nil }
