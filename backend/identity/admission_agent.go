package identity

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/registration"
)

// validateAgent holds what an agent writes to its own cluster. The Authorizer
// has judged what the path tells; here is what only the object tells.
func validateAgent(cluster string, a admission.Attributes) error {
	create := a.GetOperation() == admission.Create
	switch a.GetResource().GroupResource() {
	case clusterResource:
		if a.GetSubresource() == "" {
			return validateAgentCluster(cluster, a)
		}
	case workResource:
		if a.GetNamespace() != apis.ExecutionSpace(cluster) {
			return forbidden(a, "an agent writes Works of its own cluster only")
		}
	case secretResource:
		if create && !ownSecret(cluster, a.GetNamespace(), nameOf(a)) {
			return forbidden(a, "an agent keeps two Secrets on the hub, "+CredentialSecret(cluster)+" and "+ImpersonatorSecret(cluster))
		}
		// Any other type would make the hub put a credential of its own in.
		if kind := (internalObject{a.GetObject()}).text("Type"); create && kind != "" && kind != string(corev1.SecretTypeOpaque) {
			return forbidden(a, "an agent's Secret is of type "+string(corev1.SecretTypeOpaque))
		}
	case leaseResource:
		if create && !ownLease(cluster, a.GetNamespace(), nameOf(a)) {
			return forbidden(a, "an agent holds two Leases on the hub, "+apis.ClusterNamespace+"/"+cluster+" and "+LeaderLease(cluster))
		}
	case eventResource, newEventResource:
		return validateAgentEvent(cluster, a)
	case csrResource:
		if create {
			return validateAgentRequest(cluster, a)
		}
	}
	return nil
}

// validateAgentLease keeps an agent whose cluster is gone from holding a Lease
// again: the next registration under the name would have to wait for it to end.
func (d *Admission) validateAgentLease(ctx context.Context, cluster string, a admission.Attributes) error {
	if a.GetResource().GroupResource() != leaseResource || a.GetOperation() != admission.Create {
		return nil
	}
	deps := d.deps.Load()
	if deps == nil {
		return refuse(a, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, errStarting.Error())
	}
	known, err := deps.clusters.Look(ctx, cluster)
	if err != nil {
		return fmt.Errorf("look for cluster %s: %w", cluster, err)
	}
	if !known.Exists || known.Removing {
		return forbidden(a, "cluster "+cluster+" is not registered any more")
	}
	return nil
}

// validateAgentCluster keeps an agent's Cluster its own: the credentials it
// names are its own Secrets, else the hub would hand another member's token to
// the address this one gives; what the hub decides stays as it is.
func validateAgentCluster(name string, a admission.Attributes) error {
	cluster, ok := a.GetObject().(*clusterv1alpha1.Cluster)
	if !ok || nameOf(a) != name {
		return forbidden(a, "an agent registers its own cluster only: "+name)
	}
	spec := cluster.Spec
	if !refersTo(spec.SecretRef, CredentialSecret(name)) || !refersTo(spec.ImpersonatorSecretRef, ImpersonatorSecret(name)) {
		return forbidden(a, "an agent's Cluster names its own Secrets in "+apis.ClusterNamespace+" only")
	}
	old, updates := a.GetOldObject().(*clusterv1alpha1.Cluster)
	if !updates || old == nil {
		if spec.SyncMode != clusterv1alpha1.Pull {
			return forbidden(a, "an agent registers in sync mode Pull")
		}
		if len(cluster.Finalizers) > 0 || len(cluster.OwnerReferences) > 0 {
			return forbidden(a, "an agent sets neither finalizers nor owners")
		}
		return nil
	}
	switch {
	case spec.SyncMode != old.Spec.SyncMode:
		return forbidden(a, "an agent does not change the sync mode")
	case spec.ID != old.Spec.ID:
		return forbidden(a, "an agent does not change the id of its cluster")
	case !equality.Semantic.DeepEqual(spec.Taints, old.Spec.Taints):
		return forbidden(a, "an agent does not change taints")
	case !slices.Equal(cluster.Finalizers, old.Finalizers), !equality.Semantic.DeepEqual(cluster.OwnerReferences, old.OwnerReferences):
		return forbidden(a, "an agent changes neither finalizers nor owners")
	case cluster.Annotations[registration.AnnotationAgent] != old.Annotations[registration.AnnotationAgent]:
		return forbidden(a, "an agent does not say what agent it is")
	}
	return nil
}

func refersTo(ref *clusterv1alpha1.LocalSecretReference, name string) bool {
	return ref == nil || ref.Namespace == apis.ClusterNamespace && ref.Name == name
}

func validateAgentRequest(cluster string, a admission.Attributes) error {
	asked, err := requestOf(a)
	switch {
	case err != nil:
		return forbidden(a, "an agent asks for its own certificate only, and "+err.Error())
	case asked.helper || asked.cluster != cluster:
		return forbidden(a, "an agent asks for its own certificate only: "+apis.AgentUserPrefix+cluster)
	case !strings.HasPrefix(nameOf(a), cluster+"-"):
		return forbidden(a, "an agent's certificate request is named "+cluster+"-…")
	}
	return nil
}

// validateAgentEvent lets an agent write Events about its own objects, and about
// templates, which it reports on when it applies them. An Event it changes must
// be one it wrote.
func validateAgentEvent(cluster string, a admission.Attributes) error {
	if a.GetOperation() == admission.Update {
		old := metaOf(a.GetOldObject())
		if old == nil || old.GetAnnotations()[AnnotationEventOf] != cluster {
			return forbidden(a, "an agent changes its own Events only")
		}
	}
	about := internalObject{a.GetObject()}
	apiVersion, kind := about.text("InvolvedObject", "APIVersion"), about.text("InvolvedObject", "Kind")
	namespace, name := about.text("InvolvedObject", "Namespace"), about.text("InvolvedObject", "Name")
	group, _, _ := strings.Cut(apiVersion, "/")
	own := true
	switch {
	case kind == "Work" || group == "work.karmada.io":
		own = kind == "Work" && namespace == apis.ExecutionSpace(cluster)
	case kind == "Cluster" || group == "cluster.karmada.io":
		own = kind == "Cluster" && name == cluster
	case kind == "Lease" || group == "coordination.k8s.io":
		own = kind == "Lease" && ownLease(cluster, namespace, name)
	case kind == "CertificateSigningRequest" || group == "certificates.k8s.io" || group == "rbac.authorization.k8s.io":
		own = false
	}
	switch a.GetNamespace() {
	case apis.ExecutionSpace(cluster), apis.SystemNamespace:
	case apis.ClusterNamespace:
		own = own && kind == "Lease"
	case metav1.NamespaceSystem, metav1.NamespacePublic:
		own = false
	default:
		_, foreign := apis.ClusterOfExecutionSpace(a.GetNamespace())
		own = own && !foreign
	}
	if !own {
		return forbidden(a, "an agent writes Events about its own cluster only")
	}
	return nil
}

// markEvent notes on an Event which agent wrote it.
func markEvent(a admission.Attributes, cluster string) {
	accessor := metaOf(a.GetObject())
	if accessor == nil {
		return
	}
	annotations := map[string]string{}
	for key, value := range accessor.GetAnnotations() {
		annotations[key] = value
	}
	annotations[AnnotationEventOf] = cluster
	accessor.SetAnnotations(annotations)
}
