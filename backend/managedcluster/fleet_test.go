package managedcluster_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/registration"
)

// startHub starts a hub that serves both dialects.
func startHub(t *testing.T) *kubetest.Hub {
	t.Helper()
	hub := kubetest.StartHub(t)
	files, err := filepath.Glob("../../deploy/crds/ocm-hub/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no definitions: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, definition); err != nil {
			t.Fatal(err)
		}
		hub.Create(t, definition)
	}
	hub.Await(t, "managed clusters and works are served", func(ctx context.Context) bool {
		return hub.Client.List(ctx, &ocmv1.ManagedClusterList{}) == nil && hub.Client.List(ctx, &ocmworkv1.ManifestWorkList{}) == nil
	})
	return hub
}

// fleet is the reconciler, driven by hand, and how often it wrote.
type fleet struct {
	*kubetest.Hub
	reconciler *managedcluster.FleetReconciler
	writes     atomic.Int64
}

func newFleet(t *testing.T, hub *kubetest.Hub) *fleet {
	t.Helper()
	f := &fleet{Hub: hub}
	direct, err := client.NewWithWatch(hub.Config(), client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	counting := interceptor.NewClient(direct, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			f.writes.Add(1)
			return c.Create(ctx, o, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			f.writes.Add(1)
			return c.Delete(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			f.writes.Add(1)
			return c.Patch(ctx, o, p, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			f.writes.Add(1)
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		},
	})
	f.reconciler = managedcluster.NewFleetReconciler(counting, hub.Client, events.NewFakeRecorder(1000), clock.RealClock{})
	return f
}

// settle looks at a name again and again until nothing is written any more, and
// returns how many writes that took.
func (f *fleet) settle(t *testing.T, name string) int64 {
	t.Helper()
	began := f.writes.Load()
	for range 5 {
		before := f.writes.Load()
		if _, err := f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
			t.Fatal(err)
		}
		if f.writes.Load() == before {
			return before - began
		}
	}
	t.Fatalf("%s does not settle", name)
	return 0
}

func change[T client.Object](t *testing.T, hub *kubetest.Hub, object T, name string, edit func(T)) {
	t.Helper()
	edited(t, hub, object, name, edit, func(ctx context.Context) error { return hub.Client.Update(ctx, object) })
}

// edited reads, edits and writes an object, again when somebody else wrote meanwhile.
func edited[T client.Object](t *testing.T, hub *kubetest.Hub, object T, name string, edit func(T), write func(context.Context) error) {
	t.Helper()
	hub.Await(t, "the change of "+name, func(ctx context.Context) bool {
		if err := hub.Client.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
			t.Fatal(err)
		}
		edit(object)
		err := write(ctx)
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

func report[T client.Object](t *testing.T, hub *kubetest.Hub, object T, name string, edit func(T)) {
	t.Helper()
	edited(t, hub, object, name, edit, func(ctx context.Context) error { return hub.Client.Status().Update(ctx, object) })
}

func label(object client.Object, key, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	object.SetLabels(labels)
}

func said(conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus) {
	meta.SetStatusCondition(conditions, metav1.Condition{Type: kind, Status: status, Reason: "Said", Message: "said"})
}

// TestNothingLoops lets users, agents and both dialects do at random what they may
// on a member of each dialect. After each deed a bounded number of writes brings
// the mirror in step, and then there is silence.
func TestNothingLoops(t *testing.T) {
	t.Parallel()
	f := newFleet(t, startHub(t))
	f.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "ocm"}, Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: true}})
	f.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "karmada"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push, ID: "x", APIEndpoint: "https://192.0.2.1:6443"}})
	for _, name := range []string{"ocm", "karmada"} {
		if writes := f.settle(t, name); writes > 2 {
			t.Errorf("%d writes made the mirror of %s", writes, name)
		}
	}
	statuses := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 80 {
		name := []string{"ocm", "karmada"}[random.IntN(2)]
		value, key, status := fmt.Sprint(random.IntN(3)), fmt.Sprint("k", random.IntN(3)), statuses[random.IntN(3)]
		deed := random.IntN(8)
		switch deed {
		case 0:
			change(t, f.Hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { label(m, key, value) })
		case 1:
			change(t, f.Hub, &clusterv1alpha1.Cluster{}, name, func(c *clusterv1alpha1.Cluster) { label(c, key, value) })
		case 2:
			change(t, f.Hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) {
				m.Spec.Taints = []ocmv1.Taint{{Key: key, Value: value, Effect: ocmv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
			})
		case 3:
			change(t, f.Hub, &clusterv1alpha1.Cluster{}, name, func(c *clusterv1alpha1.Cluster) {
				c.Spec.Taints = append(c.Spec.Taints[:0:0], corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule})
			})
		case 4:
			change(t, f.Hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { m.Spec.HubAcceptsClient = !m.Spec.HubAcceptsClient })
		case 5:
			change(t, f.Hub, &clusterv1alpha1.Cluster{}, name, func(c *clusterv1alpha1.Cluster) {
				c.Spec.Region, c.Spec.APIEndpoint = "r"+value, "https://192.0.2."+value
			})
		case 6: // each side's agent reports on its own object
			if name == "ocm" {
				report(t, f.Hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) {
					said(&m.Status.Conditions, ocmv1.ConditionAvailable, status)
					m.Status.Version.Kubernetes = "v1.3" + value + ".0"
					m.Status.ClusterClaims = []ocmv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: "id-" + value}}
				})
			} else {
				report(t, f.Hub, &clusterv1alpha1.Cluster{}, name, func(c *clusterv1alpha1.Cluster) {
					said(&c.Status.Conditions, "Ready", status)
					c.Status.KubernetesVersion = "v1.3" + value + ".0"
				})
			}
		case 7: // the hub's other controllers write on both
			report(t, f.Hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { said(&m.Status.Conditions, ocmv1.ConditionHubAccepted, status) })
			report(t, f.Hub, &clusterv1alpha1.Cluster{}, name, func(c *clusterv1alpha1.Cluster) { said(&c.Status.Conditions, "Removing", status) })
		}
		if writes := f.settle(t, name); writes > 2 {
			t.Errorf("deed %d (%d on %s): %d writes", i, deed, name, writes)
		}
	}
}

// TestFleet goes through the life of a member of each dialect.
func TestFleet(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	manager, err := kube.NewManager(hub.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := managedcluster.SetupFleet(manager); err != nil {
		t.Fatal(err)
	}
	hub.Run(t, manager)
	t.Run("ocm", func(t *testing.T) { testManagedMember(t, hub) })
	t.Run("karmada", func(t *testing.T) { testKarmadaMember(t, hub) })
	t.Run("long name", func(t *testing.T) { testLongName(t, hub) })
	t.Run("both", func(t *testing.T) { testBoth(t, hub) })
}

func testManagedMember(t *testing.T, hub *kubetest.Hub) {
	const name = "edge-1"
	key := client.ObjectKey{Name: name}
	hub.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": "edge"}}})
	change(t, hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { label(m, "seen", "true") })
	if !hub.Gone(t.Context(), key, &clusterv1alpha1.Cluster{}) {
		t.Error("a cluster that is not accepted is in the fleet")
	}
	change(t, hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { m.Spec.HubAcceptsClient = true })
	cluster := &clusterv1alpha1.Cluster{}
	hub.Await(t, "the cluster of an accepted member", func(ctx context.Context) bool { return hub.Client.Get(ctx, key, cluster) == nil })
	if cluster.Spec.SyncMode != clusterv1alpha1.Pull || cluster.Labels["tier"] != "edge" || !registration.Mirrored(cluster) || registration.HasForeignAgent(cluster) {
		t.Errorf("the cluster is %+v", cluster)
	}
	report(t, hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) {
		said(&m.Status.Conditions, ocmv1.ConditionAvailable, metav1.ConditionTrue)
		m.Status.Version.Kubernetes = "v1.36.3"
	})
	awaitReady(t, hub, name, metav1.ConditionTrue)
	change(t, hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { m.Spec.HubAcceptsClient = false })
	awaitReady(t, hub, name, metav1.ConditionUnknown)
	if err := hub.Client.Delete(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	hub.Await(t, "the member to go with its mirror", func(ctx context.Context) bool { return hub.Gone(ctx, key, &ocmv1.ManagedCluster{}) })
	releaseCluster(t, hub, name)
	hub.Await(t, "the mirror to go", func(ctx context.Context) bool { return hub.Gone(ctx, key, &clusterv1alpha1.Cluster{}) })
}

// releaseCluster does the part of the controller of Clusters, which is not here.
func releaseCluster(t *testing.T, hub *kubetest.Hub, name string) {
	t.Helper()
	hub.Await(t, "the cluster to be let go", func(ctx context.Context) bool {
		cluster := &clusterv1alpha1.Cluster{}
		if err := hub.Client.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return apierrors.IsNotFound(err)
		}
		var kept []string
		for _, finalizer := range cluster.Finalizers {
			if finalizer != clusterv1alpha1.ClusterControllerFinalizer {
				kept = append(kept, finalizer)
			}
		}
		cluster.Finalizers = kept
		err := hub.Client.Update(ctx, cluster)
		return err == nil || apierrors.IsNotFound(err)
	})
}

func awaitReady(t *testing.T, hub *kubetest.Hub, name string, want metav1.ConditionStatus) {
	t.Helper()
	hub.Await(t, "Ready "+string(want), func(ctx context.Context) bool {
		cluster := &clusterv1alpha1.Cluster{}
		return hub.Client.Get(ctx, client.ObjectKey{Name: name}, cluster) == nil && meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, "Ready", want)
	})
}

func testKarmadaMember(t *testing.T, hub *kubetest.Hub) {
	const name = "member1"
	key := client.ObjectKey{Name: name}
	hub.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push, ID: "id-1", APIEndpoint: "https://192.0.2.9:6443"}})
	report(t, hub, &clusterv1alpha1.Cluster{}, name, func(c *clusterv1alpha1.Cluster) { said(&c.Status.Conditions, "Ready", metav1.ConditionTrue) })
	managed := &ocmv1.ManagedCluster{}
	hub.Await(t, "the managed cluster of a Karmada member", func(ctx context.Context) bool {
		return hub.Client.Get(ctx, key, managed) == nil && meta.IsStatusConditionTrue(managed.Status.Conditions, ocmv1.ConditionAvailable)
	})
	if !managed.Spec.HubAcceptsClient || !meta.IsStatusConditionTrue(managed.Status.Conditions, ocmv1.ConditionJoined) ||
		managed.Spec.ManagedClusterClientConfigs[0].URL != "https://192.0.2.9:6443" || managed.Status.ClusterClaims[0].Value != "id-1" {
		t.Errorf("the managed cluster is %+v", managed)
	}
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: name, Finalizers: []string{ocmworkv1.ManifestWorkFinalizer}}}
	work.Spec.Workload.Manifests = []ocmworkv1.Manifest{{}}
	work.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`)
	hub.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	hub.Create(t, work)
	if err := hub.Client.Delete(t.Context(), managed); err != nil {
		t.Fatal(err)
	}
	hub.Await(t, "the member and its mirror to go, and works that nobody could take back", func(ctx context.Context) bool {
		return hub.Gone(ctx, key, &clusterv1alpha1.Cluster{}) && hub.Gone(ctx, key, &ocmv1.ManagedCluster{}) &&
			hub.Gone(ctx, client.ObjectKeyFromObject(work), &ocmworkv1.ManifestWork{})
	})
}

// testLongName accepts a member whose name no Cluster can have.
func testLongName(t *testing.T, hub *kubetest.Hub) {
	name := "a-name-of-more-than-48-characters-that-is-fine-for-ocm"
	hub.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: true}})
	hub.Await(t, "word of why it has no mirror", func(ctx context.Context) bool {
		found := &corev1.EventList{}
		if hub.Client.List(ctx, found) != nil {
			return false
		}
		for i := range found.Items {
			if found.Items[i].Reason == managedcluster.EventMirrorRefused && found.Items[i].InvolvedObject.Name == name {
				return true
			}
		}
		return false
	})
	if !hub.Gone(t.Context(), client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{}) {
		t.Error("there is a cluster of a name that is too long")
	}
}

// testBoth registers one name in both dialects before any mirror could come: each
// speaks for itself.
func testBoth(t *testing.T, hub *kubetest.Hub) {
	const name = "twice"
	hub.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	hub.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push}})
	change(t, hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) { m.Spec.HubAcceptsClient = true })
	f := newFleet(t, hub)
	if writes := f.settle(t, name); writes != 0 {
		t.Errorf("%d writes on members that speak for themselves", writes)
	}
}
