package clustermanager

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	// rightsName is what the manifest of the hub's rights calls the role that a hub always needs, and its bindings.
	rightsName = "muster:hub"
	// hubsOwn is what the names of roles begin with that the hub itself makes, for the users of its dashboard.
	hubsOwn = "muster:"
	// bootstrapRole is the role that agents are introduced with, and what the names of its bindings begin with.
	bootstrapRole    = "open-cluster-management:bootstrap"
	bootstrapAccount = "agent-registration-bootstrap"
)

// accounts are the accounts and roles of the components on the hub, and in mode Default the Services of the webhooks.
func (r *Reconciler) accounts(p plan) ([]client.Object, error) {
	objects, err := component.Render(r.settings.Manifests, rbacManifest, p.values())
	if err != nil {
		return nil, err
	}
	rights, err := p.rights(r.settings.Rights)
	if err != nil {
		return nil, err
	}
	objects = append(objects, rights...)
	if p.hosted {
		return objects, nil
	}
	services, err := component.Render(r.settings.Manifests, servicesManifest, p.values())
	return append(objects, services...), err
}

// rights are what the manifest gives a hub that somebody else installs the kinds and webhook configurations for, given to our account.
func (p plan) rights(manifest []byte) ([]client.Object, error) {
	objects, err := component.Decode(manifest)
	if err != nil {
		return nil, fmt.Errorf("read the hub's rights: %w", err)
	}
	var ours []client.Object
	name := "open-cluster-management:" + p.name + "-registration:controller"
	for _, o := range objects {
		object, ok := o.(*unstructured.Unstructured)
		if !ok || object.GetName() != rightsName || object.GroupVersionKind().Group != rbacv1.GroupName {
			continue
		}
		object.SetName(name)
		if object.GetNamespace() == ocmoperatorv1.HubNamespace {
			object.SetNamespace(p.namespace)
		}
		if strings.HasSuffix(object.GetKind(), "Binding") {
			if err := unstructured.SetNestedField(object.Object, name, "roleRef", "name"); err != nil {
				return nil, err
			}
			object.Object["subjects"] = []any{map[string]any{"kind": rbacv1.ServiceAccountKind, "name": hubAccount, "namespace": p.namespace}}
		}
		ours = append(ours, object)
	}
	return ours, nil
}

// ensureOperatorNamespace makes, on a hub that no operator runs on, the namespace that clusters are introduced in.
func (r *Reconciler) ensureOperatorNamespace(ctx context.Context, s *scope) error {
	namespace := &corev1.Namespace{}
	err := s.hub.Client.Get(ctx, client.ObjectKey{Name: ocmoperatorv1.OperatorNamespace}, namespace)
	if !component.IsGone(err) {
		return err
	}
	namespace.Name, namespace.Labels = ocmoperatorv1.OperatorNamespace, s.plan.labels()
	return client.IgnoreAlreadyExists(s.hub.Client.Create(ctx, namespace))
}

// removeOperatorNamespace removes it again, if it is of our making.
func (r *Reconciler) removeOperatorNamespace(ctx context.Context, s *scope) error {
	if s.hub == nil || !s.plan.hosted {
		return nil
	}
	namespace := &corev1.Namespace{}
	err := s.hub.Client.Get(ctx, client.ObjectKey{Name: ocmoperatorv1.OperatorNamespace}, namespace)
	if err != nil || namespace.Labels[ocmoperatorv1.CreatedByClusterManagerLabel] != s.plan.name {
		return client.IgnoreNotFound(err)
	}
	return component.Remove(ctx, s.hub.Client, namespace)
}

// removeHubsOwn removes what the hub has made for agents and users, and nobody needs without it. What was installed for a hub that runs
// beside ours, by hand, bears another name.
func removeHubsOwn(ctx context.Context, hub client.Client) error {
	for _, list := range []client.ObjectList{
		&rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.RoleList{},
	} {
		if err := hub.List(ctx, list); err != nil {
			return fmt.Errorf("list roles: %w", err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if !ok || !isHubsOwn(object.GetName()) {
				return nil
			}
			return component.Remove(ctx, hub, object)
		})
		if err != nil {
			return err
		}
	}
	account := &corev1.ServiceAccount{}
	account.Name, account.Namespace = bootstrapAccount, ocmoperatorv1.OperatorNamespace
	return component.Remove(ctx, hub, account)
}

func isHubsOwn(name string) bool {
	return strings.HasPrefix(name, bootstrapRole) || strings.HasPrefix(name, hubsOwn) && !strings.HasPrefix(name, rightsName)
}
