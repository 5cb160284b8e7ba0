package component

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
)

// FieldOwner is the name under which the operators apply.
const FieldOwner = "muster-operator"

// Reference names one object that was applied.
type Reference struct {
	Group, Version, Resource, Namespace, Name string
	// Generation is what the API server answered; 0 for kinds that have none.
	Generation int64
}

// Applier writes objects to one cluster and remembers what it wrote.
type Applier struct {
	client  client.Client
	labels  map[string]string
	applied []Reference
}

// NewApplier returns an applier that puts labels on everything it writes.
func NewApplier(c client.Client, labels map[string]string) *Applier {
	return &Applier{client: c, labels: labels}
}

// Applied lists what was written since the applier was made, in order.
func (a *Applier) Applied() []Reference { return a.applied }

// Apply writes objects in order. Fields that the objects do not name are left to whoever else sets them; fields that they name are taken
// over from other owners, such as an operator that ran here before.
func (a *Applier) Apply(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", kindOf(a.client, object), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

func (a *Applier) apply(ctx context.Context, object client.Object) error {
	wanted, err := plain(a.client, object)
	if err != nil {
		return err
	}
	labels := wanted.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range a.labels {
		labels[key] = value
	}
	wanted.SetLabels(labels)
	mapping, err := a.client.RESTMapper().RESTMapping(wanted.GroupVersionKind().GroupKind(), wanted.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
		return err
	}
	resource := mapping.Resource
	a.applied = append(a.applied, Reference{
		Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
		Namespace: wanted.GetNamespace(), Name: wanted.GetName(), Generation: wanted.GetGeneration(),
	})
	return nil
}

// plain turns an object into what is sent: without status and without fields that only a server sets.
func plain(c client.Client, object client.Object) (*unstructured.Unstructured, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	wanted := (&unstructured.Unstructured{Object: content}).DeepCopy()
	wanted.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(wanted.Object, "status")
	for _, path := range [][]string{{"metadata", "creationTimestamp"}, {"spec", "template", "metadata", "creationTimestamp"}} {
		unstructured.RemoveNestedField(wanted.Object, path...)
	}
	return wanted, nil
}

// Remove deletes objects, in order. What is not there, or of a kind that is not served, is what was asked for.
func Remove(ctx context.Context, c client.Client, objects ...client.Object) error {
	for _, object := range objects {
		if err := c.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil && !IsGone(err) {
			return fmt.Errorf("delete %s %s: %w", kindOf(c, object), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

// IsGone says that an object, or its whole kind, does not exist.
func IsGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

func kindOf(c client.Client, object client.Object) string {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return kind.Kind
}

// Related puts what was applied into the shape of a status: everything, and the generations of the Deployments.
func Related(applied []Reference) ([]ocmoperatorv1.RelatedResourceMeta, []ocmoperatorv1.GenerationStatus) {
	related := make([]ocmoperatorv1.RelatedResourceMeta, 0, len(applied))
	var generations []ocmoperatorv1.GenerationStatus
	for _, r := range applied {
		related = append(related, ocmoperatorv1.RelatedResourceMeta{Group: r.Group, Version: r.Version, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name})
		if r.Resource == "deployments" {
			generations = append(generations, ocmoperatorv1.GenerationStatus{
				Group: r.Group, Version: r.Version, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, LastGeneration: r.Generation,
			})
		}
	}
	return related, generations
}
