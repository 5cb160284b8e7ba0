package propagation_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
)

// fixture is a hub with this package's controllers, one push member m1, and pull
// members m2 and m3, whose agents the test plays.
type fixture struct {
	*kubetest.Hub
	member *controlplanetest.Member
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t), member: controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "m1"})}
	f.installPolicies(t)
	manager, err := kube.NewManager(f.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	templates, err := template.NewCache(f.Config(), template.CacheOptions{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Add(templates); err != nil {
		t.Fatal(err)
	}
	members := kube.NewMembers(manager.GetAPIReader(), clock.RealClock{})
	if err := propagation.SetupWithManager(manager, propagation.Deps{Members: members, Templates: templates}); err != nil {
		t.Fatal(err)
	}
	f.Run(t, manager)
	if _, err := joining.Join(t.Context(), joining.Request{Name: "m1", Hub: f.Client, Member: f.member.Config()}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m2", "m3"} {
		f.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}})
	}
	f.Await(t, "the templates", func(context.Context) bool { return templates.Synced() })
	return f
}

// installPolicies installs the kinds that are custom resources in the product too.
func (f *fixture) installPolicies(t *testing.T) {
	t.Helper()
	for _, name := range []string{"overridepolicies", "clusteroverridepolicies", "federatedresourcequotas"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "crds", "policy.karmada.io_"+name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		f.Create(t, &definition)
	}
	f.Await(t, "policies", func(ctx context.Context) bool {
		return f.Client.List(ctx, &policyv1alpha1.OverridePolicyList{}) == nil && f.Client.List(ctx, &policyv1alpha1.ClusterOverridePolicyList{}) == nil &&
			f.Client.List(ctx, &policyv1alpha1.FederatedResourceQuotaList{}) == nil
	})
}

func (f *fixture) setReady(t *testing.T, name string, status metav1.ConditionStatus) {
	t.Helper()
	f.Await(t, "readiness", func(ctx context.Context) bool {
		var c clusterv1alpha1.Cluster
		if f.Client.Get(ctx, client.ObjectKey{Name: name}, &c) != nil {
			return false
		}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: status, Reason: "Test"})
		return f.Client.Status().Update(ctx, &c) == nil
	})
}

// space makes the execution space of a cluster.
func (f *fixture) space(t *testing.T, name string) {
	t.Helper()
	f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-" + name}})
}

func (f *fixture) work(ctx context.Context, cluster, name string) *workv1alpha1.Work {
	var work workv1alpha1.Work
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: "karmada-es-" + cluster, Name: name}, &work); err != nil {
		return nil
	}
	return &work
}

// awaitWork waits for a Work.
func (f *fixture) awaitWork(t *testing.T, cluster, name string) *workv1alpha1.Work {
	t.Helper()
	var work *workv1alpha1.Work
	f.Await(t, "work "+name+" of "+cluster, func(ctx context.Context) bool {
		work = f.work(ctx, cluster, name)
		return work != nil
	})
	return work
}

// awaitNoWork waits until a Work is gone or going: agents that are not played
// hold it.
func (f *fixture) awaitNoWork(t *testing.T, cluster, name string) {
	t.Helper()
	f.Await(t, "the end of work "+name+" of "+cluster, func(ctx context.Context) bool {
		work := f.work(ctx, cluster, name)
		return work == nil || work.DeletionTimestamp != nil
	})
}

// release lets a Work go, as an agent does.
func (f *fixture) release(t *testing.T, cluster, name string) {
	t.Helper()
	f.Await(t, "the release of work "+name, func(ctx context.Context) bool {
		work := f.work(ctx, cluster, name)
		if work == nil {
			return true
		}
		work.Finalizers = nil
		return f.Client.Update(ctx, work) == nil
	})
}

// answer reports a Work as applied, as an agent does.
func (f *fixture) answer(t *testing.T, cluster, name, status string) {
	t.Helper()
	f.Await(t, "the answer of "+cluster, func(ctx context.Context) bool {
		work := f.work(ctx, cluster, name)
		if work == nil {
			return false
		}
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAppliedSuccessful})
		about := manifestOf(t, work)
		work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Health: workv1alpha1.ResourceHealthy, Identifier: workv1alpha1.ResourceIdentifier{
			Version: about.GroupVersionKind().Version, Kind: about.GetKind(), Namespace: about.GetNamespace(), Name: about.GetName()}}}
		if status != "" {
			work.Status.ManifestStatuses[0].Status = &runtime.RawExtension{Raw: []byte(status)}
		}
		return f.Client.Status().Update(ctx, work) == nil
	})
}

func manifestOf(t *testing.T, work *workv1alpha1.Work) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(work.Spec.Workload.Manifests[0].Raw); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPropagation(t *testing.T) {
	f := start(t)
	t.Run("rights of the proxy", func(t *testing.T) { testImpersonation(t, f) })
	f.setReady(t, "m2", metav1.ConditionTrue)
	f.setReady(t, "m3", metav1.ConditionTrue)
	t.Run("namespaces", func(t *testing.T) { testNamespaces(t, f) })
	t.Run("bindings", func(t *testing.T) { testBindings(t, f) })
	t.Run("quotas", func(t *testing.T) { testQuotas(t, f) })
}

func testImpersonation(t *testing.T, f *fixture) {
	const roleWork = "karmada-impersonator-7cbb6bd5c9"
	// The namespace comes later than the cluster, as it does in the hub.
	f.space(t, "m1")
	f.awaitWork(t, "m1", roleWork)
	f.awaitWork(t, "m1", "karmada-impersonator-84f8c8f8c6")
	f.setReady(t, "m1", metav1.ConditionTrue)
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
	if err := f.Client.Delete(t.Context(), f.work(t.Context(), "m1", roleWork)); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the work", func(ctx context.Context) bool {
		return f.work(ctx, "m1", roleWork) == nil && rules(ctx, "groups") == nil
	})
	f.setReady(t, "m1", metav1.ConditionFalse)
	f.setReady(t, "m1", metav1.ConditionTrue)
	f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}}) // by the time it is there, a healing would have been, too
	f.Await(t, "a later namespace", func(ctx context.Context) bool {
		_, err := f.member.Client.CoreV1().Namespaces().Get(ctx, "later", metav1.GetOptions{})
		return err == nil
	})
	if f.work(t.Context(), "m1", roleWork) != nil {
		t.Error("the work was made again")
	}
}
