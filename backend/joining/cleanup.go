package joining

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/reach"
)

// Cleanup takes out of a member what registering it put there, and nothing that
// belongs to another registration or to somebody else.
type Cleanup struct {
	// Member reaches the member.
	Member *rest.Config
	// Cluster is the name the member was registered under.
	Cluster string
	// Namespace of the accounts; empty for karmada-cluster.
	Namespace string
	// ID is the identity the member must have; empty skips the check.
	ID string
	// Own says that Member uses the very account that goes. It then loses its
	// rights half-way, so the last of it is left to the member's garbage collector.
	Own bool
	// Progress is told what was removed and what was kept; it may be nil.
	Progress Progress
}

// cleanup is one run of a Cleanup.
type cleanup struct {
	Cleanup
	client kubernetes.Interface
	// others are accounts of other registrations in the namespace, strangers
	// objects nobody of us put there. Set by survey.
	others, strangers []string
	// namespaceUID is empty if the namespace does not exist or is not ours.
	namespaceUID types.UID
}

// Run cleans the member. Things that are gone already are fine; what remains on
// purpose is told through Progress.
func (c Cleanup) Run(ctx context.Context) error {
	if c.Namespace == "" {
		c.Namespace = apis.ClusterNamespace
	}
	client, err := reach.NewClient(c.Member)
	if err != nil {
		return err
	}
	run := &cleanup{Cleanup: c, client: client}
	return c.Progress.run("clean", "remove the hub's accounts from the member", func() error {
		if err := run.survey(ctx); err != nil {
			return err
		}
		if err := run.removeImpersonator(ctx); err != nil {
			return err
		}
		if run.Own {
			return run.removeOwnAccount(ctx)
		}
		return run.removeAccount(ctx)
	})
}

// survey finds out whose the namespace is.
func (c *cleanup) survey(ctx context.Context) error {
	id, err := reach.ID(ctx, c.client)
	if err != nil {
		return err
	}
	if c.ID != "" && c.ID != id {
		return fault.Conflict("the kubeconfig leads to cluster %s, but %s was registered from %s: nothing was removed there", id, c.Cluster, c.ID).
			WithFix("choose the right context with --cluster-context, or clean the member by hand")
	}
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, c.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return reach.Fault("read namespace "+c.Namespace, err)
	}
	accounts, err := c.client.CoreV1().ServiceAccounts(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return reach.Fault("list service accounts in "+c.Namespace, err)
	}
	for i := range accounts.Items {
		name := accounts.Items[i].Name
		if strings.HasPrefix(name, accountPrefix) && name != ImpersonatorAccount && name != MemberAccount(c.Cluster) {
			c.others = append(c.others, name)
		}
	}
	if len(c.others) == 0 {
		if c.strangers, err = Strangers(ctx, c.Member, c.Namespace, c.isOurs, maxNamed); err != nil {
			return err
		}
	}
	switch {
	case len(c.others) > 0:
		c.Progress.say("clean", StepSkipped, "kept namespace "+c.Namespace+": other registrations use it: "+Listed(c.others))
	case len(c.strangers) > 0:
		c.Progress.say("clean", StepSkipped, "kept namespace "+c.Namespace+": it holds objects that the hub did not put there: "+Listed(c.strangers))
	case namespace.Labels[apis.SystemLabel] != apis.LabelTrue:
		c.Progress.say("clean", StepSkipped, "kept namespace "+c.Namespace+": it was not made by a registration")
	default:
		c.namespaceUID = namespace.UID
	}
	return nil
}

// isOurs says whether an object in the accounts' namespace is ours or
// Kubernetes' own.
func (c *cleanup) isOurs(resource schema.GroupVersionResource, object *metav1.PartialObjectMetadata) bool {
	accounts := []string{MemberAccount(c.Cluster), ImpersonatorAccount}
	switch resource.Resource {
	case "serviceaccounts":
		return slices.Contains(accounts, object.Name)
	case "secrets":
		return slices.Contains(accounts, object.Annotations[corev1.ServiceAccountNameKey])
	}
	return false
}

// removeImpersonator removes what all registrations share, once none is left.
// Its role comes as a Work; only one that a Work marked is removed.
func (c *cleanup) removeImpersonator(ctx context.Context) error {
	if len(c.others) > 0 {
		return nil
	}
	bindings, roles := c.client.RbacV1().ClusterRoleBindings(), c.client.RbacV1().ClusterRoles()
	if binding, err := bindings.Get(ctx, ImpersonatorAccount, metav1.GetOptions{}); err == nil && Managed(binding) {
		if err := bindings.Delete(ctx, binding.Name, onlyThis(binding.UID)); ignoreNotFound(err) != nil {
			return reach.Fault("delete cluster role binding "+binding.Name, err)
		}
	}
	if role, err := roles.Get(ctx, ImpersonatorAccount, metav1.GetOptions{}); err == nil && Managed(role) {
		if err := roles.Delete(ctx, role.Name, onlyThis(role.UID)); ignoreNotFound(err) != nil {
			return reach.Fault("delete cluster role "+role.Name, err)
		}
	}
	return c.removeServiceAccount(ctx, ImpersonatorAccount)
}

// Managed says whether an object in a member was put there by a hub.
func Managed(object metav1.Object) bool {
	return object.GetLabels()[apis.ManagedLabel] == apis.LabelTrue
}

// removeServiceAccount removes an account and its token, even where nothing runs
// that would remove the token.
func (c *cleanup) removeServiceAccount(ctx context.Context, name string) error {
	err := c.client.CoreV1().ServiceAccounts(c.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if ignoreNotFound(err) != nil {
		return reach.Fault("delete service account "+name, err)
	}
	secrets := c.client.CoreV1().Secrets(c.Namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil || secret.Annotations[corev1.ServiceAccountNameKey] != name {
		return nil // gone, or not a token of ours
	}
	if err := secrets.Delete(ctx, name, onlyThis(secret.UID)); ignoreNotFound(err) != nil {
		return reach.Fault("delete secret "+name, err)
	}
	return nil
}

// removeAccount removes the hub's account with the operator's credential, in
// the order of contract section 4.4 step 3.
func (c *cleanup) removeAccount(ctx context.Context) error {
	name := MemberRole(c.Cluster)
	if err := c.client.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
		return reach.Fault("delete cluster role binding "+name, err)
	}
	if err := c.client.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
		return reach.Fault("delete cluster role "+name, err)
	}
	if err := c.removeServiceAccount(ctx, MemberAccount(c.Cluster)); err != nil {
		return err
	}
	if err := c.removeNamespace(ctx); err != nil || c.namespaceUID == "" {
		return err
	}
	c.hurry(ctx)
	return nil
}

// hurry finishes the deletion of the namespace, which nobody else uses, at once.
// If that is not possible, the member does it a few seconds later.
func (c *cleanup) hurry(ctx context.Context) {
	config := rest.CopyConfig(c.Member)
	config.QPS = -1
	purger, err := kube.NewPurger(config)
	if err == nil {
		_, err = purger.Purge(ctx, c.Namespace)
	}
	if err != nil {
		c.Progress.say("clean", StepSkipped, "namespace "+c.Namespace+" will go in a few seconds")
	}
}

func (c *cleanup) removeNamespace(ctx context.Context) error {
	if c.namespaceUID == "" {
		return nil
	}
	if err := c.client.CoreV1().Namespaces().Delete(ctx, c.Namespace, onlyThis(c.namespaceUID)); ignoreNotFound(err) != nil {
		return reach.Fault("delete namespace "+c.Namespace, err)
	}
	return nil
}

// removeOwnAccount lets the account saw off the branch it sits on in one cut:
// everything is made to depend on the one object that is deleted last, and the
// member's garbage collector does the rest.
func (c *cleanup) removeOwnAccount(ctx context.Context) error {
	name := MemberRole(c.Cluster)
	if c.namespaceUID != "" {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: c.Namespace, UID: c.namespaceUID}
		if err := c.dependOn(ctx, owner, "cluster role "+name, func(ctx context.Context, patch []byte) error {
			_, err := c.client.RbacV1().ClusterRoles().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		}); err != nil {
			return err
		}
		if err := c.bindingDependsOn(ctx, owner); err != nil {
			return err
		}
		return c.removeNamespace(ctx)
	}
	role, err := c.client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(reach.Fault("read cluster role "+name, err))
	}
	owner := metav1.OwnerReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name, UID: role.UID}
	if err := c.dependOn(ctx, owner, "service account "+MemberAccount(c.Cluster), func(ctx context.Context, patch []byte) error {
		_, err := c.client.CoreV1().ServiceAccounts(c.Namespace).Patch(ctx, MemberAccount(c.Cluster), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}); err != nil {
		return err
	}
	if err := c.dependOn(ctx, owner, "secret "+MemberAccount(c.Cluster), func(ctx context.Context, patch []byte) error {
		_, err := c.client.CoreV1().Secrets(c.Namespace).Patch(ctx, MemberAccount(c.Cluster), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}); err != nil {
		return err
	}
	if err := c.bindingDependsOn(ctx, owner); err != nil {
		return err
	}
	if err := c.client.RbacV1().ClusterRoles().Delete(ctx, name, onlyThis(role.UID)); ignoreNotFound(err) != nil {
		return reach.Fault("delete cluster role "+name, err)
	}
	return nil
}

func (c *cleanup) bindingDependsOn(ctx context.Context, owner metav1.OwnerReference) error {
	name := MemberRole(c.Cluster)
	return c.dependOn(ctx, owner, "cluster role binding "+name, func(ctx context.Context, patch []byte) error {
		_, err := c.client.RbacV1().ClusterRoleBindings().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func (c *cleanup) dependOn(ctx context.Context, owner metav1.OwnerReference, what string, write func(context.Context, []byte) error) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{owner}}})
	if err != nil {
		return fmt.Errorf("encode owner of %s: %w", what, err)
	}
	if err := write(ctx, patch); ignoreNotFound(err) != nil {
		return reach.Fault("hand over "+what, err)
	}
	return nil
}
