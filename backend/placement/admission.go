package placement

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/kube"
)

// Admission judges ManagedClusterSetBindings, whichever plane they are written
// to (contract section 1.2): a binding is named like its set, and whoever binds a
// set to a namespace may do so.
type Admission struct{ hub atomic.Pointer[client.Client] }

// NewAdmission returns an Admission. Bindings are refused as unavailable until
// UseClient was called.
func NewAdmission() *Admission { return &Admission{} }

// UseClient gives the Admission a client that may review access.
func (d *Admission) UseClient(hub client.Client) { d.hub.Store(&hub) }

var (
	bindingResource = ocmv1beta2.Resource("managedclustersetbindings")
	bindResource    = ocmv1beta2.Resource("managedclustersets/bind")
)

// Admit implements controlplane.Admission; it changes nothing.
func (*Admission) Admit(context.Context, admission.Attributes) error { return nil }

// Validate implements controlplane.Admission.
func (d *Admission) Validate(ctx context.Context, a admission.Attributes) error {
	create := a.GetOperation() == admission.Create
	if !create && a.GetOperation() != admission.Update || a.GetSubresource() != "" || a.GetResource().GroupResource() != bindingResource {
		return nil
	}
	object, ok := a.GetObject().(*unstructured.Unstructured)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("admission of a ManagedClusterSetBinding as %T", a.GetObject()))
	}
	set := setOf(object)
	if object.GetName() != set {
		return apierrors.NewBadRequest("The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet")
	}
	if old, ok := a.GetOldObject().(*unstructured.Unstructured); !create && ok && setOf(old) == set {
		return nil
	}
	return d.mayBind(ctx, a, set)
}

func setOf(binding *unstructured.Unstructured) string {
	set, _, _ := unstructured.NestedString(binding.Object, "spec", "clusterSet")
	return set
}

var errStarting = errors.New("the hub is starting")

func (d *Admission) mayBind(ctx context.Context, a admission.Attributes, set string) error {
	hub := d.hub.Load()
	if hub == nil {
		unavailable := apierrors.NewServiceUnavailable(errStarting.Error())
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return unavailable
	}
	allowed, err := kube.Allowed(ctx, *hub, a.GetUserInfo(), authorizationv1.ResourceAttributes{
		Verb: "create", Group: ocmv1beta2.GroupName, Resource: "managedclustersets", Subresource: "bind", Name: set,
	})
	if err == nil && !allowed {
		err = apierrors.NewForbidden(bindResource, set, fmt.Errorf("user %q is not allowed to bind ManagedClusterSet %q", a.GetUserInfo().GetName(), set))
	}
	return err
}
