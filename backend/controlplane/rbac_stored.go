package controlplane

import (
	"context"

	"k8s.io/apimachinery/pkg/util/wait"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

// storedRoles is what the bootstrap compares with and writes to: the roles and
// bindings as the authorizer's caches hold them, not one question for each.
type storedRoles struct {
	clusterRoles, roles               storedRules
	clusterRoleBindings, roleBindings storedBindings
}

// storedRules finds roles in a cache, and writes them to the API.
type storedRules struct {
	reconciliation.RuleOwnerModifier
	find func(namespace, name string) (reconciliation.RuleOwner, error)
}

// Get implements reconciliation.RuleOwnerModifier.
func (s storedRules) Get(namespace, name string) (reconciliation.RuleOwner, error) {
	return s.find(namespace, name)
}

// storedBindings finds bindings in a cache, and writes them to the API.
type storedBindings struct {
	reconciliation.RoleBindingModifier
	find func(namespace, name string) (reconciliation.RoleBinding, error)
}

// Get implements reconciliation.RoleBindingModifier.
func (s storedBindings) Get(namespace, name string) (reconciliation.RoleBinding, error) {
	return s.find(namespace, name)
}

// readRoles returns once the caches are filled.
func readRoles(ctx context.Context, client kubernetes.Interface, known rbacinformers.Interface) (*storedRoles, error) {
	for _, informer := range []cache.SharedIndexInformer{
		known.ClusterRoles().Informer(), known.ClusterRoleBindings().Informer(), known.Roles().Informer(), known.RoleBindings().Informer(),
	} {
		if err := wait.PollUntilContextCancel(ctx, storedPoll, true, func(context.Context) (bool, error) { return informer.HasSynced(), nil }); err != nil {
			return nil, err
		}
	}
	rbac, namespaces := client.RbacV1(), client.CoreV1().Namespaces()
	return &storedRoles{
		clusterRoles: storedRules{reconciliation.ClusterRoleModifier{Client: rbac.ClusterRoles()}, func(_, name string) (reconciliation.RuleOwner, error) {
			role, err := known.ClusterRoles().Lister().Get(name)
			return reconciliation.ClusterRoleRuleOwner{ClusterRole: role.DeepCopy()}, err
		}},
		roles: storedRules{reconciliation.RoleModifier{Client: rbac, NamespaceClient: namespaces}, func(namespace, name string) (reconciliation.RuleOwner, error) {
			role, err := known.Roles().Lister().Roles(namespace).Get(name)
			return reconciliation.RoleRuleOwner{Role: role.DeepCopy()}, err
		}},
		clusterRoleBindings: storedBindings{reconciliation.ClusterRoleBindingClientAdapter{Client: rbac.ClusterRoleBindings()}, func(_, name string) (reconciliation.RoleBinding, error) {
			binding, err := known.ClusterRoleBindings().Lister().Get(name)
			return reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding.DeepCopy()}, err
		}},
		roleBindings: storedBindings{reconciliation.RoleBindingClientAdapter{Client: rbac, NamespaceClient: namespaces}, func(namespace, name string) (reconciliation.RoleBinding, error) {
			binding, err := known.RoleBindings().Lister().RoleBindings(namespace).Get(name)
			return reconciliation.RoleBindingAdapter{RoleBinding: binding.DeepCopy()}, err
		}},
	}, nil
}
