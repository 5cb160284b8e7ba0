// Package controlplane runs the Kubernetes-style API that Muster's objects live in.
//
// It owns the hub's API server, its storage, its certificate authority and the
// few Kubernetes controllers that clients of the hub rely on (contract
// karmada.md section 0). It knows no domain: what Muster adds to requests
// (admission, authorization, audit, extra paths, the cluster proxy) is handed
// in by app as Options.
//
// There are two planes: Embedded is an API server in this process, External an
// existing Kubernetes API, which is given the same admission as webhooks.
package controlplane

import (
	"context"
	"io/fs"
	"net/http"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane/registry"
	"muster.dev/muster/backend/controlplane/webhook"
)

// Plane is a Kubernetes-style API that holds the hub's objects.
type Plane interface {
	// Start serves until ctx ends and returns after everything has stopped.
	Start(ctx context.Context) error
	// Ready returns nil once the API serves and its roles and kinds exist, else why
	// not.
	Ready() error
	// Config is how the hub itself reaches the API, with all rights and no
	// client-side rate limit.
	Config() *rest.Config
	// Direct is the hub's short way to objects that this process stores, nil if it
	// stores none.
	Direct() *registry.Direct
	// CA is the certificate authority, in PEM, that members verify the hub API's
	// serving certificate with. Embedded knows it from the start, External once
	// it serves.
	CA() []byte
	// Serving is closed once the plane is ready for the first time.
	Serving() <-chan struct{}
}

// Admission is one step of admission, run in process on one plane and behind
// webhooks on the other. Both methods see every create, update, delete and connect
// request (behind webhooks, those that the API is told to ask about); they return
// nil for what is not theirs. An error of apimachinery's kind reaches the client
// with its own code.
type Admission = webhook.Admission

// Options says where a plane keeps its data, where it listens, and what the
// domains add to it.
type Options struct {
	// DataDir is the directory that holds PKI and storage.
	DataDir string
	// Listen is the host:port of the hub API.
	Listen string
	// Advertise is the host:port under which members reach the hub API; it goes
	// into the serving certificate, cluster-info and the admin kubeconfig.
	Advertise string
	// CertHosts are further names and addresses in the serving certificate.
	CertHosts []string
	// CRDs holds the custom resource definitions to install, one or more YAML
	// documents a file, at its root.
	CRDs fs.FS
	// Audit receives the audit events of AuditPolicy.
	Audit audit.Backend
	// AuditPolicy says which requests are audited.
	AuditPolicy audit.PolicyRuleEvaluator
	// Authorizers are asked in order before RBAC; an allow or deny is final.
	Authorizers []authorizer.Authorizer
	// Admission steps run before admission webhooks, in order.
	Admission []Admission
	// Handlers are extra exact paths served behind authentication and
	// authorization; they may hijack HTTP/1.1 connections.
	Handlers map[string]http.Handler
	// Middleware wraps the whole handler chain, authentication included.
	Middleware func(http.Handler) http.Handler
	// Proxy serves clusters/{name}/proxy.
	Proxy registry.ProxyFunc
	// ProxyAll serves clusters/*/proxy.
	ProxyAll registry.ProxyAllFunc
	// Bootstrap writes what the domains want to exist before the plane is ready,
	// when roles do; kinds may be missing then. May be nil.
	Bootstrap func(ctx context.Context, config *rest.Config) error
	// Later is closed when Kubernetes' own controllers may begin, which read all
	// there is and which nobody waits for; nil: as soon as the plane is ready.
	Later <-chan struct{}
}
