package managedcluster

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Roles of dashboard users for this dialect, and the groups that these act as.
const (
	viewerRole    = "muster:managed-viewer"
	operatorRole  = "muster:managed-operator"
	viewerGroup   = "muster:viewers"
	operatorGroup = "muster:operators"
)

// EnsureRoles writes the rights by which users of the dashboard look at managed
// clusters, sets, placements and works, and change them, on either plane;
// administrators have them all.
func EnsureRoles(ctx context.Context, hub client.Client) error {
	const work, addon, operator = "work.open-cluster-management.io", "addon.open-cluster-management.io", "operator.open-cluster-management.io"
	read, write := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete"}
	rule := func(verbs []string, group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: resources}
	}
	viewer := []rbacv1.PolicyRule{
		rule(read, ocmv1.GroupName, "*"), rule(read, work, "*"), rule(read, addon, "*"), rule(read, operator, "*"),
		rule(read, certificatesv1.GroupName, "certificatesigningrequests"), rule(read, "coordination.k8s.io", "leases"), rule(read, "", "namespaces"),
	}
	changes := []rbacv1.PolicyRule{
		rule(write, ocmv1.GroupName, "managedclusters", "managedclustersets", "managedclustersetbindings", "placements"),
		// To put a cluster into a set, and to bind a set to a namespace.
		rule([]string{"create"}, ocmv1.GroupName, "managedclustersets/join", "managedclustersets/bind"),
		rule(write, work, "manifestworks", "manifestworkreplicasets"),
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{viewerRole: viewer, operatorRole: append(changes, viewer...)} {
		if err := ensureRole(ctx, hub, name, rules); err != nil {
			return fmt.Errorf("write role %s: %w", name, err)
		}
	}
	for name, group := range map[string]string{viewerRole: viewerGroup, operatorRole: operatorGroup} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
		}
		// Whom it is given to is for administrators to change.
		if err := hub.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("bind role %s: %w", name, err)
		}
	}
	return nil
}

func ensureRole(ctx context.Context, hub client.Client, name string, rules []rbacv1.PolicyRule) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	err := hub.Create(ctx, role)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var stored rbacv1.ClusterRole
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, &stored); err != nil {
		return err
	}
	before := stored.DeepCopy()
	stored.Rules = rules
	return hub.Patch(ctx, &stored, client.MergeFrom(before))
}
