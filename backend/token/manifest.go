package token

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/fault"
)

// userPrefix starts the name of whoever signs in with a join token; the
// token's id follows (contract section 5.4).
const userPrefix = "system:bootstrap:"

// ManifestOptions are what a Manifest works with.
type ManifestOptions struct {
	// Secrets reads the Secret of the token that asks, as the hub itself.
	Secrets client.Reader
	Hub     Hub
	// Image runs the agent.
	Image string
	// Templates hold agentapi.ManifestTemplate.
	Templates fs.FS
}

// Manifest serves, at ManifestPath of the hub API, what `kubectl apply` needs to
// register a member. It belongs behind authentication; only holders of a join
// token get an answer, and only for clusters that the token admits. The token in
// the manifest is read from its Secret: authentication has taken it off the
// request.
type Manifest struct {
	ManifestOptions
	template string
}

// NewManifest returns a Manifest, or an error if the template is missing.
func NewManifest(options ManifestOptions) (*Manifest, error) {
	text, err := fs.ReadFile(options.Templates, agentapi.ManifestTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the agent's manifest: %w", err)
	}
	return &Manifest{ManifestOptions: options, template: string(text)}, nil
}

// ServeHTTP implements http.Handler.
func (m *Manifest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := m.render(r)
	if err != nil {
		known, ok := fault.As(err)
		if !ok {
			slog.Error("manifest could not be made", "error", err)
			http.Error(w, "the hub could not do this; its log has the reason", http.StatusInternalServerError)
			return
		}
		http.Error(w, strings.TrimSpace(known.Code+" "+known.Message+"\n"+known.Fix), statusOf(known.Kind))
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // a client that has gone needs no answer
}

func statusOf(kind fault.Kind) int {
	switch kind {
	case fault.KindUnauthenticated:
		return http.StatusUnauthorized
	case fault.KindForbidden:
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

func (m *Manifest) render(r *http.Request) ([]byte, error) {
	if r.Method != http.MethodGet {
		return nil, fault.Invalid("only GET is possible here")
	}
	user, ok := request.UserFrom(r.Context())
	id := ""
	if ok {
		id, ok = strings.CutPrefix(user.GetName(), userPrefix)
	}
	if !ok || !idPattern.MatchString(id) {
		return nil, fault.Forbidden("the manifest is for holders of a join token").WithFix("send the token as a bearer token")
	}
	query := r.URL.Query()
	cluster := query.Get("name")
	if !validClusterName(cluster) {
		return nil, fault.Invalid("%q cannot name a cluster", cluster).WithFix("put the cluster's name into the address: name=…")
	}
	var secret corev1.Secret
	err := m.Secrets.Get(r.Context(), client.ObjectKey{Namespace: Namespace, Name: SecretName(id)}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, fault.Unauthenticated("the token %s does not exist any more", id).WithCode(CodeUnknown).WithFix("make a new token")
	}
	if err != nil {
		return nil, fmt.Errorf("read token %s: %w", id, err)
	}
	known, err := FromSecret(&secret, time.Now())
	if err != nil {
		return nil, err
	}
	if err := known.Admits(cluster, time.Now()); err != nil {
		return nil, err
	}
	manifest := agentapi.Manifest{
		Hub: m.Hub.Address, CA: string(m.Hub.CA), Token: Text(&secret), ClusterName: cluster, Image: m.Image,
		Provider: query.Get("provider"), Region: query.Get("region"), Zones: splitList(query.Get("zones")),
	}
	return manifest.Render(m.template)
}
