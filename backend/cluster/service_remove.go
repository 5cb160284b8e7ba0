package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// AnnotationCleanMember on a Cluster that is being removed says that the hub is
// to take its own account out of the member afterwards. It survives a restart of
// the hub, which the request that set it does not.
const AnnotationCleanMember = "muster.dev/clean-member"

const (
	// forceAfter is how long a forced removal lets the orderly one try.
	forceAfter = 5 * time.Second
	// cleanTimeout bounds the clean-up of a member after its removal.
	cleanTimeout = 30 * time.Second
	// planTimeout bounds what a removal plan asks of a member.
	planTimeout = 5 * time.Second
)

// RemovalPlan is what removing a cluster would do.
type RemovalPlan struct {
	// Works counts what the hub keeps in the member and would take out of it.
	Works int `json:"works"`
	// NamespacesKept are the member's namespaces that would stay although the hub
	// made them, because they hold objects that it did not put there.
	NamespacesKept []string          `json:"namespacesKept"`
	Steps          []RemovalStep     `json:"steps"`
	Blockers       []joining.Blocker `json:"blockers"`
}

// RemovalStep is one step of a removal, in its order.
type RemovalStep struct {
	What  string `json:"what"`
	Where string `json:"where" enums:"hub,member"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// RemovalPlan says what removing the cluster would do and what would hold it up.
// It changes nothing. Operators may.
func (s *Service) RemovalPlan(ctx context.Context, name string) (RemovalPlan, error) {
	hub, err := s.as(ctx, access.RoleOperator)
	if err != nil {
		return RemovalPlan{}, err
	}
	cluster, err := s.find(ctx, name)
	if err != nil {
		return RemovalPlan{}, err
	}
	var works workv1alpha1.WorkList
	if err := hub.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(name))); err != nil {
		return RemovalPlan{}, fmt.Errorf("list works of %s: %w", name, kube.Fault(err))
	}
	plan := RemovalPlan{Works: len(works.Items), NamespacesKept: []string{}, Steps: []RemovalStep{}, Blockers: []joining.Blocker{}}
	if names := joining.BoundTo(ctx, hub, name); len(names) > 0 {
		plan.Steps = append(plan.Steps, RemovalStep{What: "take the cluster out of", Where: "hub", Kind: "Binding", Name: joining.Listed(names)})
	}
	plan.Steps = append(plan.Steps, removalSteps(cluster, works.Items)...)
	plan.Blockers = append(plan.Blockers, s.expectedBlockers(ctx, hub, cluster)...)
	plan.NamespacesKept = append(plan.NamespacesKept, s.keptNamespaces(ctx, cluster, works.Items)...)
	return plan, nil
}

// maxSteps bounds the Works that a plan lists one by one.
const maxSteps = 200

func removalSteps(cluster *clusterv1alpha1.Cluster, works []workv1alpha1.Work) []RemovalStep {
	steps := []RemovalStep{}
	for i := range works {
		if i == maxSteps {
			steps = append(steps, RemovalStep{What: "delete", Where: "member", Kind: "", Name: fmt.Sprintf("%d more objects", len(works)-maxSteps)})
			break
		}
		kind, target := targetOf(&works[i])
		what := "delete"
		switch {
		case works[i].Spec.PreserveResourcesOnDeletion != nil && *works[i].Spec.PreserveResourcesOnDeletion:
			what = "keep"
		case kind == "Namespace":
			what = "delete unless it holds other objects"
		}
		steps = append(steps, RemovalStep{What: what, Where: "member", Kind: kind, Name: target})
	}
	steps = append(steps,
		RemovalStep{What: "delete", Where: "hub", Kind: "Namespace", Name: apis.ExecutionSpace(cluster.Name)},
		RemovalStep{What: "delete", Where: "hub", Kind: clusterv1alpha1.ResourceKindCluster, Name: cluster.Name},
	)
	for _, ref := range []*clusterv1alpha1.LocalSecretReference{cluster.Spec.SecretRef, cluster.Spec.ImpersonatorSecretRef} {
		if ref != nil {
			steps = append(steps, RemovalStep{What: "delete", Where: "hub", Kind: "Secret", Name: ref.Namespace + "/" + ref.Name})
		}
	}
	if cluster.Spec.SyncMode != clusterv1alpha1.Push {
		return steps
	}
	return append(steps,
		RemovalStep{What: "delete", Where: "member", Kind: "ClusterRoleBinding", Name: joining.MemberRole(cluster.Name)},
		RemovalStep{What: "delete", Where: "member", Kind: "ClusterRole", Name: joining.MemberRole(cluster.Name)},
		RemovalStep{What: "delete", Where: "member", Kind: "ServiceAccount", Name: secretNamespace(cluster) + "/" + joining.MemberAccount(cluster.Name)},
		RemovalStep{What: "delete if nothing else uses it", Where: "member", Kind: "Namespace", Name: secretNamespace(cluster)},
	)
}

func secretNamespace(cluster *clusterv1alpha1.Cluster) string {
	if cluster.Spec.SecretRef != nil {
		return cluster.Spec.SecretRef.Namespace
	}
	return apis.ClusterNamespace
}

// expectedBlockers are the blockers of a removal under way or, before one, what
// would make it wait.
func (s *Service) expectedBlockers(ctx context.Context, hub client.Reader, cluster *clusterv1alpha1.Cluster) []joining.Blocker {
	if cluster.DeletionTimestamp != nil {
		return joining.FindBlockers(ctx, hub, cluster)
	}
	blockers := joining.ForeseeBlockers(ctx, hub, cluster)
	if row := s.unlinked(cluster); row.State == StateFailed || row.State == StateUnknown {
		blockers = append(blockers, joining.Blocker{
			Code: joining.BlockerMember, Names: []string{cluster.Name}, Detail: row.Message,
			What: "the member does not answer",
			Why:  row.Message,
			Fix:  "mend it first if its objects are to go with it; else they stay in the member",
		})
	}
	return blockers
}

// keptNamespaces asks a member that the hub can call which of the namespaces
// that Works made hold objects of others. Of a member that does not answer
// nothing is known; the list is then empty and the steps say "unless".
func (s *Service) keptNamespaces(ctx context.Context, cluster *clusterv1alpha1.Cluster, works []workv1alpha1.Work) []string {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	var kept []string
	var config *rest.Config
	for i := range works {
		kind, name := targetOf(&works[i])
		if kind != "Namespace" {
			continue
		}
		if config == nil {
			var err error
			if config, err = s.credentialOf(ctx, cluster); err != nil || config == nil {
				return nil
			}
		}
		found, err := joining.Strangers(ctx, config, name, func(_ schema.GroupVersionResource, object *metav1.PartialObjectMetadata) bool {
			return joining.Managed(object)
		}, 1)
		if err != nil {
			return kept
		}
		if len(found) > 0 {
			kept = append(kept, name)
		}
	}
	return kept
}

// credentialOf is the hub's own access to a push member, nil if it has none.
func (s *Service) credentialOf(ctx context.Context, cluster *clusterv1alpha1.Cluster) (*rest.Config, error) {
	if cluster.Spec.SyncMode != clusterv1alpha1.Push || cluster.Spec.SecretRef == nil || len(cluster.Spec.ProxyHeader) > 0 {
		return nil, nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: cluster.Spec.SecretRef.Namespace, Name: cluster.Spec.SecretRef.Name}
	if err := s.Hub.Get(ctx, key, &secret); err != nil {
		return nil, fmt.Errorf("read secret %s: %w", key, err)
	}
	return reach.SecretConfig(&secret, registration.Target{Server: cluster.Spec.APIEndpoint, ProxyURL: cluster.Spec.ProxyURL, Insecure: cluster.Spec.InsecureSkipTLSVerification})
}

// Remove begins the removal of a cluster and returns it as it is then; the
// hub's controllers go on and its row tells what they wait for. Operators may;
// taking away what holds it (force) is an administrator's.
func (s *Service) Remove(ctx context.Context, name, confirm string, force bool) (Cluster, error) {
	if confirm != name {
		return Cluster{}, fault.Invalid("the name was not repeated").WithField("confirm", "must be "+name)
	}
	needs := access.RoleOperator
	if force {
		needs = access.RoleAdmin
	}
	var cluster *clusterv1alpha1.Cluster
	action := audit.Action{Verb: "delete", Kind: kindCluster, Name: name, Needs: needs, Detail: map[string]string{"force": fmt.Sprint(force)}}
	err := s.Audit.Do(ctx, action, func(ctx context.Context) error {
		hub, err := s.as(ctx, needs)
		if err != nil {
			return err
		}
		if cluster, err = s.markForRemoval(ctx, hub, name); err != nil {
			return err
		}
		// Before the deletion, which takes the credential along.
		leaving := s.prepareRemoval(ctx, cluster.DeepCopy())
		if err := s.tasks.Begin(func(ctx context.Context) { s.follow(ctx, hub, leaving, force) }); err != nil {
			return err
		}
		if err := hub.Delete(ctx, cluster.DeepCopy(), client.Preconditions{UID: &cluster.UID}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete cluster %s: %w", name, kube.Fault(err))
		}
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read cluster %s: %w", name, kube.Fault(err))
		}
		return nil
	})
	if err != nil {
		return Cluster{}, err
	}
	return s.linked(fromObject(cluster)), nil
}

// markForRemoval notes on a push cluster that its member is to be cleaned.
func (s *Service) markForRemoval(ctx context.Context, hub client.Client, name string) (*clusterv1alpha1.Cluster, error) {
	var cluster clusterv1alpha1.Cluster
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, &cluster); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fault.NotFound("there is no cluster %s", name)
		}
		return nil, fmt.Errorf("read cluster %s: %w", name, kube.Fault(err))
	}
	if cluster.Spec.SyncMode != clusterv1alpha1.Push || cluster.Annotations[AnnotationCleanMember] != "" {
		return &cluster, nil
	}
	before := cluster.DeepCopy()
	if cluster.Annotations == nil {
		cluster.Annotations = map[string]string{}
	}
	cluster.Annotations[AnnotationCleanMember] = "true"
	if err := hub.Patch(ctx, &cluster, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("mark cluster %s for removal: %w", name, kube.Fault(err))
	}
	return &cluster, nil
}

// gone returns a channel that is closed when the cluster has gone.
func (s *Service) gone(cluster *clusterv1alpha1.Cluster) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := s.leaving[cluster.UID]
	if channel == nil {
		channel = make(chan struct{})
		s.leaving[cluster.UID] = channel
	}
	return channel
}

// departure is a cluster that is being removed.
type departure struct {
	cluster *clusterv1alpha1.Cluster
	gone    <-chan struct{}
	// config reaches a push member as the hub; nil if it is not to be cleaned.
	config *rest.Config
}

// prepareRemoval reads what will be needed when the cluster has gone.
func (s *Service) prepareRemoval(ctx context.Context, cluster *clusterv1alpha1.Cluster) departure {
	leaving := departure{cluster: cluster, gone: s.gone(cluster)}
	config, err := s.credentialOf(ctx, cluster)
	if err != nil {
		slog.Warn("member will not be cleaned: its credential cannot be read", "cluster", cluster.Name, "error", err)
	}
	leaving.config = config
	return leaving
}

// follow waits until the cluster has gone, with force if it does not go by
// itself, and then takes the hub's account out of a push member.
func (s *Service) follow(ctx context.Context, hub client.Client, leaving departure, force bool) {
	if force {
		s.force(ctx, hub, leaving)
	}
	select {
	case <-ctx.Done():
		return // the annotation makes the next start go on
	case <-leaving.gone:
	}
	cluster := leaving.cluster
	if leaving.config == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	clean := joining.Cleanup{Member: leaving.config, Cluster: cluster.Name, Namespace: secretNamespace(cluster), ID: cluster.Spec.ID, Own: true, Progress: joining.LogProgress(cluster.Name)}
	if err := clean.Run(ctx); err != nil {
		slog.Warn("member was not cleaned", "cluster", cluster.Name, "error", err)
		return
	}
	slog.Info("member cleaned", "cluster", cluster.Name)
}

func (s *Service) force(ctx context.Context, hub client.Client, leaving departure) {
	timer := time.NewTimer(s.ForceAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-leaving.gone:
	case <-timer.C:
		if err := joining.ForceRemoval(ctx, hub, leaving.cluster, joining.LogProgress(leaving.cluster.Name)); err != nil {
			slog.Warn("cluster could not be removed by force", "cluster", leaving.cluster.Name, "error", err)
		}
	}
}

// recover goes on with removals whose member was still to be cleaned when the
// hub stopped.
func (s *Service) recover(ctx context.Context) {
	var clusters clusterv1alpha1.ClusterList
	if err := s.Hub.List(ctx, &clusters); err != nil {
		if ctx.Err() == nil {
			slog.Warn("interrupted removals could not be looked for", "error", err)
		}
		return
	}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if cluster.DeletionTimestamp != nil && cluster.Annotations[AnnotationCleanMember] != "" {
			s.tasks.Go(func() { s.follow(ctx, s.Hub, s.prepareRemoval(ctx, cluster), false) })
		}
	}
}
