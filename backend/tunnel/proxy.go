package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// Members tells how to reach a member as its impersonating account.
type Members interface {
	Endpoint(ctx context.Context, cluster *clusterv1alpha1.Cluster) (kube.Endpoint, error)
	SecretChanged(name types.NamespacedName)
}

// Proxy serves clusters/{name}/proxy (contract section 12): a request to the hub
// goes on to the member's API server, in the name of the hub's user and with
// nothing of what the user's client sent to say who it is. The member's own roles
// judge it then.
type Proxy struct{ members Members }

// NewProxy returns a Proxy to the members.
func NewProxy(members Members) *Proxy { return &Proxy{members: members} }

// Handler returns how to serve one request of a user for a path of a member. The
// hub has authorized the user for it. An error is a reason why the member cannot
// be reached at all.
func (p *Proxy) Handler(ctx context.Context, cluster *clusterv1alpha1.Cluster, path string, who user.Info) (http.Handler, error) {
	location, forward, err := p.way(ctx, cluster, path, who)
	if lacking := new(unaidedError); isProbe(path) && errors.As(err, lacking) {
		return explain(*lacking), nil
	}
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := *location
		target.RawQuery = r.URL.RawQuery
		handler := utilproxy.NewUpgradeAwareHandler(&target, forward, false, false, responder{})
		handler.UpgradeTransport = utilproxy.NewUpgradeRequestRoundTripper(forward.base, upgrader{forward})
		handler.UseLocationHost = true
		handler.FlushInterval = -1 // watches and logs are read as they come
		handler.ServeHTTP(w, r)
	}), nil
}

// way is where a path of a member is, and what takes a user's requests there.
func (p *Proxy) way(ctx context.Context, cluster *clusterv1alpha1.Cluster, path string, who user.Info) (*url.URL, *forwarder, error) {
	identity, err := impersonate(who)
	if err != nil {
		return nil, nil, err
	}
	ref := cluster.Spec.ImpersonatorSecretRef
	if ref == nil {
		return nil, nil, unaided(cluster)
	}
	endpoint, err := p.members.Endpoint(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	location, err := locate(endpoint.URL, path)
	if err != nil {
		return nil, nil, err
	}
	return location, &forwarder{
		base: endpoint.Transport, identity: identity, token: endpoint.ImpersonatorToken,
		refused: func() { p.members.SecretChanged(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}) },
	}, nil
}

// locate is the member's URL of a path. A path may not leave the endpoint's own,
// where one server speaks for several clusters.
func locate(endpoint *url.URL, path string) (*url.URL, error) {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == ".." || segment == "." {
			return nil, apierrors.NewBadRequest("the path may not hold . or ..")
		}
	}
	location := *endpoint
	location.RawPath, location.RawQuery, location.Fragment = "", "", ""
	location.Path = strings.TrimSuffix(endpoint.Path, "/")
	if path = strings.TrimPrefix(path, "/"); path != "" {
		location.Path += "/" + path
	}
	return &location, nil
}

// impersonate are the headers that say whom a request is for (contract section
// 12.2 step 3): name and groups, but not the groups that every request gets.
func impersonate(who user.Info) (http.Header, error) {
	if who == nil || who.GetName() == "" {
		return nil, errors.New("proxy to a member: the request has no user")
	}
	header := http.Header{}
	header.Set("Impersonate-User", who.GetName())
	for _, group := range who.GetGroups() {
		if group != user.AllAuthenticated && group != user.AllUnauthenticated {
			header.Add("Impersonate-Group", group)
		}
	}
	for _, values := range header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value {
				return nil, apierrors.NewBadRequest("the user's name or a group of it cannot be sent to a member")
			}
		}
	}
	return header, nil
}

// forwarder sends requests to the member with our headers in place of the
// client's. It comes last, after the reverse proxy has taken out what the client
// declared as meant for the next hop, so that a client can name our headers there
// in vain.
type forwarder struct {
	base     *http.Transport
	identity http.Header
	token    string
	refused  func()
}

// RoundTrip implements http.RoundTripper.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := f.base.RoundTrip(f.dress(r))
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusUnauthorized {
		f.refused()
	}
	response.Header.Del("Set-Cookie") // the hub's address is not the member's to mark
	return response, nil
}

// dress returns a copy of a request as the member shall see it.
func (f *forwarder) dress(r *http.Request) *http.Request {
	dressed := r.Clone(r.Context())
	dressed.Trailer = nil
	for key := range dressed.Header {
		if tellsIdentity(key) {
			delete(dressed.Header, key)
		}
	}
	dropTokenProtocols(dressed.Header)
	for key, values := range f.identity {
		dressed.Header[key] = slices.Clone(values)
	}
	dressed.Header.Set("Authorization", "Bearer "+f.token)
	return dressed
}

// tellsIdentity says whether a header could be taken, by the member or by
// anything before it, for a statement of who is asking. Some servers read an
// underscore as a dash.
func tellsIdentity(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(textproto.TrimString(key)), "_", "-")
	switch key {
	case "authorization", "cookie", "proxy-authorization", "x-forwarded-user", "x-forwarded-groups":
		return true
	}
	return strings.HasPrefix(key, "impersonate-") || strings.HasPrefix(key, "x-remote-")
}

// tokenProtocol starts the WebSocket subprotocol by which browsers send a token.
const tokenProtocol = "base64url.bearer.authorization.k8s.io."

func dropTokenProtocols(header http.Header) {
	const key = "Sec-Websocket-Protocol"
	var kept []string
	dropped := false
	for _, value := range header[key] {
		for protocol := range strings.SplitSeq(value, ",") {
			if protocol = strings.TrimSpace(protocol); strings.HasPrefix(protocol, tokenProtocol) {
				dropped = true
			} else if protocol != "" {
				kept = append(kept, protocol)
			}
		}
	}
	if dropped {
		header.Del(key)
		if len(kept) > 0 {
			header.Set(key, strings.Join(kept, ", "))
		}
	}
}

// upgrader dresses a request that opens an upgraded connection (exec, attach,
// port-forward). The handler writes it to a connection of its own and copies
// bytes only after the member has answered 101.
type upgrader struct{ *forwarder }

// RoundTrip implements http.RoundTripper; it sends nothing.
func (u upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	dressed := u.dress(r)
	dressed.Header.Set("Connection", "Upgrade") // and nothing else that the client lists there
	return utilproxy.MirrorRequest.RoundTrip(dressed)
}

// responder tells the client that the member could not be reached: a Status
// without a reason, as clients of the field expect (contract section 12.2).
type responder struct{}

// Error implements proxy.ErrorResponder.
func (responder) Error(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there to be told
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Sprintf("the member cannot be reached: %v", err),
	}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status always encodes
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write(body)
}
