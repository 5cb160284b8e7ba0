package manifestwork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
)

// MaxManifestBytes is how much the manifests of one work may take.
const MaxManifestBytes = 500 * 1024

// Admission judges ManifestWorks, whichever plane they are written to. Every
// refusal is 400, with the text that clients of the field know where they know
// one (recording manifestwork-invalid).
type Admission struct{ hub atomic.Pointer[client.Client] }

// NewAdmission returns an Admission. Works with an executor are refused as
// unavailable until UseClient was called.
func NewAdmission() *Admission { return &Admission{} }

// UseClient gives the Admission a client that may review access.
func (d *Admission) UseClient(hub client.Client) { d.hub.Store(&hub) }

var workResource = ocmworkv1.Resource("manifestworks")

// Admit implements controlplane.Admission; it changes nothing.
func (*Admission) Admit(context.Context, admission.Attributes) error { return nil }

// Validate implements controlplane.Admission. A write that leaves the spec as it
// is passes: agents hold and release works that an older rule let in.
func (d *Admission) Validate(ctx context.Context, a admission.Attributes) error {
	create := a.GetOperation() == admission.Create
	if !create && a.GetOperation() != admission.Update || a.GetSubresource() != "" || a.GetResource().GroupResource() != workResource {
		return nil
	}
	raw, work, err := readWork(a.GetObject())
	if err != nil {
		return err
	}
	if old, ok := a.GetOldObject().(*unstructured.Unstructured); !create && ok && equality.Semantic.DeepEqual(raw.Object["spec"], old.Object["spec"]) {
		return nil
	}
	if problem := checkManifests(work.Spec.Workload.Manifests); problem != "" {
		return apierrors.NewBadRequest(problem)
	}
	return d.checkExecutor(ctx, a, work.Spec.Executor)
}

func readWork(object runtime.Object) (*unstructured.Unstructured, *ocmworkv1.ManifestWork, error) {
	raw, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, apierrors.NewInternalError(fmt.Errorf("admission of a ManifestWork as %T", object))
	}
	work := new(ocmworkv1.ManifestWork)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, work); err != nil {
		return nil, nil, apierrors.NewBadRequest("this is no ManifestWork: " + err.Error())
	}
	return raw, work, nil
}

// manifestKey tells manifests apart.
type manifestKey struct{ apiVersion, kind, namespace, name string }

// checkManifests says what is wrong with manifests.
func checkManifests(manifests []ocmworkv1.Manifest) string {
	if len(manifests) == 0 {
		return "manifests should not be empty"
	}
	size, seen := 0, map[manifestKey]bool{}
	for i := range manifests {
		size += len(manifests[i].Raw)
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(manifests[i].Raw, &object); err != nil {
			return fmt.Sprintf("manifest %d is no object: %v", i, err)
		}
		switch {
		case object.APIVersion == "" || object.Kind == "":
			return fmt.Sprintf("apiVersion and kind must be set in manifest %d", i)
		case object.Name == "":
			return "name must be set in manifest"
		case object.GenerateName != "":
			return "generateName must not be set in manifest"
		}
		key := manifestKey{object.APIVersion, object.Kind, object.Namespace, object.Name}
		if seen[key] {
			return fmt.Sprintf("duplicate manifest for resource %s/%s with resource type %s.%s", object.Namespace, object.Name, object.APIVersion, object.Kind)
		}
		seen[key] = true
	}
	if size > MaxManifestBytes {
		return fmt.Sprintf("the manifests take %d bytes, and %d are the limit", size, MaxManifestBytes)
	}
	return ""
}

var errStarting = errors.New("the hub is starting")

// checkExecutor asks for the right to act as the executor in the cluster whose
// namespace the work is in.
func (d *Admission) checkExecutor(ctx context.Context, a admission.Attributes, executor *ocmworkv1.ManifestWorkExecutor) error {
	if executor == nil {
		return nil
	}
	account := executor.Subject.ServiceAccount
	if account == nil {
		return apierrors.NewBadRequest("the executor names no service account")
	}
	hub := d.hub.Load()
	if hub == nil {
		unavailable := apierrors.NewServiceUnavailable(errStarting.Error())
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return unavailable
	}
	allowed, err := kube.Allowed(ctx, *hub, a.GetUserInfo(), authorizationv1.ResourceAttributes{
		Verb: "execute-as", Group: workResource.Group, Resource: workResource.Resource, Namespace: a.GetNamespace(),
		Name: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
	})
	if err == nil && !allowed {
		err = apierrors.NewBadRequest(fmt.Sprintf("user %s may not act as the executor %s/%s in namespace %s",
			a.GetUserInfo().GetName(), account.Namespace, account.Name, a.GetNamespace()))
	}
	return err
}
