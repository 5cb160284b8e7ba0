package kube

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// maxIdentities bounds the clients an Impersonator keeps.
const maxIdentities = 1024

// User is who a request is made for.
type User interface {
	// User is the name the hub API knows the caller by.
	User() string
	// Groups are the groups the hub's roles are bound to.
	Groups() []string
}

// ImpersonatorOptions vary an Impersonator.
type ImpersonatorOptions struct {
	// AuditID returns the id under which the API server's audit event of a
	// request shall appear, or nothing to let the server draw one.
	AuditID func(ctx context.Context) string
}

// Impersonator makes clients of the hub API that act as a signed-in user, so
// that the hub's roles judge what comes in by REST as they judge kubectl.
type Impersonator struct {
	hub     *rest.Config
	options ImpersonatorOptions

	mu      sync.Mutex
	base    http.RoundTripper // shared by all identities, carries the hub's credential
	mapper  meta.RESTMapper
	clients map[string]client.Client
}

// NewImpersonator returns an Impersonator that reaches the hub API with hub's
// credential, which must be allowed to impersonate. It does not connect.
func NewImpersonator(hub *rest.Config, options ImpersonatorOptions) *Impersonator {
	return &Impersonator{hub: rest.CopyConfig(hub), options: options, clients: map[string]client.Client{}}
}

// As returns the client of one identity. Clients are kept and safe for use by
// several goroutines; they read from the API, never from a cache, because a
// cache would answer with what its own identity may see.
func (i *Impersonator) As(u User) (client.Client, error) {
	groups := slices.Sorted(slices.Values(u.Groups()))
	if u.User() == "" || len(groups) == 0 {
		return nil, fmt.Errorf("impersonate %q: an identity has a name and a group", u.User())
	}
	key := strings.Join(append([]string{u.User()}, groups...), "\x00")
	i.mu.Lock()
	defer i.mu.Unlock()
	if known, ok := i.clients[key]; ok {
		return known, nil
	}
	if err := i.prepare(); err != nil {
		return nil, err
	}
	made, err := i.client(u.User(), groups)
	if err != nil {
		return nil, err
	}
	if len(i.clients) >= maxIdentities {
		clear(i.clients) // cheap to make again: they share transport and mapper
	}
	i.clients[key] = made
	return made, nil
}

func (i *Impersonator) prepare() error {
	if i.base != nil {
		return nil
	}
	base, err := rest.TransportFor(i.hub)
	if err != nil {
		return fmt.Errorf("build hub transport: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(i.hub, &http.Client{Transport: base})
	if err != nil {
		return fmt.Errorf("build hub mapper: %w", err)
	}
	i.base, i.mapper = base, mapper
	return nil
}

func (i *Impersonator) client(user string, groups []string) (client.Client, error) {
	var roundTripper http.RoundTripper = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user, Groups: groups}, i.base)
	if i.options.AuditID != nil {
		roundTripper = auditing{base: roundTripper, id: i.options.AuditID}
	}
	made, err := client.New(i.hub, client.Options{Scheme: Scheme(), Mapper: i.mapper, HTTPClient: &http.Client{Transport: roundTripper}})
	if err != nil {
		return nil, fmt.Errorf("build client of %s: %w", user, err)
	}
	return made, nil
}

// auditing names the audit event of each request.
type auditing struct {
	base http.RoundTripper
	id   func(context.Context) string
}

func (a auditing) RoundTrip(r *http.Request) (*http.Response, error) {
	if id := a.id(r.Context()); id != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Audit-ID", id)
	}
	return a.base.RoundTrip(r)
}
