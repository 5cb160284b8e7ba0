package consent

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/token"
)

const (
	// consentRole is what operators of the dashboard need for the two consents, and
	// to make the tokens that agents are introduced with.
	consentRole = "muster:consent"
	// operators is the group that operators of the dashboard act as.
	operators = "muster:operators"
)

// EnsureRoles writes the rights that operators of the dashboard give consents
// by, on either plane; administrators have them all. It belongs after Bootstrap,
// whose service account it is about.
func EnsureRoles(ctx context.Context, hub client.Client) error {
	rule := func(group string, resources, verbs []string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs, ResourceNames: names}
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: operators}}
	reference := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: consentRole}
	}
	role := func(namespace string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: consentRole, Namespace: namespace}, Rules: rules}
	}
	binding := func(namespace string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: consentRole, Namespace: namespace}, RoleRef: reference("Role"), Subjects: subjects}
	}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: consentRole}, Rules: []rbacv1.PolicyRule{
			rule(certificatesv1.GroupName, []string{"certificatesigningrequests"}, []string{"get", "list", "watch"}),
			rule(certificatesv1.GroupName, []string{"certificatesigningrequests/approval"}, []string{"update", "patch"}),
			rule(certificatesv1.GroupName, []string{"signers"}, []string{"approve"}, certificatesv1.KubeAPIServerClientSignerName),
			rule(ocmv1.GroupName, []string{"managedclusters"}, []string{"get", "list", "watch", "update", "patch"}),
			rule(registerGroup, []string{"managedclusters/accept"}, []string{"update"}),
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: consentRole}, RoleRef: reference("ClusterRole"), Subjects: subjects},
		role(BootstrapNamespace, rule("", []string{"serviceaccounts/token"}, []string{"create"}, BootstrapAccount)),
		binding(BootstrapNamespace),
		role(token.Namespace, rule("", []string{"secrets"}, []string{"create"})),
		binding(token.Namespace),
	} {
		if err := ensure(ctx, hub, object); err != nil && !ending(err) {
			return fmt.Errorf("write role %s: %w", consentRole, err)
		}
	}
	return nil
}

// ensure creates a role or a binding, or puts the rules of a role back.
func ensure(ctx context.Context, hub client.Client, object client.Object) error {
	wanted := object.DeepCopyObject()
	err := hub.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	switch stored := object.(type) {
	case *rbacv1.ClusterRole:
		rules := wanted.(*rbacv1.ClusterRole).Rules
		if equality.Semantic.DeepEqual(stored.Rules, rules) {
			return nil
		}
		stored.Rules = rules
	case *rbacv1.Role:
		rules := wanted.(*rbacv1.Role).Rules
		if equality.Semantic.DeepEqual(stored.Rules, rules) {
			return nil
		}
		stored.Rules = rules
	default:
		return nil // whom it is given to is for administrators to change
	}
	return hub.Update(ctx, object)
}
