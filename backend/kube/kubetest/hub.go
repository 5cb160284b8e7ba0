// Package kubetest gives tests of controllers a hub to work on: an API server in
// a process of its own that serves our kinds as custom resources. The product
// serves them by a typed registry; controllers see no difference, except that
// admission and authorization of the domains are missing here.
package kubetest

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/kube"
)

// awaitLimit bounds Await; awaitEvery is how often it looks.
const (
	awaitLimit = 2 * time.Minute
	awaitEvery = 5 * time.Millisecond
)

// Hub is the API server and an administrator's client that reads from it, not
// from a cache.
type Hub struct {
	*controlplanetest.Member
	Client client.Client
}

// StartHub starts a hub that ends with the test, with the hub's namespaces and
// the kinds that the typed registry serves.
func StartHub(t testing.TB) *Hub {
	t.Helper()
	h := &Hub{Member: controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hub"})}
	direct, err := client.New(h.Config(), client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	h.Client = direct
	h.installKinds(t)
	for _, name := range []string{apis.SystemNamespace, apis.ClusterNamespace} {
		h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return h
}

// Config is an administrator's client configuration without limits or warnings.
func (h *Hub) Config() *rest.Config {
	config := h.Member.Config()
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config
}

func (h *Hub) installKinds(t testing.TB) {
	t.Helper()
	for _, k := range []struct {
		group, version, kind, plural string
		scope                        apiextensionsv1.ResourceScope
	}{
		{clusterv1alpha1.GroupName, "v1alpha1", "Cluster", "clusters", apiextensionsv1.ClusterScoped},
		{workv1alpha1.GroupName, "v1alpha1", "Work", "works", apiextensionsv1.NamespaceScoped},
		{workv1alpha2.GroupName, "v1alpha2", "ResourceBinding", "resourcebindings", apiextensionsv1.NamespaceScoped},
		{workv1alpha2.GroupName, "v1alpha2", "ClusterResourceBinding", "clusterresourcebindings", apiextensionsv1.ClusterScoped},
	} {
		h.Create(t, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: k.plural + "." + k.group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: k.group, Scope: k.scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: k.plural, Singular: strings.ToLower(k.kind), Kind: k.kind, ListKind: k.kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: k.version, Served: true, Storage: true,
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
					Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
				}},
			},
		})
	}
	h.Await(t, "kinds", func(ctx context.Context) bool {
		for _, list := range []client.ObjectList{&clusterv1alpha1.ClusterList{}, &workv1alpha1.WorkList{}, &workv1alpha2.ResourceBindingList{}, &workv1alpha2.ClusterResourceBindingList{}} {
			if h.Client.List(ctx, list) != nil {
				return false
			}
		}
		return true
	})
}

// Run runs a manager until the test ends and returns once its cache is filled.
func (h *Hub) Run(t testing.TB, manager ctrl.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if !manager.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache was not filled")
	}
}

// Create makes an object unless it exists.
func (h *Hub) Create(t testing.TB, object client.Object) {
	t.Helper()
	if err := h.Client.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// Gone tells that an object does not exist.
func (h *Hub) Gone(ctx context.Context, key client.ObjectKey, object client.Object) bool {
	return apierrors.IsNotFound(h.Client.Get(ctx, key, object))
}

// Await waits until a condition holds and returns how long that took.
func (h *Hub) Await(t testing.TB, what string, holds func(context.Context) bool) time.Duration {
	t.Helper()
	began := time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), awaitEvery, awaitLimit, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
	return time.Since(began)
}
