package controlplane_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A cache that is filled from where objects are stored holds what the API shows, and
// follows it.
func TestStoredKindsAreReadAsTheAPIShowsThem(t *testing.T) {
	plane := embeddedPlane(t)
	api := kubernetes.NewForConfigOrDie(plane.Config())
	direct := plane.Direct()
	if direct.Reads(&corev1.Secret{}) || direct.Serves(&rbacv1.Role{}) || !direct.Reads(&rbacv1.Role{}) {
		t.Error("other kinds than meant are read where they are stored")
	}
	before := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stored-before", Labels: map[string]string{"a": "b"}},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"x"}}},
	}
	roles := api.RbacV1().Roles("default")
	if _, err := roles.Create(t.Context(), before, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	informer := cache.NewSharedIndexInformer(direct.ListWatch(&rbacv1.Role{}), &rbacv1.Role{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	same := func(name string) {
		t.Helper()
		shown, err := roles.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var held *rbacv1.Role
		await(t, "the cache has "+name, func(context.Context) bool {
			found, ok, _ := informer.GetStore().GetByKey("default/" + name)
			if ok {
				held = found.(*rbacv1.Role).DeepCopy()
			}
			return ok && held.ResourceVersion == shown.ResourceVersion
		})
		held.TypeMeta, shown.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
		if diff := cmp.Diff(shown, held); diff != "" {
			t.Errorf("%s: the API shows (-), the cache holds (+):\n%s", name, diff)
		}
	}
	same(before.Name)
	after := before.DeepCopy()
	after.Name, after.ResourceVersion, after.UID = "stored-after", "", ""
	if _, err := roles.Create(t.Context(), after, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	same(after.Name)
	if _, err := roles.Patch(t.Context(), before.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"c":"d"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	same(before.Name)
	if err := roles.Delete(t.Context(), before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the cache loses a role", func(context.Context) bool {
		_, ok, _ := informer.GetStore().GetByKey("default/" + before.Name)
		return !ok
	})
}

// Whether somebody may do something follows from roles and bindings of either reach,
// and an administrator may do all.
func TestRolesJudge(t *testing.T) {
	api := kubernetes.NewForConfigOrDie(embeddedPlane(t).Config())
	may := func(user, group, namespace string) bool {
		t.Helper()
		review, err := api.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{group}, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: namespace},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	if may("ann", "judges", "default") || !may("ann", "system:masters", "default") {
		t.Fatal("nobody has a role, an administrator needs none")
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "judged"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}}}}
	if _, err := api.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "judged"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "judged"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "ann"}},
	}
	if _, err := api.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "ann has her role", func(context.Context) bool { return may("ann", "judges", "default") })
	if may("ann", "judges", "kube-system") || may("bob", "judges", "default") {
		t.Error("a role reaches further than its namespace or its subject")
	}
	everywhere := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "judged"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "judges"}},
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(t.Context(), everywhere, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "judges have their role", func(context.Context) bool { return may("bob", "judges", "kube-system") })
	if err := api.RbacV1().ClusterRoleBindings().Delete(t.Context(), "judged", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "judges have no role", func(context.Context) bool { return !may("bob", "judges", "kube-system") })
}
