package clustermanager

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

const (
	signerSecret = "signer-secret"
	bundleMap    = "ca-bundle-configmap"
	bundleKey    = "ca-bundle.crt"

	rbacManifest     = "hub/rbac.yaml"
	servicesManifest = "hub/services.yaml"
)

const (
	worksKind    = "manifestworks.work.open-cluster-management.io"
	clustersKind = "managedclusters.cluster.open-cluster-management.io"
)

// hubKinds are what clients find on a hub. Removal begins with the first four, in this order.
var hubKinds = []string{
	"managedclusteraddons.addon.open-cluster-management.io", worksKind, clustersKind, "manifestworkreplicasets.work.open-cluster-management.io",
	"managedclustersets.cluster.open-cluster-management.io", "managedclustersetbindings.cluster.open-cluster-management.io",
	"placements.cluster.open-cluster-management.io", "placementdecisions.cluster.open-cluster-management.io",
	"addonplacementscores.cluster.open-cluster-management.io", "clustermanagementaddons.addon.open-cluster-management.io",
	"addondeploymentconfigs.addon.open-cluster-management.io", "addontemplates.addon.open-cluster-management.io",
}

// values fill the manifests.
type values struct {
	Manager, HubNamespace string
	Accounts              []string
	Webhooks              []webhookValues
}

type webhookValues struct {
	Short, Account, Service, App string
	Port                         int32
}

func (p plan) values() values {
	v := values{Manager: p.name, HubNamespace: p.namespace, Accounts: []string{hubAccount}}
	for _, w := range p.webhooks() {
		v.Accounts = append(v.Accounts, w.account())
		v.Webhooks = append(v.Webhooks, webhookValues{Short: w.short, Account: w.account(), Service: w.service(), App: p.deployment(w), Port: w.bind.Port})
	}
	return v
}

// reach finds the hub: this cluster, or the one that external-hub-kubeconfig leads to.
func (r *Reconciler) reach(ctx context.Context, s *scope) error {
	if !s.plan.hosted {
		s.hub = &component.Remote{Client: r.client, Config: r.config}
		return nil
	}
	hub, reason, err := r.reachHub(ctx, s.plan)
	if err != nil {
		set(s.object, ocmoperatorv1.ConditionReadyToApply, false, reason, err.Error())
		s.again(hubRetry)
		s.halt = true
		return nil
	}
	s.hub = hub
	s.again(hubRecheck) // nothing else tells that it has fallen silent
	set(s.object, ocmoperatorv1.ConditionReadyToApply, true, reasonPrepared, "The hub at "+hub.Config.Host+" answers")
	return nil
}

// reachHub returns a client of the hub that has answered, or why there is none.
func (r *Reconciler) reachHub(ctx context.Context, p plan) (hub *component.Remote, reason string, err error) {
	where := p.namespace + "/" + ocmoperatorv1.ExternalHubKubeconfigSecret
	secret, err := component.GetSecret(ctx, r.client, p.namespace, ocmoperatorv1.ExternalHubKubeconfigSecret)
	if err != nil {
		return nil, reasonHubUnreachable, err
	}
	if secret == nil {
		return nil, reasonHubKubeconfigMissing, fmt.Errorf("there is no secret %s: make it, with an administrator's kubeconfig of the hub under key %q", where, component.KubeconfigKey)
	}
	if hub, err = r.clusters.From(secret); err != nil {
		return nil, reasonHubKubeconfigMissing, fmt.Errorf("secret %s: %w", where, err)
	}
	if err := hub.Client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
		return nil, reasonHubUnreachable, fmt.Errorf("reach the hub by secret %s: %w", where, err)
	}
	return hub, "", nil
}

func (r *Reconciler) applyNamespaces(ctx context.Context, s *scope) error {
	for _, c := range s.sides(r) {
		applier := component.NewApplier(c, s.plan.labels())
		if err := applier.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.plan.namespace}}); err != nil {
			return s.fail(reasonHubFailed, err)
		}
		s.applied = append(s.applied, applier.Applied()...)
	}
	return nil
}

// sides are the clusters that have the components' namespace: the hub, and the management cluster if that is another.
func (s *scope) sides(r *Reconciler) []client.Client {
	if s.plan.hosted {
		return []client.Client{s.hub.Client, r.client}
	}
	return []client.Client{r.client}
}

func (r *Reconciler) applyKinds(ctx context.Context, s *scope) error {
	kinds, err := component.Kinds(r.settings.Kinds, hubKinds)
	if err != nil {
		return err
	}
	applier := component.NewApplier(s.hub.Client, s.plan.labels())
	if err := applier.ApplyKinds(ctx, kinds); err != nil {
		return s.fail(reasonKindsFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	return nil
}

// migrate has all objects be stored in the current version. It runs before the kinds are applied, since an API server refuses a definition
// without a version that objects are stored in, and after it. What it says is condition MigrationSucceeded, which a hub that never needed it
// has not; a failure stops nothing else.
func (r *Reconciler) migrate(ctx context.Context, s *scope) error {
	moved, err := component.MigrateStored(ctx, s.hub.Client, hubKinds)
	switch {
	case err != nil:
		set(s.object, ocmoperatorv1.ConditionMigrationSucceeded, false, reasonMigrationFailed, err.Error())
		s.again(hubRetry)
	case len(moved) > 0:
		set(s.object, ocmoperatorv1.ConditionMigrationSucceeded, true, reasonMigrationDone, "All objects are stored in the current version; moved: "+strings.Join(moved, ", "))
	case meta.IsStatusConditionFalse(s.object.Status.Conditions, ocmoperatorv1.ConditionMigrationSucceeded):
		set(s.object, ocmoperatorv1.ConditionMigrationSucceeded, true, reasonMigrationDone, "All objects are stored in the current version")
	}
	return nil
}

func (r *Reconciler) applyPullSecret(ctx context.Context, s *scope) error {
	applier := component.NewApplier(r.client, s.plan.labels())
	if err := component.CopySecret(ctx, r.client, r.settings.Namespace, applier, s.plan.namespace, component.PullSecret); err != nil {
		return s.fail(reasonHubFailed, err)
	}
	return nil
}

// applyAccounts writes the hub's accounts and roles, and in mode Default the Services of its webhooks.
func (r *Reconciler) applyAccounts(ctx context.Context, s *scope) error {
	if err := r.ensureOperatorNamespace(ctx, s); err != nil {
		return s.fail(reasonHubFailed, err)
	}
	objects, err := r.accounts(s.plan)
	if err != nil {
		return err
	}
	applier := component.NewApplier(s.hub.Client, s.plan.labels())
	if err := applier.Apply(ctx, objects...); err != nil {
		return s.fail(reasonHubFailed, err)
	}
	s.applied = append(s.applied, applier.Applied()...)
	return nil
}

// applyCredentials gives components that run elsewhere kubeconfigs of the hub.
func (r *Reconciler) applyCredentials(ctx context.Context, s *scope) error {
	for _, c := range s.plan.credentials() {
		renew, err := c.Ensure(ctx, r.client, s.hub.Client, s.hub.Config, r.now())
		if err != nil {
			return s.fail(reasonAccountsFailed, err)
		}
		s.again(max(renew.Sub(r.now()), time.Second))
	}
	return nil
}

func (p plan) credentials() []component.Credential {
	if !p.hosted {
		return nil
	}
	var all []component.Credential
	for _, name := range []string{hubAccount, p.registration.account(), p.work.account()} {
		all = append(all, component.Credential{
			Account: client.ObjectKey{Namespace: p.namespace, Name: name},
			Secret:  client.ObjectKey{Namespace: p.namespace, Name: name + "-kubeconfig"},
			Path:    credentialDir, Labels: p.labels(),
		})
	}
	return all
}

// judge tells how the Deployments are doing.
func (r *Reconciler) judge(ctx context.Context, s *scope) error {
	var rollouts []component.Rollout
	for _, name := range []string{s.plan.hubDeployment(), s.plan.deployment(s.plan.registration), s.plan.deployment(s.plan.work)} {
		rollout, err := component.GetRollout(ctx, r.client, s.plan.namespace, name)
		if err != nil {
			return err
		}
		rollouts = append(rollouts, rollout)
	}
	s.rolling = setProgress(s.object, rollouts[0], rollouts[1:]...)
	return nil
}
