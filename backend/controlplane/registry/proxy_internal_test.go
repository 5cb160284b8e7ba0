package registry

import (
	"context"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// twoClusters are a and b.
type twoClusters struct{}

func (twoClusters) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name != "a" && name != "b" {
		return nil, apierrors.NewNotFound(clusterv1alpha1.Resource("clusters"), name)
	}
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func (twoClusters) List(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
	return &clusterv1alpha1.ClusterList{Items: []clusterv1alpha1.Cluster{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}}, nil
}

// TestProxyConnect: one name is one member, * is all of them.
func TestProxyConnect(t *testing.T) {
	jo := request.WithUser(context.Background(), &user.DefaultInfo{Name: "jo"})
	for _, c := range []struct {
		name, cluster string
		ctx           context.Context
		deaf          bool
		asked         string
		failed        func(error) bool
	}{
		{name: "one", cluster: "b", ctx: jo, asked: "b/api jo"},
		{name: "all", cluster: "*", ctx: jo, asked: "a,b/api jo"},
		{name: "none of that name", cluster: "c", ctx: jo, failed: apierrors.IsNotFound},
		{name: "nobody asks", cluster: "*", ctx: context.Background(), failed: apierrors.IsUnauthorized},
		{name: "one, without a proxy", cluster: "a", ctx: jo, deaf: true, failed: apierrors.IsServiceUnavailable},
		{name: "all, without a proxy", cluster: "*", ctx: jo, deaf: true, failed: apierrors.IsServiceUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked string
			served := &proxyREST{clusters: twoClusters{}}
			if !c.deaf {
				served.all = func(_ context.Context, clusters []clusterv1alpha1.Cluster, path string, who user.Info) (http.Handler, error) {
					var names []string
					for _, cluster := range clusters {
						names = append(names, cluster.Name)
					}
					asked = strings.Join(names, ",") + path + " " + who.GetName()
					return http.NotFoundHandler(), nil
				}
				served.proxy = func(ctx context.Context, cluster *clusterv1alpha1.Cluster, path string, who user.Info) (http.Handler, error) {
					asked = cluster.Name + path + " " + who.GetName()
					return http.NotFoundHandler(), nil
				}
			}
			_, err := served.Connect(c.ctx, c.cluster, &clusterv1alpha1.ClusterProxyOptions{Path: "/api"}, nil)
			if c.failed != nil && !c.failed(err) || c.failed == nil && err != nil {
				t.Errorf("error %v", err)
			}
			if asked != c.asked {
				t.Errorf("asked %q, want %q", asked, c.asked)
			}
		})
	}
}
