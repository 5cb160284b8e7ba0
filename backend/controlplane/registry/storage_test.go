package registry_test

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/controlplane/registry"
)

// etcdReady bounds the start of etcd on a busy machine.
const etcdReady = time.Minute

// startGroups returns the storage of each resource over a real etcd.
func startGroups(t *testing.T, proxy registry.ProxyFunc) map[string]rest.Storage {
	t.Helper()
	return storages(groupsOverEtcd(t, proxy).Infos)
}

// groupsOverEtcd are the typed groups over a real etcd in this process, without a socket for its peers.
func groupsOverEtcd(t *testing.T, proxy registry.ProxyFunc) *registry.Groups {
	t.Helper()
	config := embed.NewConfig()
	config.Dir = t.TempDir()
	config.LogLevel = "error"
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(t.TempDir(), "etcd.sock")}}
	config.UnsafeNoFsync = true
	config.TickMs, config.ElectionMs = 10, 100
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	select {
	case <-etcd.Server.ReadyNotify():
	case <-time.After(etcdReady):
		t.Fatal("etcd did not start")
	}
	etcdOptions := options.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	etcdOptions.StorageConfig.CountMetricPollPeriod = 0
	client := v3client.New(etcd.Server)
	t.Cleanup(func() { _ = client.Close() })
	backend := registry.NewBackend(func() *clientv3.Client { return client }, 0)
	t.Cleanup(backend.Stop)
	getter, err := registry.NewRESTOptionsGetter(*etcdOptions, backend, nil)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := registry.NewGroups(getter, registry.Options{Proxy: proxy})
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func storages(groups []*genericapiserver.APIGroupInfo) map[string]rest.Storage {
	all := map[string]rest.Storage{}
	for _, group := range groups {
		for version, resources := range group.VersionedResourcesStorageMap {
			for name, storage := range resources {
				all[group.PrioritizedVersions[0].Group+"/"+version+"/"+name] = storage
			}
		}
	}
	return all
}

const (
	clustersPath = "cluster.karmada.io/v1alpha1/clusters"
	worksPath    = "work.karmada.io/v1alpha1/works"
)

// as returns the context of a request by a user in a namespace, which is empty for cluster-scoped resources.
func as(t *testing.T, name, namespace string) context.Context {
	return request.WithNamespace(request.WithUser(t.Context(), &user.DefaultInfo{Name: name}), namespace)
}

func create(t *testing.T, storage rest.Storage, ctx context.Context, obj runtime.Object) {
	t.Helper()
	if _, err := storage.(rest.Creater).Create(ctx, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newCluster(name string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}}
}

// streamingList is what every informer sends in place of a list.
func streamingList() *internalversion.ListOptions {
	return &internalversion.ListOptions{Watch: true, SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch ended")
		}
		return event
	case <-time.After(etcdReady):
		t.Fatal("no event")
	}
	return watch.Event{}
}

// expect reads one event and compares its type and the name of its object.
func expect(t *testing.T, w watch.Interface, kind watch.EventType, name string) runtime.Object {
	t.Helper()
	event := next(t, w)
	accessor, ok := event.Object.(metav1.Object)
	if !ok || event.Type != kind || accessor.GetName() != name {
		t.Fatalf("want %s %q, got %s %+v", kind, name, event.Type, event.Object)
	}
	return event.Object
}

func expectInitialEnd(t *testing.T, w watch.Interface) {
	t.Helper()
	event := next(t, w)
	accessor, ok := event.Object.(metav1.Object)
	if !ok || event.Type != watch.Bookmark || accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Fatalf("want the bookmark that ends the initial events, got %s %+v", event.Type, event.Object)
	}
}

func TestServedResources(t *testing.T) {
	all := startGroups(t, nil)
	for _, name := range []string{clustersPath, clustersPath + "/status", clustersPath + "/proxy", worksPath, worksPath + "/status",
		"work.karmada.io/v1alpha2/resourcebindings", "work.karmada.io/v1alpha2/resourcebindings/status",
		"work.karmada.io/v1alpha2/clusterresourcebindings", "work.karmada.io/v1alpha2/clusterresourcebindings/status",
		"work.karmada.io/v1alpha1/resourcebindings", "work.karmada.io/v1alpha1/resourcebindings/status",
		"work.karmada.io/v1alpha1/clusterresourcebindings", "work.karmada.io/v1alpha1/clusterresourcebindings/status"} {
		if all[name] == nil {
			t.Errorf("%s is not served", name)
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("%s is served, but not in the contract", name)
	}
}

func TestDiscoveryNames(t *testing.T) {
	all := startGroups(t, nil)
	for name, short := range map[string]string{worksPath: "wk", "work.karmada.io/v1alpha2/resourcebindings": "rb", "work.karmada.io/v1alpha2/clusterresourcebindings": "crb",
		"work.karmada.io/v1alpha1/resourcebindings": "rb", "work.karmada.io/v1alpha1/clusterresourcebindings": "crb"} {
		if got := all[name].(rest.ShortNamesProvider).ShortNames(); !cmp.Equal(got, []string{short}) {
			t.Errorf("%s: short names %v", name, got)
		}
		if got := all[name].(rest.CategoriesProvider).Categories(); !cmp.Equal(got, []string{"karmada-io"}) {
			t.Errorf("%s: categories %v", name, got)
		}
	}
	if _, ok := all[clustersPath].(rest.CategoriesProvider); ok {
		t.Error("clusters are in a category")
	}
}

func TestAgentsSeeOnlyThemselves(t *testing.T) {
	clusters := startGroups(t, nil)[clustersPath]
	admin := as(t, "system:admin", "")
	for _, name := range []string{"m1", "m10", "m2"} {
		create(t, clusters, admin, newCluster(name))
	}
	for user, want := range map[string][]string{
		"system:admin": {"m1", "m10", "m2"}, "system:karmada:agent:m1": {"m1"}, "system:karmada:agent:rbac-generator": nil, "system:karmada:agent:": nil, "system:karmada:agents": {"m1", "m10", "m2"},
	} {
		for selector, options := range map[string]*internalversion.ListOptions{"none": nil, "empty": {}} {
			list, err := clusters.(rest.Lister).List(as(t, user, ""), options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, cluster := range list.(*clusterv1alpha1.ClusterList).Items {
				got = append(got, cluster.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with %s options (-want +got):\n%s", user, selector, diff)
			}
		}
	}
	if _, err := clusters.(rest.CollectionDeleter).DeleteCollection(as(t, "system:karmada:agent:m1", ""), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, &internalversion.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an agent deleting the collection: %v", err)
	}
}

// Informers never list, and there is no watch cache: etcd itself must answer streaming lists (contract section 0.1).
func TestStreamingLists(t *testing.T) {
	clusters := startGroups(t, nil)[clustersPath]
	admin := as(t, "system:admin", "")
	create(t, clusters, admin, newCluster("m1"))
	create(t, clusters, admin, newCluster("m2"))

	w, err := clusters.(rest.Watcher).Watch(admin, streamingList())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	agent, err := clusters.(rest.Watcher).Watch(as(t, "system:karmada:agent:m2", ""), streamingList())
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Stop()
	expect(t, w, watch.Added, "m1")
	expect(t, w, watch.Added, "m2")
	expectInitialEnd(t, w)
	expect(t, agent, watch.Added, "m2")
	expectInitialEnd(t, agent)

	create(t, clusters, admin, newCluster("m3"))
	for _, name := range []string{"m1", "m2"} {
		if _, _, err := clusters.(rest.GracefulDeleter).Delete(admin, name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, w, watch.Added, "m3")
	expect(t, w, watch.Deleted, "m1")
	expect(t, w, watch.Deleted, "m2")
	// The first thing that the agent hears of is itself.
	expect(t, agent, watch.Deleted, "m2")
}

func TestWorkLifecycle(t *testing.T) {
	all := startGroups(t, nil)
	works, status := all[worksPath], all[worksPath+"/status"]
	ctx := as(t, "system:karmada:agent:m1", "karmada-es-m1")
	w, err := works.(rest.Watcher).Watch(ctx, streamingList())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	expectInitialEnd(t, w)

	raw := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1"}}`
	work := &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: "a", Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}},
		Spec:       workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}}},
		Status:     workv1alpha1.WorkStatus{Conditions: []metav1.Condition{{Type: "Applied"}}},
	}
	create(t, works, ctx, work)
	created := expect(t, w, watch.Added, "a").(*workv1alpha1.Work)
	if got := string(created.Spec.Workload.Manifests[0].Raw); got != raw || created.Generation != 1 || len(created.Status.Conditions) != 0 {
		t.Fatalf("created %+v with manifest %s", created, got)
	}

	reported := created.DeepCopy()
	reported.Spec.Workload.Manifests = nil
	reported.Finalizers = nil
	reported.Status.Conditions = []metav1.Condition{{Type: "Applied", Status: "True", Reason: "AppliedSuccessful", LastTransitionTime: metav1.Now()}}
	if _, _, err := status.(rest.Updater).Update(ctx, "a", rest.DefaultUpdatedObjectInfo(reported), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	updated := expect(t, w, watch.Modified, "a").(*workv1alpha1.Work)
	if string(updated.Spec.Workload.Manifests[0].Raw) != raw || updated.Generation != 1 || len(updated.Finalizers) != 1 || updated.Status.Conditions[0].Status != "True" {
		t.Errorf("after the status update: %+v", updated)
	}

	stale := created.DeepCopy()
	stale.Spec.SuspendDispatching = ptr.To(true)
	for want, version := range map[string]string{"conflict": created.ResourceVersion, "invalid": ""} {
		stale.ResourceVersion = version
		_, _, err := works.(rest.Updater).Update(ctx, "a", rest.DefaultUpdatedObjectInfo(stale), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		if (want == "conflict") != apierrors.IsConflict(err) || (want == "invalid") != apierrors.IsInvalid(err) {
			t.Errorf("update with resourceVersion %q: want %s, got %v", version, want, err)
		}
	}

	if _, deleted, err := works.(rest.GracefulDeleter).Delete(ctx, "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil || deleted {
		t.Fatalf("delete with a finalizer: gone %v, %v", deleted, err)
	}
	released := expect(t, w, watch.Modified, "a").(*workv1alpha1.Work).DeepCopy()
	released.Finalizers = nil
	if _, _, err := works.(rest.Updater).Update(ctx, "a", rest.DefaultUpdatedObjectInfo(released), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, w, watch.Deleted, "a")
}

func TestProxyConnects(t *testing.T) {
	var got string
	all := startGroups(t, func(_ context.Context, cluster *clusterv1alpha1.Cluster, path string, user user.Info) (http.Handler, error) {
		got = user.GetName() + " " + cluster.Name + " " + path
		return http.NotFoundHandler(), nil
	})
	admin := as(t, "system:admin", "")
	create(t, all[clustersPath], admin, newCluster("m1"))
	connecter := all[clustersPath+"/proxy"].(rest.Connecter)
	opts, subpath, key := connecter.NewConnectOptions()
	if err := registry.ParameterCodec.DecodeParameters(url.Values{key: {"/api/v1/pods"}, "limit": {"5"}}, clusterv1alpha1.GroupVersion, opts); err != nil || !subpath {
		t.Fatalf("decode options: %v", err)
	}
	if _, err := connecter.Connect(admin, "m1", opts, nil); err != nil {
		t.Fatal(err)
	}
	if got != "system:admin m1 /api/v1/pods" {
		t.Errorf("proxied %q", got)
	}
	if _, err := connecter.Connect(admin, "m2", opts, nil); !apierrors.IsNotFound(err) {
		t.Errorf("unknown cluster: %v", err)
	}
	if _, err := connecter.Connect(request.WithNamespace(t.Context(), ""), "m1", opts, nil); !apierrors.IsUnauthorized(err) {
		t.Errorf("no user: %v", err)
	}
}

func TestStorageIsRefused(t *testing.T) {
	plain := options.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	encrypted := *plain
	encrypted.EncryptionProviderConfigFilepath = "encryption.yaml"
	if _, err := registry.NewRESTOptionsGetter(encrypted, nil, nil); err == nil {
		t.Error("encryption, which these groups would not have, was accepted")
	}
}
