package app

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/token"
)

const adminGroup = "muster:admins"

// letAdministrators gives administrators of the dashboard what its operators may
// do. On a plane of its own they are administrators of the API too; an existing
// API belongs to somebody else.
func letAdministrators(ctx context.Context, hub client.Client) error {
	subjects := []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: adminGroup}}
	role := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	for _, binding := range []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "muster:managed-admin"}, RoleRef: role("ClusterRole", "muster:managed-operator"), Subjects: subjects},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "muster:consent-admin"}, RoleRef: role("ClusterRole", "muster:consent"), Subjects: subjects},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: consent.BootstrapNamespace, Name: "muster:consent-admin"}, RoleRef: role("Role", "muster:consent"), Subjects: subjects},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: token.Namespace, Name: "muster:consent-admin"}, RoleRef: role("Role", "muster:consent"), Subjects: subjects},
	} {
		// Whom it is given to later is for the API's own administrators to say.
		if err := hub.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("bind role %s: %w", binding.GetName(), err)
		}
	}
	return nil
}
