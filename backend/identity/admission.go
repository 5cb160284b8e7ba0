package identity

import (
	"context"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/registration"
)

// Admission is the hub API's in-process admission for registration:
//
//   - no two Clusters have one id, none has a reserved name;
//   - what an agent creates bears its own name, and its Cluster stays its own;
//   - what the registration helper creates exists already, it is told;
//   - a join token asks only for the identities it may give out, and a token for
//     one cluster is bound to the first that uses it;
//   - a helper's certificate lives ten minutes.
//
// Objects arrive in the API server's internal form; see internalObject.
type Admission struct {
	deps atomic.Pointer[admissionDeps]
	ids  *idRegister
}

type admissionDeps struct {
	clusters ClusterIDs
	tokens   tokenGate
	stages   registration.StageRecorder
}

// ClusterIDs finds Clusters by their spec.id.
type ClusterIDs interface {
	// NamesByID returns the names of the Clusters that had the id a moment ago.
	NamesByID(ctx context.Context, id string) ([]string, error)
	// Look returns a Cluster as it is stored now.
	Look(ctx context.Context, name string) (Sight, error)
}

// Sight is what admission needs to know of a Cluster.
type Sight struct {
	// Exists is false if there is no such Cluster, Removing true while it goes.
	Exists, Removing bool
	// ID is its spec.id.
	ID string
}

// NewAdmission returns an Admission. Until Attach is called it lets pass what it
// can judge by the request alone and refuses the rest as unavailable.
func NewAdmission() *Admission { return &Admission{ids: newIDRegister()} }

// Attach gives the Admission sight of the hub's objects.
func (d *Admission) Attach(clusters ClusterIDs, hub TokenSecrets, stages registration.StageRecorder) {
	d.deps.Store(&admissionDeps{clusters: clusters, tokens: newTokenGate(hub), stages: stages})
}

// Admit changes what is created: the lifetime of helper certificates and the
// mark of an agent's Events. The helper is answered here, before the roles it
// asks for are judged by the API server's rule against escalation.
func (d *Admission) Admit(_ context.Context, a admission.Attributes) error {
	if a.GetOperation() != admission.Create && a.GetOperation() != admission.Update {
		return nil
	}
	id := identify(a.GetUserInfo())
	if id.kind == helperIdentity {
		return answerHelper(a)
	}
	switch a.GetResource().GroupResource() {
	case csrResource:
		if a.GetOperation() == admission.Create && a.GetSubresource() == "" {
			limitHelper(a)
		}
	case eventResource, newEventResource:
		if id.kind == agentIdentity {
			markEvent(a, id.cluster)
		}
	}
	return nil
}

// Validate judges the final object.
func (d *Admission) Validate(ctx context.Context, a admission.Attributes) error {
	if a.GetOperation() != admission.Create && a.GetOperation() != admission.Update {
		return nil
	}
	id := identify(a.GetUserInfo())
	if id.kind == agentIdentity {
		if err := validateAgent(id.cluster, a); err != nil {
			return err
		}
		if err := d.validateAgentLease(ctx, id.cluster, a); err != nil {
			return err
		}
	}
	switch a.GetResource().GroupResource() {
	case clusterResource:
		return d.validateCluster(ctx, a)
	case csrResource:
		if id.kind == tokenIdentity && a.GetOperation() == admission.Create && a.GetSubresource() == "" {
			return d.validateTokenRequest(ctx, id, a)
		}
	}
	return nil
}

var (
	clusterResource  = schema.GroupResource{Group: "cluster.karmada.io", Resource: "clusters"}
	workResource     = schema.GroupResource{Group: "work.karmada.io", Resource: "works"}
	csrResource      = schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}
	secretResource   = schema.GroupResource{Resource: "secrets"}
	leaseResource    = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	eventResource    = schema.GroupResource{Resource: "events"}
	newEventResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
)

// forbidden refuses a request in words for the client's operator.
func forbidden(a admission.Attributes, why string) error {
	return refuse(a, http.StatusForbidden, metav1.StatusReasonForbidden, why)
}

func refuse(a admission.Attributes, code int32, reason metav1.StatusReason, why string) *apierrors.StatusError {
	resource := a.GetResource().GroupResource()
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: why,
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: nameOf(a)},
	}}
}

// nameOf is the name an object has or is going to have; of one whose name the
// server draws, it is the given prefix.
func nameOf(a admission.Attributes) string {
	if accessor := metaOf(a.GetObject()); accessor != nil {
		if accessor.GetName() != "" {
			return accessor.GetName()
		}
		return accessor.GetGenerateName()
	}
	return a.GetName()
}

func metaOf(object runtime.Object) metav1.Object {
	if object == nil {
		return nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	return accessor
}

// answerHelper tells the registration helper that what it creates exists: the
// hub made it before it approved the helper's certificate (contract section 6.4).
func answerHelper(a admission.Attributes) error {
	resource, name := a.GetResource().GroupResource(), nameOf(a)
	if a.GetOperation() != admission.Create || a.GetSubresource() != "" || !helperShape(resource, a.GetNamespace(), name) {
		return forbidden(a, "the registration helper creates the roles of one agent only")
	}
	return apierrors.NewAlreadyExists(resource, name)
}

func helperShape(resource schema.GroupResource, namespace, name string) bool {
	switch resource.String() {
	case "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io":
		_, ok := agentRoleCluster(name, "")
		return ok
	case "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io":
		cluster, ok := agentRoleCluster(name, "")
		for _, suffix := range []string{"-secret", "-work"} {
			if !ok {
				cluster, ok = agentRoleCluster(name, suffix)
			}
		}
		return ok && helperDeletes("rbac.authorization.k8s.io/roles", namespace, name, cluster)
	case "namespaces":
		_, space := apis.ClusterOfExecutionSpace(name)
		return space || name == apis.ClusterNamespace
	}
	return false
}
