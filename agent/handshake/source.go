package handshake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Stanza is how a kubeconfig reaches a hub. If any of it changes, an identity
// made with it counts no more: its name included (contract 2.2.4).
type Stanza struct {
	Name, Server, Proxy, ServerName string
	CA                              []byte
	Insecure                        bool
}

// differs says what of two stanzas does, "" if nothing.
func (s Stanza) differs(other Stanza) string {
	switch {
	case s.Server != other.Server:
		return "the hub has another address"
	case s.Proxy != other.Proxy:
		return "the hub has another proxy"
	case string(s.CA) != string(other.CA):
		return "the hub has another CA"
	case s.Name != other.Name:
		return "the hub has another name in the kubeconfig"
	}
	return ""
}

// Cluster returns the stanza for a kubeconfig.
func (s Stanza) Cluster() clientcmdapi.Cluster {
	return clientcmdapi.Cluster{Server: s.Server, ProxyURL: s.Proxy, TLSServerName: s.ServerName,
		CertificateAuthorityData: s.CA, InsecureSkipTLSVerify: s.Insecure}
}

// config reaches the hub without an identity.
func (s Stanza) config() *rest.Config {
	cluster := s.Cluster()
	config, err := clientcmd.NewDefaultClientConfig(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{s.Name: &cluster},
		Contexts:       map[string]*clientcmdapi.Context{"hub": {Cluster: s.Name}},
		CurrentContext: "hub",
	}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil { // a proxy that is no URL; the first request would fail anyhow
		config = &rest.Config{Host: s.Server, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA, ServerName: s.ServerName, Insecure: s.Insecure}}
	}
	return config
}

// Bootstrap is a bootstrap kubeconfig, read.
type Bootstrap struct {
	Hub    Stanza
	Config *rest.Config
	// Fingerprint changes with anything that the kubeconfig says or refers to.
	Fingerprint string
}

// Source is where a bootstrap kubeconfig comes from.
type Source interface {
	// Load reads it as it is now.
	Load(ctx context.Context) (*Bootstrap, error)
	// Every is how often it may be read.
	Every() time.Duration
	// String names it in messages.
	String() string
}

// File is a kubeconfig in a file. What it refers to lies beside it.
type File string

// Every implements Source.
func (f File) Every() time.Duration { return time.Second }

// String implements Source.
func (f File) String() string { return "the bootstrap kubeconfig " + string(f) }

// Load implements Source.
func (f File) Load(context.Context) (*Bootstrap, error) {
	config, err := clientcmd.LoadFromFile(string(f))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("open %s: %w", string(f), os.ErrNotExist)
		}
		return nil, errors.New("it is no kubeconfig") // not quoted: it may hold a secret
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return nil, fmt.Errorf("find the files it refers to: %w", err)
	}
	return newBootstrap(config, os.ReadFile)
}

// SecretKey is a kubeconfig in the key "kubeconfig" of a Secret. What it refers to
// are further keys.
type SecretKey struct {
	Client          kubernetes.Interface
	Namespace, Name string
}

// Every implements Source.
func (s SecretKey) Every() time.Duration { return 5 * time.Second }

// String implements Source.
func (s SecretKey) String() string {
	return "the bootstrap kubeconfig in secret " + s.Namespace + "/" + s.Name
}

// Load implements Source.
func (s SecretKey) Load(ctx context.Context) (*Bootstrap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(secret.Data[keyKubeconfig])
	if err != nil {
		return nil, errors.New("its key kubeconfig is no kubeconfig")
	}
	return newBootstrap(config, func(key string) ([]byte, error) {
		data, ok := secret.Data[key]
		if !ok {
			return nil, fmt.Errorf("the secret has no key %q", key)
		}
		return data, nil
	})
}

// newBootstrap takes what files a kubeconfig refers to into it.
func newBootstrap(config *clientcmdapi.Config, read func(name string) ([]byte, error)) (*Bootstrap, error) {
	if entry := config.Contexts[config.CurrentContext]; entry != nil {
		if cluster := config.Clusters[entry.Cluster]; cluster != nil {
			if err := takeIn(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData, read); err != nil {
				return nil, err
			}
		}
		if user := config.AuthInfos[entry.AuthInfo]; user != nil {
			if err := takeInUser(user, read); err != nil {
				return nil, err
			}
		}
	}
	hub, _, err := current(config)
	if err != nil {
		return nil, err
	}
	flat, err := clientcmd.Write(*config)
	if err != nil {
		return nil, errors.New("it cannot be written as one file")
	}
	sum := sha256.Sum256(flat)
	reach, err := clientcmd.RESTConfigFromKubeConfig(flat)
	if err != nil {
		return nil, errors.New("it does not say how to sign in")
	}
	return &Bootstrap{Hub: hub, Config: reach, Fingerprint: hex.EncodeToString(sum[:])}, nil
}

func takeInUser(user *clientcmdapi.AuthInfo, read func(string) ([]byte, error)) error {
	if err := takeIn(&user.ClientCertificate, &user.ClientCertificateData, read); err != nil {
		return err
	}
	if err := takeIn(&user.ClientKey, &user.ClientKeyData, read); err != nil {
		return err
	}
	token := []byte(user.Token)
	if err := takeIn(&user.TokenFile, &token, read); err != nil {
		return err
	}
	user.Token = strings.TrimSpace(string(token))
	return nil
}

func takeIn(name *string, data *[]byte, read func(string) ([]byte, error)) error {
	if *name == "" {
		return nil
	}
	content, err := read(*name)
	if err != nil {
		return err
	}
	*name, *data = "", slices.Clone(content)
	return nil
}

// current returns the stanza and the user of a kubeconfig's current context.
func current(config *clientcmdapi.Config) (Stanza, *clientcmdapi.AuthInfo, error) {
	entry := config.Contexts[config.CurrentContext]
	if entry == nil {
		return Stanza{}, nil, errors.New("the kubeconfig has no current context")
	}
	cluster := config.Clusters[entry.Cluster]
	if cluster == nil || cluster.Server == "" {
		return Stanza{}, nil, errors.New("the current context of the kubeconfig names no server")
	}
	return Stanza{Name: entry.Cluster, Server: cluster.Server, Proxy: cluster.ProxyURL, ServerName: cluster.TLSServerName,
		CA: cluster.CertificateAuthorityData, Insecure: cluster.InsecureSkipTLSVerify}, config.AuthInfos[entry.AuthInfo], nil
}
