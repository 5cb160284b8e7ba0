package tunnel

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// reasonNotImplemented is the reason of what this hub cannot do for a cluster.
const reasonNotImplemented metav1.StatusReason = "NotImplemented"

// unaidedError is the error of a request to a member that has given the hub no
// account to speak for users with.
type unaidedError struct{ *apierrors.StatusError }

// unaided says what to do about it. Members of our own agent give no account,
// because it keeps all rights to its member at home: 501. A cluster that the hub
// dials has lost it: 500, as in the field (contract section 12.2).
func unaided(cluster *clusterv1alpha1.Cluster) unaidedError {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: fmt.Sprintf("cluster %s names no impersonatorSecretRef, the account that the hub speaks for users with: unjoin the cluster and join it again, which makes one", cluster.Name),
		Details: &metav1.StatusDetails{Group: clusterv1alpha1.GroupVersion.Group, Kind: "clusters", Name: cluster.Name},
	}
	if cluster.Spec.SyncMode == clusterv1alpha1.Pull {
		status.Code, status.Reason = http.StatusNotImplemented, reasonNotImplemented
		status.Message = fmt.Sprintf("the agent of cluster %s gives the hub no account there, so the hub cannot pass requests on to it: use a kubeconfig of the cluster itself, "+
			"or have it joined by push or by a karmada-agent that reports its secrets (--report-secrets=KubeCredentials,KubeImpersonator)", cluster.Name)
	}
	return unaidedError{&apierrors.StatusError{ErrStatus: status}}
}

// explain returns a handler that says the same in words alone to clients that try
// a member or discover what it serves, and as a Status to all others: those calls
// show a text, and of a Status nothing but that it came.
func explain(err unaidedError) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accept := r.Header.Get("Accept")
		if !strings.Contains(accept, "*/*") && !strings.Contains(accept, "as=APIGroupDiscoveryList") {
			refuse(w, err)
			return
		}
		http.Error(w, err.ErrStatus.Message, int(err.ErrStatus.Code))
	})
}

// isProbe says whether a path of a member is one that clients start with.
func isProbe(path string) bool {
	path = strings.Trim(path, "/")
	return path == "api" || path == "apis"
}
