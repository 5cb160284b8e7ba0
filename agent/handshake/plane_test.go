package handshake_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/agent/handshake"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/deploy"
)

// limit is how long a test waits for what has to happen. Nothing takes that long.
const limit = 4 * time.Minute

// authority is where the plane keeps its CA.
var authority string

// plane is one control plane for all tests of the package, hub and member at once.
// What a hub's controllers do, the tests do by hand.
var plane *controlplanetest.Member

var clustersResource = ocmv1.GroupVersion.WithResource("managedclusters")

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "handshake")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		authority = dir
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if plane, err = controlplanetest.NewMember(ctx, dir, controlplanetest.MemberOptions{Name: "hub", Nodes: 2}); err != nil {
			panic(err)
		}
		defer func() { _ = plane.Stop() }()
		if err := plane.InstallDefinitions(ctx, deploy.HubCRDs(), deploy.MemberCRDs()); err != nil {
			panic(err)
		}
		if err := bootstrapRights(ctx); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// bootstrapRights are those of the contract's section 4.1.
func bootstrapRights(ctx context.Context) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:bootstrap"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get", "list", "watch"}},
		{APIGroups: []string{ocmv1.GroupName}, Resources: []string{"managedclusters"}, Verbs: []string{"get", "create", "list", "watch"}},
	}}
	if _, err := plane.Client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "bootstrappers"}}}
	_, err := plane.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

// fixture is one cluster with its agent, and the administrator of its hub.
type fixture struct {
	testing.TB
	client  dynamic.Interface
	cluster string
	options handshake.Options
	store   handshake.Dir
}

var clusters atomic.Int64

func newFixture(t testing.TB) *fixture {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	n := clusters.Add(1)
	f := &fixture{TB: t, client: client, cluster: fmt.Sprintf("cluster%d", n), store: handshake.Dir(filepath.Join(t.TempDir(), "identity"))}
	kubeconfig, err := plane.KubeconfigFor("bootstrap-of-"+f.cluster, "bootstrappers")
	if err != nil {
		t.Fatal(err)
	}
	f.options = handshake.Options{Cluster: f.cluster, Bootstraps: []handshake.Source{handshake.File(kubeconfig)}, Store: f.store, Member: plane.Config(),
		ExternalURLs: []string{"https://" + f.cluster + ".example"}, Annotations: map[string]string{"agent.open-cluster-management.io/a": "b", "other": "c"},
		Claims: handshake.Claims{Enabled: true, Max: 20}, Addons: true, Log: slog.New(slog.DiscardHandler)}
	return f
}

// run starts the agent; it ends with the test, or when stop is called.
func (f *fixture) run() (agent *handshake.Agent, stop func()) {
	f.Helper()
	agent, err := handshake.New(f.options)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			f.Error(err)
		}
	}
	f.Cleanup(stop)
	return agent, stop
}

// join starts the agent, gives its cluster both consents and waits until it is
// available.
func (f *fixture) join() (stop func()) {
	f.Helper()
	_, stop = f.run()
	f.approve(certificatesv1.CertificateApproved)
	f.accept()
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
	return stop
}

func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			f.Fatalf("waited for: %s; the cluster: %+v", what, f.managed())
		}
	}
}

func (f *fixture) managed() *ocmv1.ManagedCluster {
	f.Helper()
	o, err := f.client.Resource(clustersResource).Get(f.Context(), f.cluster, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	cluster := &ocmv1.ManagedCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, cluster); err != nil {
		f.Fatal(err)
	}
	return cluster
}

func (f *fixture) requests() []certificatesv1.CertificateSigningRequest {
	f.Helper()
	list, err := plane.Client.CertificatesV1().CertificateSigningRequests().List(f.Context(), metav1.ListOptions{LabelSelector: ocmv1.ClusterNameLabel + "=" + f.cluster})
	if err != nil {
		f.Fatal(err)
	}
	return list.Items
}

// approve decides about the requests that wait, of which there is one soon.
func (f *fixture) approve(kind certificatesv1.RequestConditionType) {
	f.Helper()
	f.eventually("a certificate request", func() bool { return f.decide(kind) })
}

// decide decides about the requests that wait, and says whether there were any.
func (f *fixture) decide(kind certificatesv1.RequestConditionType) (decided bool) {
	f.Helper()
	for _, r := range f.requests() {
		if len(r.Status.Conditions) > 0 {
			continue
		}
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "ByTest", Message: "decided"}}
		if _, err := plane.Client.CertificatesV1().CertificateSigningRequests().UpdateApproval(f.Context(), r.Name, &r, metav1.UpdateOptions{}); err != nil {
			f.Fatal(err)
		}
		decided = true
	}
	return decided
}

// accept does what a hub does once it accepts a cluster (contract 2.4).
func (f *fixture) accept() {
	f.Helper()
	ctx := f.Context()
	f.eventually("the managed cluster", func() bool { return f.managed() != nil })
	f.patch(`{"spec": {"hubAcceptsClient": true}}`, "")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.cluster}}
	if _, err := plane.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		f.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:managedcluster:" + f.cluster}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get", "list", "watch"}},
		{APIGroups: []string{ocmv1.GroupName}, Resources: []string{"managedclusters"}, ResourceNames: []string{f.cluster}, Verbs: []string{"get", "list", "update", "watch"}},
		{APIGroups: []string{ocmv1.GroupName}, Resources: []string{"managedclusters/status"}, ResourceNames: []string{f.cluster}, Verbs: []string{"patch", "update"}},
	}}
	inside := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: f.cluster}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"managedclusteraddons"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"managedclusteraddons/status"}, Verbs: []string{"patch", "update"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}}
	group := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:open-cluster-management:" + f.cluster}}
	_, err := plane.Client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	f.must(err)
	_, err = plane.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: group,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}, metav1.CreateOptions{})
	f.must(err)
	_, err = plane.Client.RbacV1().Roles(f.cluster).Create(ctx, inside, metav1.CreateOptions{})
	f.must(err)
	_, err = plane.Client.RbacV1().RoleBindings(f.cluster).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: f.cluster}, Subjects: group,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "agent"}}, metav1.CreateOptions{})
	f.must(err)
	now := metav1.NewMicroTime(time.Unix(1, 0))
	_, err = plane.Client.CoordinationV1().Leases(f.cluster).Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: ocmv1.LeaseName, Namespace: f.cluster},
		Spec: coordinationv1.LeaseSpec{RenewTime: &now}}, metav1.CreateOptions{})
	f.must(err)
	f.setAccepted(metav1.ConditionTrue)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		f.Fatal(err)
	}
}

// setAccepted writes the hub's condition.
func (f *fixture) setAccepted(status metav1.ConditionStatus) {
	f.Helper()
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: status, Reason: "ByTest"})
}

// setCondition writes a condition as the hub.
func (f *fixture) setCondition(c metav1.Condition) {
	f.Helper()
	f.eventually("the hub's condition is written", func() bool {
		o, err := f.client.Resource(clustersResource).Get(f.Context(), f.cluster, metav1.GetOptions{})
		f.must(err)
		cluster := f.managed()
		meta.SetStatusCondition(&cluster.Status.Conditions, c)
		cluster.ResourceVersion = o.GetResourceVersion()
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
		f.must(err)
		_, err = f.client.Resource(clustersResource).UpdateStatus(f.Context(), &unstructured.Unstructured{Object: fields}, metav1.UpdateOptions{})
		return err == nil
	})
}

func (f *fixture) patch(patch, subresource string) {
	f.Helper()
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	_, err := f.client.Resource(clustersResource).Patch(f.Context(), f.cluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	f.must(err)
}

func (f *fixture) condition(kind string, status metav1.ConditionStatus) *metav1.Condition {
	f.Helper()
	var c *metav1.Condition
	f.eventually(kind+" "+string(status), func() bool {
		cluster := f.managed()
		if cluster == nil {
			return false
		}
		c = meta.FindStatusCondition(cluster.Status.Conditions, kind)
		return c != nil && c.Status == status
	})
	return c
}
