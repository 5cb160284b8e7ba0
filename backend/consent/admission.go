package consent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Admission is what the hub completes and judges of ManagedClusters (contract
// section 1.2), whichever plane they are written to: names, addresses, taints,
// who accepts, who joins a set. On the embedded plane it also notes where the
// certificate requests of agents come from.
type Admission struct {
	hub atomic.Pointer[client.Client]
	now func() time.Time
	own string // the hub's namespace on an API that it shares; empty: none
}

// NewAdmission returns an Admission. What needs a look at the hub is refused as
// unavailable until UseClient was called.
func NewAdmission() *Admission { return &Admission{now: time.Now} }

// UseClient gives the Admission a client that reads from the API itself and may
// review access.
func (d *Admission) UseClient(hub client.Client) { d.hub.Store(&hub) }

// UseNamespace tells where the hub keeps its own objects, if that is no namespace of
// which every hub knows: agents of a cluster of such a name could take its Lease.
func (d *Admission) UseNamespace(own string) { d.own = own }

var (
	clusterResource = ocmv1.Resource("managedclusters")
	setResource     = ocmv1.Resource("managedclustersets")
	requestResource = schema.GroupResource{Group: certificatesv1.GroupName, Resource: "certificatesigningrequests"}
)

// registerGroup serves nothing; rights are given in it.
const registerGroup = "register.open-cluster-management.io"

// Admit implements controlplane.Admission.
func (d *Admission) Admit(ctx context.Context, a admission.Attributes) error {
	create := a.GetOperation() == admission.Create
	if !create && a.GetOperation() != admission.Update || a.GetSubresource() != "" {
		return nil
	}
	switch a.GetResource().GroupResource() {
	case clusterResource:
		return d.admitCluster(ctx, a)
	case requestResource:
		noteOrigin(ctx, a, create)
	}
	return nil
}

// Validate implements controlplane.Admission.
func (d *Admission) Validate(ctx context.Context, a admission.Attributes) error {
	if a.GetOperation() != admission.Create && a.GetOperation() != admission.Update || a.GetSubresource() != "" {
		return nil
	}
	if a.GetResource().GroupResource() != clusterResource {
		return nil
	}
	return d.validateCluster(ctx, a)
}

// pair is a ManagedCluster before and after; before is nil for one that is new.
type pair struct {
	raw           *unstructured.Unstructured
	before, after *ocmv1.ManagedCluster
}

func readPair(a admission.Attributes) (pair, error) {
	p := pair{}
	var err error
	if p.raw, p.after, err = readCluster(a.GetObject()); err != nil {
		return p, err
	}
	if a.GetOperation() == admission.Update && a.GetOldObject() != nil {
		_, p.before, err = readCluster(a.GetOldObject())
	}
	return p, err
}

func readCluster(object runtime.Object) (*unstructured.Unstructured, *ocmv1.ManagedCluster, error) {
	raw, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, apierrors.NewInternalError(fmt.Errorf("admission of a ManagedCluster as %T", object))
	}
	cluster := new(ocmv1.ManagedCluster)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, cluster); err != nil {
		return nil, nil, apierrors.NewBadRequest("this is no ManagedCluster: " + err.Error())
	}
	return raw, cluster, nil
}

// errStarting is what is said before UseClient.
var errStarting = errors.New("the hub is starting")

func (d *Admission) client() (client.Client, error) {
	if hub := d.hub.Load(); hub != nil {
		return *hub, nil
	}
	unavailable := apierrors.NewServiceUnavailable(errStarting.Error())
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return nil, unavailable
}

// may asks the plane's own roles whether somebody has a right.
func (d *Admission) may(ctx context.Context, who user.Info, right authorizationv1.ResourceAttributes) (bool, error) {
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return true, nil
	}
	hub, err := d.client()
	if err != nil {
		return false, err
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range who.GetExtra() {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra, ResourceAttributes: &right,
	}}
	if err := hub.Create(ctx, review); err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("review access: %w", err))
	}
	return review.Status.Allowed, nil
}

// mayAccept asks for the right to accept a cluster.
func (d *Admission) mayAccept(ctx context.Context, who user.Info, cluster string) (bool, error) {
	return d.may(ctx, who, authorizationv1.ResourceAttributes{Verb: "update", Group: registerGroup, Resource: "managedclusters", Subresource: "accept", Name: cluster})
}

// isAgent tells that somebody is an agent, of whatever cluster.
func isAgent(who user.Info, cluster string) bool {
	if _, ok := ParseAgent(who.GetName()); ok {
		return true
	}
	return slices.ContainsFunc(who.GetGroups(), func(group string) bool {
		return group == allAgentsGroup || group == Group(cluster) || group == secondPrefix+cluster
	})
}

// noteOrigin notes on an agent's certificate request where it came from, for
// whoever is to approve it. What was noted stays.
func noteOrigin(ctx context.Context, a admission.Attributes, create bool) {
	object, err := meta.Accessor(a.GetObject())
	if err != nil || object.GetLabels()[ocmv1.ClusterNameLabel] == "" {
		return
	}
	noted := map[string]string{}
	if create {
		from := originFrom(ctx)
		noted[AnnotationAddress], noted[AnnotationUserAgent] = from.address, from.program
	} else if old, err := meta.Accessor(a.GetOldObject()); err == nil {
		noted[AnnotationAddress], noted[AnnotationUserAgent] = old.GetAnnotations()[AnnotationAddress], old.GetAnnotations()[AnnotationUserAgent]
	}
	annotations := object.GetAnnotations()
	for key, value := range noted {
		if annotations[key] == value {
			continue
		}
		annotations = with(annotations, key, value)
	}
	object.SetAnnotations(annotations)
}

// with returns a copy of a map in which a key has a value, or is missing if the
// value is empty.
func with(of map[string]string, key, value string) map[string]string {
	changed := map[string]string{}
	for k, v := range of {
		changed[k] = v
	}
	if value == "" {
		delete(changed, key)
	} else {
		changed[key] = value
	}
	return changed
}
