package component

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rollout is how a Deployment is doing.
type Rollout struct {
	Namespace, Name string
	// Missing says that there is no such Deployment.
	Missing bool
	Desired int32
	// Available replicas serve; Updated ones run what is wanted now.
	Available, Updated int32
	// Observed says that the status is about what is wanted now.
	Observed bool
}

// RolloutOf reads the status of a Deployment.
func RolloutOf(d *appsv1.Deployment) Rollout {
	desired := int32(1)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	return Rollout{
		Namespace: d.Namespace, Name: d.Name, Desired: desired,
		Available: d.Status.AvailableReplicas, Updated: d.Status.UpdatedReplicas,
		Observed: d.Status.ObservedGeneration >= d.Generation,
	}
}

// Unavailable is how many replicas are wanting.
func (r Rollout) Unavailable() int32 { return max(r.Desired-r.Available, 0) }

// Done says that all replicas run what is wanted, and serve.
func (r Rollout) Done() bool {
	return !r.Missing && r.Observed && r.Updated >= r.Desired && r.Available >= r.Desired
}

// GetRollout reads the Deployment called name.
func GetRollout(ctx context.Context, c client.Reader, namespace, name string) (Rollout, error) {
	d := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d); IsGone(err) {
		return Rollout{Namespace: namespace, Name: name, Missing: true}, nil
	} else if err != nil {
		return Rollout{}, err
	}
	return RolloutOf(d), nil
}

// PruneDeployments deletes the Deployments with labels that nobody wants (any more).
func PruneDeployments(ctx context.Context, c client.Client, labels map[string]string, wanted func(namespace, name string) bool) error {
	list := &appsv1.DeploymentList{}
	if err := c.List(ctx, list, client.MatchingLabels(labels)); err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	for i := range list.Items {
		if d := &list.Items[i]; !wanted(d.Namespace, d.Name) {
			if err := Remove(ctx, c, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// EndPods deletes the Deployments with labels together with their pods and says how many are still there.
func EndPods(ctx context.Context, c client.Client, labels map[string]string) (remaining []string, err error) {
	list := &appsv1.DeploymentList{}
	if err := c.List(ctx, list, client.MatchingLabels(labels)); err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		remaining = append(remaining, d.Namespace+"/"+d.Name)
		if d.DeletionTimestamp != nil {
			continue
		}
		// In the foreground: the Deployment is there for as long as one of its pods is.
		if err := c.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil && !IsGone(err) {
			return nil, fmt.Errorf("delete deployment %s/%s: %w", d.Namespace, d.Name, err)
		}
	}
	return remaining, nil
}
