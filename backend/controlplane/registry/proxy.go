package registry

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// proxyPathParameter is the option that the rest of the request's path arrives in.
const proxyPathParameter = "path"

// ProxyFunc returns the handler that passes one request on to a member (contract section 12). The path is what follows "proxy" in the
// request: empty, or with a leading slash. The user is who the hub has authenticated. The handler answers the request as a whole,
// upgrades included. A returned error is answered as a Status.
type ProxyFunc func(ctx context.Context, cluster *clusterv1alpha1.Cluster, path string, user user.Info) (http.Handler, error)

// proxyREST serves clusters/{name}/proxy.
type proxyREST struct {
	clusters rest.Getter
	proxy    ProxyFunc
}

var (
	_ rest.Storage   = &proxyREST{}
	_ rest.Connecter = &proxyREST{}
)

// New returns the options of a request, whose kind discovery shows for the subresource.
func (p *proxyREST) New() runtime.Object { return &clusterv1alpha1.ClusterProxyOptions{} }

// Destroy does nothing: the clusters' store is destroyed by its owner.
func (p *proxyREST) Destroy() {}

// ConnectMethods returns the methods that are passed on.
func (p *proxyREST) ConnectMethods() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions}
}

// NewConnectOptions says that the rest of the path belongs to the options.
func (p *proxyREST) NewConnectOptions() (runtime.Object, bool, string) {
	return &clusterv1alpha1.ClusterProxyOptions{}, true, proxyPathParameter
}

// Connect returns the handler for one request.
func (p *proxyREST) Connect(ctx context.Context, name string, options runtime.Object, _ rest.Responder) (http.Handler, error) {
	proxyOptions, ok := options.(*clusterv1alpha1.ClusterProxyOptions)
	if !ok {
		return nil, apierrors.NewBadRequest("the options of a proxy request are missing")
	}
	requester, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewUnauthorized("a request to a member needs a user")
	}
	obj, err := p.clusters.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if p.proxy == nil {
		return nil, apierrors.NewServiceUnavailable("this hub does not proxy to members")
	}
	return p.proxy(ctx, obj.(*clusterv1alpha1.Cluster), proxyOptions.Path, requester)
}
