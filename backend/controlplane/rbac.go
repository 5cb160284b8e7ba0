package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

const (
	// parallelWrites bounds the bootstrap's writes in flight.
	parallelWrites = 8
	// insistPoll is how long the bootstrap waits before it tries again.
	insistPoll = 250 * time.Millisecond
)

// bootstrapRBAC writes Kubernetes' own roles and the hub's. It replaces the
// API server's hook, which polls, asks for each role by name and takes a second
// longer: what there is already is found in what the authorizer reads anyway. Those
// of Kubernetes' controllers show in what members let the proxy's
// account impersonate (contract karmada.md section 12.4).
func bootstrapRBAC(hook genericapiserver.PostStartHookContext, known rbacinformers.Interface) error {
	config := rest.CopyConfig(hook.LoopbackClientConfig)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build bootstrap client: %w", err)
	}
	stored, err := readRoles(hook, client, known)
	if err != nil {
		return err
	}
	return insist(hook, func(ctx context.Context) error { return writeRBAC(ctx, client, stored) })
}

// insist does what can be done twice until it succeeds, for a while: a start hook
// that fails ends the process, and storage on a busy disk may time out once.
func insist(ctx context.Context, write func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, insistPoll, readyLimit, true, func(ctx context.Context) (bool, error) {
		if last = write(ctx); last != nil {
			slog.Warn("what the hub starts with could not be written; it is tried again", "error", last)
		}
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// writeRBAC writes what is not stored yet, or stored otherwise.
func writeRBAC(ctx context.Context, client kubernetes.Interface, stored *storedRoles) error {
	ours := hubPolicy()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelWrites)
	for _, role := range append(append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...), ours.clusterRoles...) {
		group.Go(func() error {
			return reconcileRole(reconciliation.ClusterRoleRuleOwner{ClusterRole: &role}, stored.clusterRoles)
		})
	}
	for _, binding := range append(append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...), ours.clusterRoleBindings...) {
		group.Go(func() error {
			return reconcileBinding(reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &binding}, stored.clusterRoleBindings)
		})
	}
	for _, roles := range append(slices.Collect(maps.Values(bootstrappolicy.NamespaceRoles())), ours.roles) {
		for _, role := range roles {
			group.Go(func() error { return reconcileRole(reconciliation.RoleRuleOwner{Role: &role}, stored.roles) })
		}
	}
	for _, bindings := range append(slices.Collect(maps.Values(bootstrappolicy.NamespaceRoleBindings())), ours.roleBindings) {
		for _, binding := range bindings {
			group.Go(func() error {
				return reconcileBinding(reconciliation.RoleBindingAdapter{RoleBinding: &binding}, stored.roleBindings)
			})
		}
	}
	for _, class := range schedulingapi.SystemPriorityClasses() {
		group.Go(func() error { return ensurePriorityClass(ctx, client, class) })
	}
	return group.Wait()
}

func reconcileRole(role reconciliation.RuleOwner, client reconciliation.RuleOwnerModifier) error {
	options := reconciliation.ReconcileRoleOptions{Role: role, Client: client, Confirm: true}
	if _, err := options.Run(); err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bootstrap role %s: %w", role.GetName(), err)
	}
	return nil
}

func reconcileBinding(binding reconciliation.RoleBinding, client reconciliation.RoleBindingModifier) error {
	options := reconciliation.ReconcileRoleBindingOptions{RoleBinding: binding, Client: client, Confirm: true}
	if _, err := options.Run(); err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bootstrap role binding %s: %w", binding.GetName(), err)
	}
	return nil
}

func ensurePriorityClass(ctx context.Context, client kubernetes.Interface, class *schedulingv1.PriorityClass) error {
	_, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bootstrap priority class %s: %w", class.Name, err)
	}
	return nil
}

type policy struct {
	clusterRoles        []rbacv1.ClusterRole
	clusterRoleBindings []rbacv1.ClusterRoleBinding
	roles               []rbacv1.Role
	roleBindings        []rbacv1.RoleBinding
}

// Groups that the roles of dashboard users are impersonated as.
const (
	groupAdmins    = "muster:admins"
	groupOperators = "muster:operators"
	groupViewers   = "muster:viewers"
)

const csrGroup = "certificates.k8s.io"

// hubPolicy is what the hub adds to Kubernetes' roles: the ones that clients
// refer to by name (contract karmada.md sections 6.4, 12.4, 13) and those of
// dashboard users. The wildcard role of the registration helper is left out:
// an authorizer gives that identity the little it needs.
func hubPolicy() policy {
	const defaultTokenGroup = "system:bootstrappers:karmada:default-cluster-token"
	return policy{
		clusterRoles: []rbacv1.ClusterRole{
			clusterRole("system:karmada:certificatesigningrequest:autoapprover", rule([]string{"create"}, csrGroup, "certificatesigningrequests/clusteragent")),
			clusterRole("system:karmada:certificatesigningrequest:selfautoapprover", rule([]string{"create"}, csrGroup, "certificatesigningrequests/selfclusteragent")),
			clusterRole("cluster-proxy-admin", rule([]string{"*"}, "cluster.karmada.io", "clusters/proxy")),
			aggregated("karmada-view", []string{"view"}, []string{"get", "list", "watch"}),
			aggregated("karmada-edit", []string{"edit"}, []string{"create", "update", "patch", "delete", "deletecollection"}),
			clusterRole("muster:join-manifest", nonResource("/muster/agent/v1/manifest")),
			clusterRole("muster:viewer", append(readRules(), nonResource("/version", "/api", "/api/*", "/apis", "/apis/*", "/openapi/*"))...),
			clusterRole("muster:operator", append(readRules(), operatorRules()...)...),
		},
		clusterRoleBindings: []rbacv1.ClusterRoleBinding{
			bindGroup("system:karmada:agent-bootstrap", "system:node-bootstrapper", defaultTokenGroup),
			bindGroup("system:karmada:agent-autoapprove-bootstrap", "system:karmada:certificatesigningrequest:autoapprover", defaultTokenGroup),
			bindGroup("system:karmada:agent-autoapprove-certificate-rotation", "system:karmada:certificatesigningrequest:selfautoapprover", "system:karmada:agents"),
			bind("cluster-proxy-admin", "cluster-proxy-admin", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: adminName}),
			bindGroup("muster:join-manifest", "muster:join-manifest", "system:bootstrappers"),
			bindGroup("muster:admins", "cluster-admin", groupAdmins),
			bindGroup("muster:operators", "muster:operator", groupOperators),
			bindGroup("muster:viewers", "muster:viewer", groupViewers),
		},
		// Joining writes two kinds of credentials, and no others.
		roles:        []rbacv1.Role{secretsRole(metav1.NamespaceSystem), secretsRole("karmada-cluster")},
		roleBindings: []rbacv1.RoleBinding{bindSecrets(metav1.NamespaceSystem), bindSecrets("karmada-cluster")},
	}
}

const operatorSecrets = "muster:operator-secrets"

// secretsRole lets operators keep the join tokens (kube-system) and the member
// credentials (karmada-cluster) that joining makes.
func secretsRole(namespace string) rbacv1.Role {
	return rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: operatorSecrets, Namespace: namespace},
		Rules:      []rbacv1.PolicyRule{rule([]string{"get", "list", "create", "update", "patch", "delete"}, "", "secrets")},
	}
}

func bindSecrets(namespace string) rbacv1.RoleBinding {
	return rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorSecrets, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: operatorSecrets},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: groupOperators}},
	}
}

func readRules() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		rule(read, "cluster.karmada.io", "clusters", "clusters/status"),
		rule(read, "work.karmada.io", "*"),
		rule(read, "policy.karmada.io", "*"),
		rule(read, "", "namespaces", "events", "configmaps", "services"),
		rule(read, "apps", "*"),
		rule(read, "batch", "*"),
		rule(read, csrGroup, "certificatesigningrequests"),
	}
}

// operatorRules let an operator gather clusters: join, label, taint and remove
// them, and keep the two kinds of credentials that joining needs.
func operatorRules() []rbacv1.PolicyRule {
	write := []string{"create", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		rule(write, "cluster.karmada.io", "clusters"),
		rule(write, "policy.karmada.io", "*"),
		rule(write, "apps", "*"),
		rule(write, "batch", "*"),
		rule(write, "", "configmaps", "services"),
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"karmada.io/bootstrapping": "rbac-defaults"}},
		Rules:      rules,
	}
}

// aggregated is a role that rolls into Kubernetes' view, edit and admin.
func aggregated(name string, into, verbs []string) rbacv1.ClusterRole {
	role := clusterRole(name,
		rule(verbs, "autoscaling.karmada.io", "*"), rule(verbs, "multicluster.x-k8s.io", "*"), rule(verbs, "networking.karmada.io", "*"),
		rule(verbs, "policy.karmada.io", "propagationpolicies", "overridepolicies"),
		rule(verbs, "work.karmada.io", "resourcebindings", "works"),
	)
	for _, target := range into {
		role.Labels["rbac.authorization.k8s.io/aggregate-to-"+target] = "true"
		role.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] = "true"
	}
	return role
}

func rule(verbs []string, group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: resources}
}

func nonResource(urls ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: urls}
}

func bindGroup(name, role, group string) rbacv1.ClusterRoleBinding {
	return bind(name, role, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group})
}

func bind(name, role string, subject rbacv1.Subject) rbacv1.ClusterRoleBinding {
	return rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"karmada.io/bootstrapping": "rbac-defaults"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}
