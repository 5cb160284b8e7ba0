package placement_test

import (
	"context"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/placement"
)

// bindingRequest is a request about a binding; old is the set that it named
// before.
func bindingRequest(who user.Info, name, set, old string) admission.Attributes {
	make := func(set string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": ocmv1beta2.GroupVersion.String(), "kind": "ManagedClusterSetBinding",
			"metadata": map[string]any{"namespace": "default", "name": name}, "spec": map[string]any{"clusterSet": set},
		}}
	}
	operation, before := admission.Create, runtime.Object(nil)
	if old != "" {
		operation, before = admission.Update, make(old)
	}
	return admission.NewAttributesRecord(make(set), before, ocmv1beta2.GroupVersion.WithKind("ManagedClusterSetBinding"), "default", name,
		ocmv1beta2.GroupVersion.WithResource("managedclustersetbindings"), "", operation, nil, false, who)
}

// testAdmission judges bindings by the hub's own roles.
func (f *fixture) testAdmission(t *testing.T) {
	f.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "binder"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"create"}, APIGroups: []string{ocmv1beta2.GroupName}, Resources: []string{"managedclustersets/bind"}, ResourceNames: []string{"prod"},
	}}})
	f.Create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "binder"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "binder"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}},
	})
	ann, admin := &user.DefaultInfo{Name: "ann"}, &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	d := placement.NewAdmission()
	if err := d.Validate(t.Context(), bindingRequest(ann, "prod", "prod", "")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("before the hub can be asked: %v", err)
	}
	d.UseClient(f.Client)
	f.Await(t, "role to count", func(ctx context.Context) bool { return d.Validate(ctx, bindingRequest(ann, "prod", "prod", "")) == nil })
	for name, c := range map[string]struct {
		who            user.Info
		name, set, old string
		code           int32
		text           string
	}{
		"another name":         {admin, "nope", "prod", "", http.StatusBadRequest, "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet"},
		"an administrator":     {admin, "dev", "dev", "", 0, ""},
		"a set that ann binds": {ann, "prod", "prod", "", 0, ""},
		"another set": {ann, "dev", "dev", "", http.StatusForbidden,
			`managedclustersets/bind.cluster.open-cluster-management.io "dev" is forbidden: user "ann" is not allowed to bind ManagedClusterSet "dev"`},
		"a change of labels alone": {ann, "dev", "dev", "dev", 0, ""},
		"a change of the set":      {ann, "dev", "dev", "prod", http.StatusForbidden, ""},
	} {
		err := d.Validate(t.Context(), bindingRequest(c.who, c.name, c.set, c.old))
		status, refused := err.(apierrors.APIStatus)
		if refused != (c.code != 0) || refused && (status.Status().Code != c.code || c.text != "" && status.Status().Message != c.text) {
			t.Errorf("%s: got %v, want code %d %s", name, err, c.code, c.text)
		}
	}
}
