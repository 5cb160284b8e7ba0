package identity

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Names of the roles of a pull agent on the hub (contract section 6.3). The
// Authorizer judges agents, not these objects: clients make, expect and delete
// them, and nobody loses access when one of those clients errs.
func agentRole(cluster string) string   { return "system:karmada:" + cluster + ":agent" }
func secretsRole(cluster string) string { return agentRole(cluster) + "-secret" }
func worksRole(cluster string) string   { return agentRole(cluster) + "-work" }

// agentRoleCluster is the reverse of the names above, for any suffix.
func agentRoleCluster(name, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "system:karmada:")
	if !ok {
		return "", false
	}
	cluster, ok := strings.CutSuffix(rest, ":agent"+suffix)
	return cluster, ok && !strings.Contains(cluster, ":")
}

// agentAccess are the role objects of contract section 6.3.
func agentAccess(cluster string) []client.Object {
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: apis.AgentUserPrefix + cluster}}
	ref := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	space := apis.ExecutionSpace(cluster)
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: SystemMeta("", agentRole(cluster)), Rules: agentRules(cluster)},
		&rbacv1.ClusterRoleBinding{ObjectMeta: SystemMeta("", agentRole(cluster)), Subjects: subject, RoleRef: ref("ClusterRole", agentRole(cluster))},
		&rbacv1.Role{ObjectMeta: SystemMeta(apis.ClusterNamespace, secretsRole(cluster)), Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get", "patch"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{CredentialSecret(cluster), ImpersonatorSecret(cluster)}},
			{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: SystemMeta(apis.ClusterNamespace, secretsRole(cluster)), Subjects: subject, RoleRef: ref("Role", secretsRole(cluster))},
		&rbacv1.Role{ObjectMeta: SystemMeta(space, worksRole(cluster)), Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get", "create", "list", "watch", "update", "delete"}, APIGroups: []string{"work.karmada.io"}, Resources: []string{"works"}},
			{Verbs: []string{"patch", "update"}, APIGroups: []string{"work.karmada.io"}, Resources: []string{"works/status"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: SystemMeta(space, worksRole(cluster)), Subjects: subject, RoleRef: ref("Role", worksRole(cluster))},
	}
}

func agentRules(cluster string) []rbacv1.PolicyRule {
	own := []string{cluster}
	return []rbacv1.PolicyRule{
		{Verbs: []string{"get", "delete"}, APIGroups: []string{clusterv1alpha1.GroupName}, Resources: []string{"clusters"}, ResourceNames: own},
		{Verbs: []string{"create", "list", "watch"}, APIGroups: []string{clusterv1alpha1.GroupName}, Resources: []string{"clusters"}},
		{Verbs: []string{"update"}, APIGroups: []string{clusterv1alpha1.GroupName}, Resources: []string{"clusters/status"}, ResourceNames: own},
		{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"config.karmada.io"}, Resources: []string{"resourceinterpreterwebhookconfigurations", "resourceinterpretercustomizations"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"namespaces"}},
		{Verbs: []string{"get", "create", "update"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}},
		{Verbs: []string{"get", "create"}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}},
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"services"}},
		{Verbs: []string{"patch", "create", "update"}, APIGroups: []string{""}, Resources: []string{"events"}},
	}
}

// EnsureSpace makes the execution namespace of a cluster if it does not exist. A
// prepared one is marked until there is a Cluster and the roles belong to it.
func EnsureSpace(ctx context.Context, hub client.Client, cluster string, prepared bool) error {
	space := &corev1.Namespace{ObjectMeta: SystemMeta("", apis.ExecutionSpace(cluster))}
	if prepared {
		space.Annotations = map[string]string{AnnotationPreparedFor: cluster}
	}
	if err := hub.Create(ctx, space); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", space.Name, err)
	}
	return nil
}

// EnsureAccess makes the role objects of a pull agent, or mends them. Those of a
// Cluster belong to it; those made before it exists belong to nobody yet.
func EnsureAccess(ctx context.Context, hub client.Client, live client.Reader, name string, owner *clusterv1alpha1.Cluster) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, wanted := range agentAccess(name) {
		if owner != nil {
			wanted.SetOwnerReferences([]metav1.OwnerReference{OwnerReference(owner)})
		}
		group.Go(func() error {
			if err := ensureRoleObject(ctx, hub, live, wanted); err != nil {
				return fmt.Errorf("ensure %T %s: %w", wanted, wanted.GetName(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func ensureRoleObject(ctx context.Context, hub client.Client, live client.Reader, wanted client.Object) error {
	current, ok := wanted.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T", wanted)
	}
	err := hub.Create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	owners := current.GetOwnerReferences()
	if err := live.Get(ctx, client.ObjectKeyFromObject(current), current); err != nil {
		return client.IgnoreNotFound(err)
	}
	changed := len(owners) > 0 && !equality.Semantic.DeepEqual(current.GetOwnerReferences(), owners)
	if changed {
		current.SetOwnerReferences(owners)
	}
	if !mendRules(current, wanted) && !changed {
		return nil
	}
	return hub.Update(ctx, current)
}

// mendRules gives current the rules or subjects of wanted and says whether they
// differed.
func mendRules(current, wanted client.Object) bool {
	before := current.DeepCopyObject()
	switch wanted := wanted.(type) {
	case *rbacv1.ClusterRole:
		current.(*rbacv1.ClusterRole).Rules = wanted.Rules
	case *rbacv1.Role:
		current.(*rbacv1.Role).Rules = wanted.Rules
	case *rbacv1.ClusterRoleBinding:
		current.(*rbacv1.ClusterRoleBinding).Subjects = wanted.Subjects
	case *rbacv1.RoleBinding:
		current.(*rbacv1.RoleBinding).Subjects = wanted.Subjects
	}
	return !equality.Semantic.DeepEqual(before, current)
}

// RemoveAccess deletes the role objects of an agent. Those in the execution
// namespace go with it.
func RemoveAccess(ctx context.Context, hub client.Client, name string) error {
	for _, object := range agentAccess(name) {
		if object.GetNamespace() == apis.ExecutionSpace(name) {
			continue
		}
		if err := hub.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}
