package managedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// RemovalPlan is what removing a managed cluster would do, and what would hold it
// up.
type RemovalPlan struct {
	// Works are the ManifestWorks that are deleted first, with what they put into
	// the cluster.
	Works    []PlannedWork `json:"works"`
	Steps    []PlanStep    `json:"steps"`
	Blockers []Blocker     `json:"blockers"`
}

// PlannedWork is one ManifestWork of a removal.
type PlannedWork struct {
	Name      string `json:"name"`
	Manifests int    `json:"manifests"`
	// Policy says what becomes of its objects in the cluster.
	Policy string `json:"policy" enums:"Foreground,Orphan,SelectivelyOrphan"`
}

// PlanStep is one step of a removal, in its order.
type PlanStep struct {
	What string `json:"what" enums:"delete,keep"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// The codes of blockers: a page words them in its reader's language.
const (
	// BlockerAgent: the agent does not answer, and the Works named wait for it.
	BlockerAgent = "agent"
	// BlockerWorks: Works are held by finalizers of others, as "work (finalizer)".
	BlockerWorks = "works"
	// BlockerFinalizer: somebody else's finalizer, which the names hold.
	BlockerFinalizer = "finalizer"
)

// Blocker is something that keeps a managed cluster from going away: a code with
// the names that belong to it, and the same in English.
type Blocker struct {
	Code  string   `json:"code" enums:"agent,works,finalizer"`
	Names []string `json:"names"`
	What  string   `json:"what"`
	Why   string   `json:"why"`
	Fix   string   `json:"fix"`
}

// RemovalPlan says what removing the cluster would do and what would hold it up.
// It changes nothing. Operators may.
func (s *Service) RemovalPlan(ctx context.Context, name string) (RemovalPlan, error) {
	hub, err := s.as(ctx, access.RoleOperator)
	if err != nil {
		return RemovalPlan{}, err
	}
	cluster, err := find(ctx, s.Cache, name)
	if err != nil {
		return RemovalPlan{}, err
	}
	var works ocmworkv1.ManifestWorkList
	if err := hub.List(ctx, &works, client.InNamespace(name)); err != nil {
		return RemovalPlan{}, fmt.Errorf("list manifest works of %s: %w", name, kube.Fault(err))
	}
	plan := RemovalPlan{Works: []PlannedWork{}, Steps: []PlanStep{}, Blockers: []Blocker{}}
	for i := range works.Items {
		work := &works.Items[i]
		planned := PlannedWork{Name: work.Name, Manifests: len(work.Spec.Workload.Manifests), Policy: string(ocmworkv1.DeleteForeground)}
		if option := work.Spec.DeleteOption; option != nil && option.PropagationPolicy != "" {
			planned.Policy = string(option.PropagationPolicy)
		}
		plan.Works = append(plan.Works, planned)
	}
	plan.Steps = removalSteps(ctx, hub, cluster)
	plan.Blockers = append(plan.Blockers, blockers(cluster, works.Items)...)
	return plan, nil
}

func removalSteps(ctx context.Context, hub client.Reader, cluster *ocmv1.ManagedCluster) []PlanStep {
	var steps []PlanStep
	role := "open-cluster-management:managedcluster:" + cluster.Name
	if !registration.Mirrored(cluster) && cluster.Spec.HubAcceptsClient {
		steps = append(steps, PlanStep{"delete", "ClusterRole, ClusterRoleBinding", role}, PlanStep{"delete", "RoleBinding", cluster.Name + "/" + role})
	}
	steps = append(steps, PlanStep{"delete", kindManaged, cluster.Name})
	if hub.Get(ctx, client.ObjectKey{Name: cluster.Name}, &clusterv1alpha1.Cluster{}) == nil {
		steps = append(steps, PlanStep{"delete", clusterv1alpha1.ResourceKindCluster, cluster.Name})
	}
	if hub.Get(ctx, client.ObjectKey{Name: cluster.Name}, &corev1.Namespace{}) == nil {
		steps = append(steps, PlanStep{"keep", "Namespace", cluster.Name})
	}
	return steps
}

// blockers are what would make a removal wait, or makes one wait that is under way.
func blockers(cluster *ocmv1.ManagedCluster, works []ocmworkv1.ManifestWork) []Blocker {
	var found []Blocker
	if row := rowOf(cluster); len(works) > 0 && row.Available != string(metav1.ConditionTrue) {
		names := make([]string, len(works))
		for i := range works {
			names[i] = works[i].Name
		}
		found = append(found, Blocker{
			Code: BlockerAgent, Names: names,
			What: "the cluster's agent does not answer",
			Why:  fmt.Sprintf("it has to take the objects of %d ManifestWorks out of the cluster", len(works)),
			Fix:  "mend the agent first, or delete the finalizer " + ocmworkv1.ManifestWorkFinalizer + " of the works; their objects then stay in the cluster",
		})
	}
	var held []string
	for i := range works {
		for _, finalizer := range works[i].Finalizers {
			if finalizer != ocmworkv1.ManifestWorkFinalizer {
				held = append(held, works[i].Name+" ("+finalizer+")")
			}
		}
	}
	if slices.Sort(held); len(held) > 0 {
		found = append(found, Blocker{
			Code: BlockerWorks, Names: held,
			What: "ManifestWorks held by others: " + strings.Join(held, ", "), Why: "something other than the agent asked to be waited for",
			Fix: "find what set the finalizers, or remove them: kubectl edit manifestwork -n " + cluster.Name,
		})
	}
	for _, finalizer := range cluster.Finalizers {
		switch finalizer {
		case ocmv1.ManagedClusterFinalizer, ocmv1.ResourceCleanupFinalizer, registration.FinalizerFleet:
			continue
		}
		found = append(found, Blocker{
			Code: BlockerFinalizer, Names: []string{finalizer},
			What: "finalizer " + finalizer, Why: "something other than the hub asked to be waited for",
			Fix: "find what set it, or remove it: kubectl edit managedcluster " + cluster.Name,
		})
	}
	return found
}

// Remove begins the removal of a managed cluster and returns it as it is then; the
// hub's controllers go on, and its row tells what they wait for. Operators may.
func (s *Service) Remove(ctx context.Context, name, confirm string) (Row, error) {
	if confirm != name {
		return Row{}, fault.Invalid("the name was not repeated").WithField("confirm", "must be "+name)
	}
	var cluster *ocmv1.ManagedCluster
	action := audit.Action{Verb: "delete", Kind: kindManaged, Name: name, Needs: access.RoleOperator}
	err := s.Audit.Do(ctx, action, func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		if cluster, err = find(ctx, hub, name); err != nil {
			return err
		}
		if err := hub.Delete(ctx, cluster.DeepCopy(), client.Preconditions{UID: &cluster.UID}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete managed cluster %s: %w", name, kube.Fault(err))
		}
		now, err := find(ctx, hub, name)
		if fault.Is(err, fault.KindNotFound) {
			return nil
		}
		if err == nil {
			cluster = now
		}
		return err
	})
	if err != nil {
		return Row{}, err
	}
	row := rowOf(cluster)
	s.complete(ctx, &row)
	return row, nil
}
