package controlplane

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

// storedRoles is what the bootstrap compares with and writes to: the roles and
// bindings as four lists showed them, not one question for each.
type storedRoles struct {
	clusterRoles, roles               storedRules
	clusterRoleBindings, roleBindings storedBindings
}

// storedRules reads roles from a list, and writes them to the API.
type storedRules struct {
	reconciliation.RuleOwnerModifier
	byName map[types.NamespacedName]reconciliation.RuleOwner
}

// Get implements reconciliation.RuleOwnerModifier.
func (s storedRules) Get(namespace, name string) (reconciliation.RuleOwner, error) {
	if found, ok := s.byName[types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		return found, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("roles"), name)
}

// storedBindings reads bindings from a list, and writes them to the API.
type storedBindings struct {
	reconciliation.RoleBindingModifier
	byName map[types.NamespacedName]reconciliation.RoleBinding
}

// Get implements reconciliation.RoleBindingModifier.
func (s storedBindings) Get(namespace, name string) (reconciliation.RoleBinding, error) {
	if found, ok := s.byName[types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		return found, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("rolebindings"), name)
}

func listRoles(ctx context.Context, client kubernetes.Interface) (*storedRoles, error) {
	rbac, namespaces := client.RbacV1(), client.CoreV1().Namespaces()
	clusterRoles, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list cluster roles: %w", err)
	}
	clusterRoleBindings, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list cluster role bindings: %w", err)
	}
	roles, err := rbac.Roles(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	roleBindings, err := rbac.RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list role bindings: %w", err)
	}
	stored := &storedRoles{
		clusterRoles:        storedRules{reconciliation.ClusterRoleModifier{Client: rbac.ClusterRoles()}, map[types.NamespacedName]reconciliation.RuleOwner{}},
		roles:               storedRules{reconciliation.RoleModifier{Client: rbac, NamespaceClient: namespaces}, map[types.NamespacedName]reconciliation.RuleOwner{}},
		clusterRoleBindings: storedBindings{reconciliation.ClusterRoleBindingClientAdapter{Client: rbac.ClusterRoleBindings()}, map[types.NamespacedName]reconciliation.RoleBinding{}},
		roleBindings:        storedBindings{reconciliation.RoleBindingClientAdapter{Client: rbac, NamespaceClient: namespaces}, map[types.NamespacedName]reconciliation.RoleBinding{}},
	}
	for i := range clusterRoles.Items {
		role := &clusterRoles.Items[i]
		stored.clusterRoles.byName[types.NamespacedName{Name: role.Name}] = reconciliation.ClusterRoleRuleOwner{ClusterRole: role}
	}
	for i := range roles.Items {
		role := &roles.Items[i]
		stored.roles.byName[types.NamespacedName{Namespace: role.Namespace, Name: role.Name}] = reconciliation.RoleRuleOwner{Role: role}
	}
	for i := range clusterRoleBindings.Items {
		binding := &clusterRoleBindings.Items[i]
		stored.clusterRoleBindings.byName[types.NamespacedName{Name: binding.Name}] = reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding}
	}
	for i := range roleBindings.Items {
		binding := &roleBindings.Items[i]
		stored.roleBindings.byName[types.NamespacedName{Namespace: binding.Namespace, Name: binding.Name}] = reconciliation.RoleBindingAdapter{RoleBinding: binding}
	}
	return stored, nil
}
