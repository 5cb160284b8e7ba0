package app

import (
	"net/http"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/deploy"
)

// planeOptions hang what the domains decide into the API server.
func (a *App) planeOptions() controlplane.Options {
	options := controlplane.Options{
		DataDir:     a.config.DataDir,
		Listen:      a.config.Listen,
		Advertise:   a.config.Advertise,
		CertHosts:   a.config.CertHosts,
		CRDs:        deploy.CRDs(),
		Audit:       audit.NewBackend(a.audit),
		AuditPolicy: audit.Policy{},
		Authorizers: []authorizer.Authorizer{a.authorizer},
		Admission:   []controlplane.Admission{a.admission, a.policies},
		Handlers:    map[string]http.Handler{agentapi.LinkPath: http.HandlerFunc(a.link), token.ManifestPath: http.HandlerFunc(a.manifest)},
		Middleware:  a.observe,
		Proxy:       a.proxy,
		ProxyAll:    a.proxyAll,
		Later:       a.serving,
	}
	a.addManaged(&options)
	return options
}

// observe sees what agents do before any controller could: what of it belongs to
// the record of a registration, and when their certificates were issued.
func (a *App) observe(next http.Handler) http.Handler {
	return identity.NoteIssue(registration.Observe(lateTokens{a}, lateStages{a})(next))
}
