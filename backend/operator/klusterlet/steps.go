package klusterlet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	// managedRetry is how soon a managed cluster that could not be reached is tried again.
	managedRetry = 10 * time.Second
	// manifest names.
	managedManifest    = "agent/managed.yaml"
	managementManifest = "agent/management.yaml"
)

// agentKinds are what the agents keep on the managed cluster.
var agentKinds = []string{"appliedmanifestworks.work.open-cluster-management.io", "clusterclaims.cluster.open-cluster-management.io"}

// values fill the manifests.
type values struct {
	Klusterlet, AgentNamespace, ManagedNamespace, AddonNamespace string
	RegistrationAccount, WorkAccount                             string
	Accounts                                                     []string
	Hosted                                                       bool
}

func (p plan) values() values {
	return values{
		Klusterlet: p.name, AgentNamespace: p.agentNamespace, ManagedNamespace: p.managedNamespace, AddonNamespace: ocmoperatorv1.AgentAddonNamespace,
		RegistrationAccount: p.registrationAccount(), WorkAccount: p.workAccount(), Accounts: p.accounts(), Hosted: p.mode.IsHosted(),
	}
}

// prepare finds the managed cluster: this one, or the one that external-managed-kubeconfig leads to.
func (r *Reconciler) prepare(ctx context.Context, s *scope) error {
	if !s.plan.mode.IsHosted() {
		s.managed = &component.Remote{Client: r.client, Config: r.config}
		return nil
	}
	managed, made, err := r.reachManaged(ctx, s.plan)
	if err != nil {
		set(s.object, ocmoperatorv1.ConditionReadyToApply, false, reasonPrepareFailed, "The managed cluster cannot be reached: "+word(err))
		s.again(managedRetry)
		s.halt = true
		// Whether the hub can be reached is of interest all the same.
		return r.connect(ctx, s)
	}
	s.managed = managed
	set(s.object, ocmoperatorv1.ConditionReadyToApply, true, reasonPrepared,
		"Klusterlet is ready to apply, the external managed kubeconfig secret was created at: "+made.UTC().Format(time.RFC3339))
	return r.addFinalizer(ctx, s, ocmoperatorv1.KlusterletHostedFinalizer)
}

// reachManaged returns a client of the managed cluster that has answered.
func (r *Reconciler) reachManaged(ctx context.Context, p plan) (*component.Remote, time.Time, error) {
	secret, err := component.GetSecret(ctx, r.client, p.agentNamespace, ocmoperatorv1.ExternalManagedKubeconfigSecret)
	if err != nil {
		return nil, time.Time{}, err
	}
	if secret == nil {
		return nil, time.Time{}, errNoManagedSecret{namespace: p.agentNamespace}
	}
	managed, err := r.clusters.From(secret)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("secret %s/%s: %w", p.agentNamespace, ocmoperatorv1.ExternalManagedKubeconfigSecret, err)
	}
	if err := managed.Client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
		return nil, time.Time{}, err
	}
	return managed, secret.CreationTimestamp.Time, nil
}

// errNoManagedSecret says that a user has not made, or has removed, the Secret that leads to the managed cluster.
type errNoManagedSecret struct{ namespace string }

func (e errNoManagedSecret) Error() string {
	return fmt.Sprintf("there is no secret %s/%s with the managed cluster's kubeconfig under key %q", e.namespace, ocmoperatorv1.ExternalManagedKubeconfigSecret, component.KubeconfigKey)
}

func (r *Reconciler) applyKinds(ctx context.Context, s *scope) error {
	kinds, err := component.Kinds(r.settings.Kinds, agentKinds)
	if err != nil {
		return err
	}
	applier := component.NewApplier(s.managed.Client, s.plan.labels())
	if err := applier.ApplyKinds(ctx, kinds); err != nil {
		return s.fail(reasonKindsFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	return nil
}

func (r *Reconciler) applyManaged(ctx context.Context, s *scope) error {
	applier := component.NewApplier(s.managed.Client, s.plan.labels())
	if err := r.render(ctx, applier, managedManifest, s.plan); err != nil {
		return s.fail(reasonManagedFailed, err)
	}
	for _, namespace := range []string{s.plan.managedNamespace, ocmoperatorv1.AgentAddonNamespace} {
		if err := component.CopySecret(ctx, r.client, r.settings.Namespace, applier, namespace, component.PullSecret); err != nil {
			return s.fail(reasonManagedFailed, err)
		}
	}
	s.applied = append(s.applied, applier.Applied()...)
	return nil
}

func (r *Reconciler) applyManagement(ctx context.Context, s *scope) error {
	applier := component.NewApplier(r.client, s.plan.labels())
	if err := r.render(ctx, applier, managementManifest, s.plan); err != nil {
		return s.fail(reasonManagementFailed, err)
	}
	if err := component.CopySecret(ctx, r.client, r.settings.Namespace, applier, s.plan.agentNamespace, component.PullSecret); err != nil {
		return s.fail(reasonManagementFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	return nil
}

func (r *Reconciler) render(ctx context.Context, applier *component.Applier, manifest string, p plan) error {
	objects, err := component.Render(r.settings.Manifests, manifest, p.values())
	if err != nil {
		return err
	}
	return applier.Apply(ctx, objects...)
}

// applyCredentials gives hosted agents kubeconfigs of the managed cluster.
func (r *Reconciler) applyCredentials(ctx context.Context, s *scope) error {
	for _, c := range s.plan.credentials() {
		renew, err := c.Ensure(ctx, r.client, s.managed.Client, s.managed.Config, r.now())
		if err != nil {
			return s.fail(reasonManagementFailed, err)
		}
		s.again(max(renew.Sub(r.now()), time.Second))
	}
	return nil
}

func (p plan) credentials() []component.Credential {
	if !p.mode.IsHosted() {
		return nil
	}
	credential := func(agent, account string) component.Credential {
		return component.Credential{
			Account: client.ObjectKey{Namespace: p.managedNamespace, Name: account},
			Secret:  client.ObjectKey{Namespace: p.agentNamespace, Name: ocmoperatorv1.ExternalManagedKubeconfigSecret + "-" + agent},
			Path:    memberDir, Labels: p.labels(),
		}
	}
	if p.mode.IsSingleton() {
		return []component.Credential{credential("agent", p.workAccount())}
	}
	return []component.Credential{credential("registration", p.registrationAccount()), credential("work", p.workAccount())}
}

// applyAgents writes the Deployments and removes those that another mode had made.
func (r *Reconciler) applyAgents(ctx context.Context, s *scope) error {
	applier := component.NewApplier(r.client, nil)
	wanted := map[string]bool{}
	for _, agent := range s.plan.agents(s.object, s.hub.bootstrap, s.hub.cluster, s.hub.credentials) {
		if err := applier.Apply(ctx, agent.Deployment()); err != nil {
			return s.fail(reasonApplyFailed, err)
		}
		wanted[agent.Name] = true
	}
	if err := component.PruneDeployments(ctx, r.client, s.plan.labels(), func(namespace, name string) bool {
		return namespace == s.plan.agentNamespace && wanted[name]
	}); err != nil {
		return s.fail(reasonApplyFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	set(s.object, ocmoperatorv1.ConditionApplied, true, reasonApplied, "Klusterlet Component Applied")
	s.object.Status.ObservedGeneration = s.object.Generation
	return nil
}

// judge tells how the Deployments are doing.
func (r *Reconciler) judge(ctx context.Context, s *scope) error {
	first, second := s.plan.deployments()
	registration, err := component.GetRollout(ctx, r.client, s.plan.agentNamespace, first)
	if err != nil {
		return err
	}
	work, err := component.GetRollout(ctx, r.client, s.plan.agentNamespace, second)
	if err != nil {
		return err
	}
	setAvailability(s.object, registration, work)
	return nil
}

// leaveOldNamespaces removes what an earlier spec.namespace has left on the managed cluster.
func (r *Reconciler) leaveOldNamespaces(ctx context.Context, s *scope) error {
	list := &corev1.NamespaceList{}
	if err := s.managed.Client.List(ctx, list, client.MatchingLabels{ocmoperatorv1.KlusterletNamespaceLabel: s.plan.name}); err != nil {
		return fmt.Errorf("list agent namespaces: %w", err)
	}
	for i := range list.Items {
		if namespace := &list.Items[i]; namespace.Name != s.plan.managedNamespace && namespace.DeletionTimestamp == nil {
			if err := component.Remove(ctx, s.managed.Client, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// fail says in condition Applied what could not be written, and hands the error on to be tried again.
func (s *scope) fail(reason string, err error) error {
	set(s.object, ocmoperatorv1.ConditionApplied, false, reason, word(err))
	return err
}
