package handshake

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// IdentitySecret is the name of the Secret that holds the identity.
const IdentitySecret = "hub-kubeconfig-secret"

// Store keeps the identity.
type Store interface {
	// Read returns the keys that are kept; none is no error.
	Read(ctx context.Context) (map[string][]byte, error)
	// Write keeps all keys at once.
	Write(ctx context.Context, data map[string][]byte) error
	// Load returns the identity, nil if there is none that can be read.
	Load(ctx context.Context) (*Identity, error)
}

// load is Load of every store.
func load(ctx context.Context, s Store) (*Identity, error) {
	data, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	identity, _, _, err := parse(data)
	if err != nil {
		return nil, nil //nolint:nilerr // what does not make an identity is made anew
	}
	return identity, nil
}

// SecretStore keeps the identity in a Secret beside the agent.
type SecretStore struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// MakeNamespace makes the namespace if it is missing: for agents that nobody
	// installed.
	MakeNamespace bool
}

// Load implements Store.
func (s *SecretStore) Load(ctx context.Context) (*Identity, error) { return load(ctx, s) }

// Read implements Store.
func (s *SecretStore) Read(ctx context.Context) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// Write implements Store. A new Secret is made with all keys at once.
func (s *SecretStore) Write(ctx context.Context, data map[string][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secrets := s.Client.CoreV1().Secrets(s.Namespace)
	fresh := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}, Type: corev1.SecretTypeOpaque, Data: data}
	_, err := secrets.Create(ctx, fresh, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) && s.MakeNamespace {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
		if _, err := s.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", s.Namespace, err)
		}
		_, err = secrets.Create(ctx, fresh, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			secret, err := secrets.Get(ctx, s.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			for key, value := range data { // others may keep keys of theirs
				secret.Data[key] = value
			}
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}

// Dir keeps the identity in a directory, a file for each key.
type Dir string

// Load implements Store.
func (d Dir) Load(ctx context.Context) (*Identity, error) { return load(ctx, d) }

// Read implements Store.
func (d Dir) Read(context.Context) (map[string][]byte, error) {
	data := map[string][]byte{}
	for _, key := range []string{keyKubeconfig, keyCluster, keyAgent, keyCertificate, keyPrivate} {
		content, err := os.ReadFile(filepath.Join(string(d), key))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the identity: %w", err)
		}
		data[key] = content
	}
	return data, nil
}

// Write implements Store. The kubeconfig comes last: who waits for it finds the
// rest.
func (d Dir) Write(_ context.Context, data map[string][]byte) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("keep the identity: %w", err)
	}
	for _, key := range []string{keyCluster, keyAgent, keyPrivate, keyCertificate, keyKubeconfig} {
		path := filepath.Join(string(d), key)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data[key]) {
			continue
		}
		if err := os.WriteFile(path+".new", data[key], 0o600); err != nil {
			return fmt.Errorf("keep the identity: %w", err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return fmt.Errorf("keep the identity: %w", err)
		}
	}
	return nil
}

// Mirror is a store whose identity is copied to a directory, for those who read
// files.
type Mirror struct {
	Store
	Dir Dir
}

// Load implements Store.
func (m Mirror) Load(ctx context.Context) (*Identity, error) {
	data, err := m.Read(ctx)
	if err != nil {
		return nil, err
	}
	identity, _, _, err := parse(data)
	if err != nil {
		return nil, nil //nolint:nilerr // as for every store
	}
	return identity, m.Dir.Write(ctx, data)
}

// Write implements Store.
func (m Mirror) Write(ctx context.Context, data map[string][]byte) error {
	if err := m.Store.Write(ctx, data); err != nil {
		return err
	}
	return m.Dir.Write(ctx, data)
}

// recall finds out who the agent is: as told, else as stored, else invented.
func (a *Agent) recall(ctx context.Context) (*Identity, error) {
	var stored *Identity
	var cluster, agent string
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		data, err := a.o.Store.Read(ctx)
		if err == nil {
			stored, cluster, agent, _ = parse(data)
			break
		}
		a.log.Warn("the identity cannot be read", "error", err, "retry", pause)
		if wait(ctx, pause); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	a.cluster, a.agent = a.o.Cluster, a.o.Agent
	if a.cluster == "" {
		a.cluster = cluster
	}
	if a.cluster == "" {
		a.cluster = string(uuid.NewUUID())
	}
	if a.agent == "" && cluster == a.cluster {
		a.agent = agent
	}
	if a.agent == "" {
		a.agent = randomName()
	}
	return stored, nil
}

// turnOf finds the bootstrap kubeconfig of the hub that an identity is of.
func (a *Agent) turnOf(ctx context.Context, i *Identity) int {
	if i == nil {
		return 0
	}
	for turn, source := range a.o.Bootstraps {
		if b, err := source.Load(ctx); err == nil && i.Hub.differs(b.Hub) == "" {
			return turn
		}
	}
	return 0
}

// randomName is five characters that tell agents apart.
func randomName() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	name := make([]byte, 5)
	_, _ = rand.Read(name) // never fails
	for i, b := range name {
		name[i] = letters[int(b)%len(letters)]
	}
	return string(name)
}
