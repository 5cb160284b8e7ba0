package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Change is what to change of a cluster; nil leaves it.
type Change struct {
	// ResourceVersion is of the row that the change was made from. If the same
	// fields were changed since, the change is refused.
	ResourceVersion string `json:"resourceVersion,omitempty" validate:"optional"`
	// Labels replace all labels.
	Labels *map[string]string `json:"labels,omitempty" validate:"optional"`
	// Taints replace all taints but those that the hub sets itself.
	Taints   *[]Taint  `json:"taints,omitempty" validate:"optional"`
	Cordoned *bool     `json:"cordoned,omitempty" validate:"optional"`
	Provider *string   `json:"provider,omitempty" validate:"optional"`
	Region   *string   `json:"region,omitempty" validate:"optional"`
	Zones    *[]string `json:"zones,omitempty" validate:"optional"`
}

// Change changes a cluster as the actor, who needs to be an operator. It fails
// with fault.Conflict if somebody else changed the same in the meantime.
func (s *Service) Change(ctx context.Context, name string, change Change) (Cluster, error) {
	if change.Labels != nil {
		if err := registration.ValidateLabels(*change.Labels); err != nil {
			return Cluster{}, err
		}
	}
	var stored clusterv1alpha1.Cluster
	action := audit.Action{Verb: "patch", Kind: kindCluster, Name: name, Needs: access.RoleOperator, Detail: change.describe()}
	err := s.Audit.Do(ctx, action, func(ctx context.Context) error {
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		return retry.RetryOnConflict(retry.DefaultRetry, func() error { return change.apply(ctx, hub, name, &stored) })
	})
	if err != nil {
		return Cluster{}, kube.Fault(err)
	}
	return s.row(&stored), nil
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
	if c.Cordoned != nil {
		detail["cordoned"] = fmt.Sprint(*c.Cordoned)
	}
	for name, value := range map[string]*string{"provider": c.Provider, "region": c.Region} {
		if value != nil {
			detail[name] = *value
		}
	}
	if c.Zones != nil {
		detail["zones"] = strings.Join(*c.Zones, ",")
	}
	return detail
}

// apply changes the Cluster as it is now, or fails with a conflict of the API,
// which is worth another try, or with fault.Conflict, which is not.
func (c Change) apply(ctx context.Context, hub client.Client, name string, stored *clusterv1alpha1.Cluster) error {
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		if apierrors.IsNotFound(err) {
			return fault.NotFound("there is no cluster %s", name)
		}
		return err
	}
	if c.ResourceVersion != "" && c.ResourceVersion != stored.ResourceVersion {
		if err := c.refuseOverwrite(ctx, hub, stored); err != nil {
			return err
		}
	}
	before := stored.DeepCopy()
	c.edit(stored)
	return kube.Patch(ctx, hub, before, stored)
}

// refuseOverwrite compares the fields to change with what they were when the
// actor saw them. A member's status changes all the time and is no reason to
// refuse; if the old version is not known any more, any difference is.
func (c Change) refuseOverwrite(ctx context.Context, hub client.Client, current *clusterv1alpha1.Cluster) error {
	conflict := fault.Conflict("cluster %s was changed by somebody else in the meantime", current.Name).WithCode("changed-meanwhile").
		WithFix("look at the cluster again, then repeat the change")
	var list clusterv1alpha1.ClusterList
	err := hub.List(ctx, &list, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", current.Name)},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: c.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}})
	if err != nil || len(list.Items) != 1 {
		return conflict
	}
	seen := &list.Items[0]
	same := seen.UID == current.UID &&
		(c.Labels == nil || maps.Equal(seen.Labels, current.Labels)) &&
		(c.Taints == nil && c.Cordoned == nil || equality.Semantic.DeepEqual(userTaints(seen.Spec.Taints), userTaints(current.Spec.Taints))) &&
		(c.Provider == nil || seen.Spec.Provider == current.Spec.Provider) &&
		(c.Region == nil || seen.Spec.Region == current.Spec.Region) &&
		(c.Zones == nil || slices.Equal(zonesOf(seen), zonesOf(current)))
	if !same {
		return conflict
	}
	return nil
}

// userTaints are the taints that are not the hub's.
func userTaints(taints []corev1.Taint) []corev1.Taint {
	var kept []corev1.Taint
	for _, taint := range taints {
		if !slices.Contains(systemTaints, taint.Key) {
			kept = append(kept, taint)
		}
	}
	return kept
}

func (c Change) edit(cluster *clusterv1alpha1.Cluster) {
	if c.Labels != nil {
		cluster.Labels = maps.Clone(*c.Labels)
	}
	if c.Taints != nil {
		cluster.Spec.Taints = c.mergeTaints(cluster.Spec.Taints)
	}
	if c.Cordoned != nil {
		cluster.Spec.Taints = cordon(cluster.Spec.Taints, *c.Cordoned)
	}
	if c.Provider != nil {
		cluster.Spec.Provider = *c.Provider
	}
	if c.Region != nil {
		cluster.Spec.Region = *c.Region
	}
	if c.Zones != nil {
		cluster.Spec.Zones, cluster.Spec.Zone = slices.Clone(*c.Zones), ""
	}
}

// mergeTaints keeps the hub's own taints and takes the rest from the change. A
// taint that stays keeps the time it was added.
func (c Change) mergeTaints(current []corev1.Taint) []corev1.Taint {
	var merged []corev1.Taint
	for _, taint := range current {
		if slices.Contains(systemTaints, taint.Key) {
			merged = append(merged, taint)
		}
	}
	for _, wanted := range *c.Taints {
		if slices.Contains(systemTaints, wanted.Key) {
			continue
		}
		taint := corev1.Taint{Key: wanted.Key, Value: wanted.Value, Effect: corev1.TaintEffect(wanted.Effect)}
		for _, old := range current {
			if old.Key == taint.Key && old.Effect == taint.Effect {
				taint.TimeAdded = old.TimeAdded
			}
		}
		merged = append(merged, taint)
	}
	return merged
}

// cordon adds or removes the taint of contract section 3.6.
func cordon(taints []corev1.Taint, on bool) []corev1.Taint {
	kept := slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Key == clusterv1alpha1.TaintClusterUnschedulable })
	if on {
		kept = append(kept, corev1.Taint{Key: clusterv1alpha1.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	return kept
}
