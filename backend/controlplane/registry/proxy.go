package registry

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
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

// ProxyAllFunc returns the handler of a request for all members at once, as ProxyFunc does for one.
type ProxyAllFunc func(ctx context.Context, clusters []clusterv1alpha1.Cluster, path string, user user.Info) (http.Handler, error)

// allClusters stands for all members in place of a name (contract section 12.1). Roles that name clusters do not cover it.
const allClusters = "*"

// readClusters is what a proxy reads clusters from.
type readClusters interface {
	rest.Getter
	List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error)
}

// proxyREST serves clusters/{name}/proxy.
type proxyREST struct {
	clusters readClusters
	proxy    ProxyFunc
	all      ProxyAllFunc
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
	if name == allClusters {
		return p.connectAll(ctx, proxyOptions.Path, requester)
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

func (p *proxyREST) connectAll(ctx context.Context, path string, requester user.Info) (http.Handler, error) {
	if p.all == nil {
		return nil, apierrors.NewServiceUnavailable("this hub does not proxy to all members at once")
	}
	list, err := p.clusters.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return p.all(ctx, list.(*clusterv1alpha1.ClusterList).Items, path, requester)
}
