package consent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Names of the roles that agents are introduced with (contract section 4.1).
const (
	bootstrapRole           = "open-cluster-management:bootstrap"
	bootstrapAccountBinding = "open-cluster-management:bootstrap:agent-registration"
	bootstrapTokenBinding   = "open-cluster-management:bootstrap:managedcluster"
)

// Bootstrap makes what agents are introduced with, unless it exists. It belongs before the hub says that it is ready: an
// agent that is refused once does not ask again for an hour (contract section
// 2.3). hub reads from the API itself. confined tells that an Authorizer keeps whoever
// introduces a cluster to the ConfigMaps of kube-public; where there is none, the role
// of the field would give all of an API that belongs to others, and a role of that
// namespace does instead.
func Bootstrap(ctx context.Context, hub client.Client, confined bool) error {
	r := roles{hub: hub, live: hub}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	maps := right("", []string{"get"}, "configmaps")
	role := &rbacv1.ClusterRole{ObjectMeta: named(bootstrapRole), Rules: []rbacv1.PolicyRule{
		right(requestResource.Group, []string{"create", "get", "list", "watch"}, "certificatesigningrequests"),
		right(ocmv1.GroupName, []string{"get", "create", "list", "watch"}, "managedclusters"),
		right(ocmv1.GroupName, []string{"create"}, "managedclustersets/join"),
	}}
	account := &rbacv1.ClusterRoleBinding{ObjectMeta: named(bootstrapAccountBinding), RoleRef: roleRef(bootstrapRole), Subjects: []rbacv1.Subject{
		{Kind: rbacv1.ServiceAccountKind, Namespace: BootstrapNamespace, Name: BootstrapAccount},
	}}
	token := &rbacv1.ClusterRoleBinding{ObjectMeta: named(bootstrapTokenBinding), RoleRef: roleRef(bootstrapRole), Subjects: []rbacv1.Subject{
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: BootstrapGroup},
	}}
	wanted := []client.Object{role, account, token}
	if confined {
		role.Rules = append([]rbacv1.PolicyRule{maps}, role.Rules...)
	} else {
		public := metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: bootstrapRole}
		wanted = append(wanted, &rbacv1.Role{ObjectMeta: public, Rules: []rbacv1.PolicyRule{maps}}, &rbacv1.RoleBinding{
			ObjectMeta: public, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: bootstrapRole}, Subjects: append(account.Subjects[:1:1], token.Subjects...),
		})
	}
	for _, wanted := range wanted {
		if err := r.ensure(ctx, wanted); err != nil {
			return err
		}
	}
	for _, wanted := range []client.Object{
		&corev1.Namespace{ObjectMeta: named(BootstrapNamespace)},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: BootstrapNamespace, Name: BootstrapAccount}},
	} {
		if err := hub.Create(ctx, wanted); err != nil && !apierrors.IsAlreadyExists(err) && !ending(err) {
			return said(err, "create", wanted)
		}
	}
	return EnsureRoles(ctx, hub)
}

// ending tells that nothing can be made in a namespace because somebody deletes it,
// and something in it is held. That must not keep a hub from starting; what is not
// made now comes with the next start.
func ending(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }
