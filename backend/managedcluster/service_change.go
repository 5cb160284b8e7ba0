package managedcluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Change is what to change of a managed cluster; nil leaves it.
type Change struct {
	// Labels replace all labels but the one that names the set; LabelsSeen are those
	// that the change was made from. If they were changed since, it is refused.
	Labels     *map[string]string `json:"labels,omitempty" validate:"optional"`
	LabelsSeen *map[string]string `json:"labelsSeen,omitempty" validate:"optional"`
	// Taints replace all taints but those that the hub sets itself; TaintsSeen are
	// as LabelsSeen.
	Taints     *[]Taint `json:"taints,omitempty" validate:"optional"`
	TaintsSeen *[]Taint `json:"taintsSeen,omitempty" validate:"optional"`
	// Set is the set to be in.
	Set *string `json:"set,omitempty" validate:"optional"`
}

// grace is how long an agent may be silent (contract section 2.7).
func grace(cluster *ocmv1.ManagedCluster) time.Duration {
	seconds := cluster.Spec.LeaseDurationSeconds
	if seconds <= 0 {
		seconds = ocmv1.DefaultLeaseDurationSeconds
	}
	return time.Duration(seconds) * ocmv1.LeaseDurationTimes * time.Second
}

// Change changes a managed cluster as the actor, who needs to be an operator. It
// fails with fault.Conflict if somebody else changed the same in the meantime.
func (s *Service) Change(ctx context.Context, name string, change Change) (Row, error) {
	if change.Labels != nil {
		if err := registration.ValidateLabels(*change.Labels); err != nil {
			return Row{}, err
		}
	}
	var stored *ocmv1.ManagedCluster
	action := audit.Action{Verb: "patch", Kind: kindManaged, Name: name, Needs: access.RoleOperator, Detail: change.describe()}
	err := s.Audit.Do(ctx, action, func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		return kube.Fault(retry.RetryOnConflict(retry.DefaultRetry, func() error {
			stored, err = change.apply(ctx, hub, name)
			return err
		}))
	})
	if err != nil {
		return Row{}, err
	}
	row := rowOf(stored)
	s.complete(ctx, &row)
	return row, nil
}

// describe says for the audit which fields are changed, and to what.
func (c Change) describe() map[string]string {
	detail := map[string]string{}
	if c.Labels != nil {
		pairs := make([]string, 0, len(*c.Labels))
		for _, key := range slices.Sorted(maps.Keys(*c.Labels)) {
			pairs = append(pairs, key+"="+(*c.Labels)[key])
		}
		detail["labels"] = strings.Join(pairs, ",")
	}
	if c.Taints != nil {
		texts := make([]string, 0, len(*c.Taints))
		for _, taint := range *c.Taints {
			texts = append(texts, taint.Key+"="+taint.Value+":"+taint.Effect)
		}
		detail["taints"] = strings.Join(texts, ",")
	}
	if c.Set != nil {
		detail["set"] = *c.Set
	}
	return detail
}

// apply changes the ManagedCluster as it is now, or fails with a conflict of the
// API, which is worth another try, or with fault.Conflict, which is not.
func (c Change) apply(ctx context.Context, hub client.Client, name string) (*ocmv1.ManagedCluster, error) {
	stored, err := find(ctx, hub, name)
	if err != nil {
		return nil, err
	}
	if c.stale(stored) {
		return nil, fault.Conflict("cluster %s was changed by somebody else in the meantime", name).WithCode("changed-meanwhile").
			WithFix("look at the cluster again, then repeat the change")
	}
	wanted := stored.DeepCopy()
	if c.Labels != nil {
		wanted.Labels = maps.Clone(*c.Labels)
		if wanted.Labels == nil {
			wanted.Labels = map[string]string{}
		}
		if set, ok := stored.Labels[ocmv1.ClusterSetLabel]; ok {
			wanted.Labels[ocmv1.ClusterSetLabel] = set
		}
	}
	if c.Set != nil {
		wanted.Labels = maps.Clone(wanted.Labels)
		if wanted.Labels == nil {
			wanted.Labels = map[string]string{}
		}
		wanted.Labels[ocmv1.ClusterSetLabel] = *c.Set
	}
	if c.Taints != nil {
		wanted.Spec.Taints = mergeUserTaints(stored.Spec.Taints, *c.Taints)
	}
	err = kube.Patch(ctx, hub, stored, wanted)
	if apierrors.IsNotFound(err) {
		return nil, fault.NotFound("there is no managed cluster %s", name)
	}
	return wanted, err
}

// stale tells that what the change was made from has changed since. The agent
// writes status and lease all the time, which is no reason to refuse.
func (c Change) stale(current *ocmv1.ManagedCluster) bool {
	row := rowOf(current)
	strip := func(labels map[string]string) map[string]string {
		kept := maps.Clone(labels)
		delete(kept, ocmv1.ClusterSetLabel)
		return kept
	}
	if c.LabelsSeen != nil && !maps.Equal(strip(*c.LabelsSeen), strip(row.Labels)) {
		return true
	}
	settings := func(taints []Taint) map[string]string {
		kept := map[string]string{}
		for _, taint := range taints {
			if !slices.Contains(systemTaints, taint.Key) {
				kept[taint.Key+":"+taint.Effect] = taint.Value
			}
		}
		return kept
	}
	return c.TaintsSeen != nil && !equality.Semantic.DeepEqual(settings(*c.TaintsSeen), settings(row.Taints))
}

// mergeUserTaints keeps the hub's own taints and takes the rest from the change. A
// taint that stays keeps its time, which admission asks for (contract section 1.2).
func mergeUserTaints(current []ocmv1.Taint, wanted []Taint) []ocmv1.Taint {
	merged := slices.DeleteFunc(slices.Clone(current), func(t ocmv1.Taint) bool { return !slices.Contains(systemTaints, t.Key) })
	for _, taint := range wanted {
		if slices.Contains(systemTaints, taint.Key) {
			continue
		}
		next := ocmv1.Taint{Key: taint.Key, Value: taint.Value, Effect: ocmv1.TaintEffect(taint.Effect)}
		for i := range current {
			if old := &current[i]; old.Key == next.Key && old.Value == next.Value && old.Effect == next.Effect {
				next.TimeAdded = old.TimeAdded
			}
		}
		merged = append(merged, next)
	}
	return merged
}
