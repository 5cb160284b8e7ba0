package propagation_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/propagation"
)

// fixture is a hub with this package's controllers and one push member, whose
// readiness the test sets.
type fixture struct {
	*kubetest.Hub
	member *controlplanetest.Member
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t), member: controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "m1"})}
	manager, err := kube.NewManager(f.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	members := kube.NewMembers(manager.GetAPIReader(), clock.RealClock{})
	if err := propagation.SetupWithManager(manager, propagation.Deps{Members: members}); err != nil {
		t.Fatal(err)
	}
	f.Run(t, manager)
	if _, err := cluster.Join(t.Context(), cluster.JoinRequest{Name: "m1", Hub: f.Client, Member: f.member.Config()}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) setReady(t *testing.T, status metav1.ConditionStatus) {
	t.Helper()
	f.Await(t, "readiness", func(ctx context.Context) bool {
		var c clusterv1alpha1.Cluster
		if f.Client.Get(ctx, client.ObjectKey{Name: "m1"}, &c) != nil {
			return false
		}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: status, Reason: "Test"})
		return f.Client.Status().Update(ctx, &c) == nil
	})
}

func (f *fixture) work(ctx context.Context, name string) *workv1alpha1.Work {
	var work workv1alpha1.Work
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: "karmada-es-m1", Name: name}, &work); err != nil {
		return nil
	}
	return &work
}

// configMap is a Work with one ConfigMap, marked as the hub's admission marks it.
func configMap(name, value string) *workv1alpha1.Work {
	raw, err := json.Marshal(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{apis.ManagedLabel: "true"},
			Annotations: map[string]string{workv1alpha1.WorkNamespaceAnnotation: "karmada-es-m1", workv1alpha1.WorkNameAnnotation: name},
		},
		Data: map[string]string{"key": value},
	})
	if err != nil {
		panic(err)
	}
	return &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: name},
		Spec:       workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}}},
	}
}

func (f *fixture) value(ctx context.Context, name string) string {
	found, err := f.member.Client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return found.Data["key"]
}

func TestPropagation(t *testing.T) {
	f := start(t)
	t.Run("rights of the proxy", func(t *testing.T) { testImpersonation(t, f) })
}

func testImpersonation(t *testing.T, f *fixture) {
	const roleWork = "karmada-impersonator-7cbb6bd5c9"
	// The namespace comes later than the cluster, as it does in the hub.
	f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-m1"}})
	f.Await(t, "the two works", func(ctx context.Context) bool {
		return f.work(ctx, roleWork) != nil && f.work(ctx, "karmada-impersonator-84f8c8f8c6") != nil
	})
	f.setReady(t, metav1.ConditionTrue)
	rules := func(ctx context.Context, resource string) []string {
		role, err := f.member.Client.RbacV1().ClusterRoles().Get(ctx, "karmada-impersonator", metav1.GetOptions{})
		if err != nil {
			return nil
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, resource) {
				return rule.ResourceNames
			}
		}
		return nil
	}
	f.Await(t, "the rights of administrators in the member", func(ctx context.Context) bool { return slices.Contains(rules(ctx, "groups"), "system:masters") })

	f.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "m1-proxy"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"*"}, APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"m1"},
	}}})
	f.Create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "jane"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "m1-proxy"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}},
	})
	t.Logf("a new user's rights reached the member in %s", f.Await(t, "jane's rights in the member", func(ctx context.Context) bool { return slices.Contains(rules(ctx, "users"), "jane") }))
	if err := f.Client.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "jane"}}); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of jane's rights", func(ctx context.Context) bool { return !slices.Contains(rules(ctx, "users"), "jane") })

	// A client that leaves deletes Works; they must stay away until what they say changes.
	if err := f.Client.Delete(t.Context(), f.work(t.Context(), roleWork)); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the work", func(ctx context.Context) bool { return f.work(ctx, roleWork) == nil && rules(ctx, "groups") == nil })
	f.setReady(t, metav1.ConditionFalse)
	f.setReady(t, metav1.ConditionTrue)
	f.Create(t, configMap("later", "x")) // by the time this one is done, a healing would have been, too
	f.Await(t, "a later work", func(ctx context.Context) bool { return f.value(ctx, "later") == "x" })
	if f.work(t.Context(), roleWork) != nil {
		t.Error("the work was made again")
	}
}
