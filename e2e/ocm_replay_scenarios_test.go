package e2e_test

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// ocmScenarios are played in the order in which they were recorded: each finds
// what the ones before left.
var ocmScenarios = []struct {
	name    string
	prepare func(*testing.T, *ocmReplay, []line)
	check   func(*testing.T, *ocmReplay)
}{
	{"clusteradm-get-token", nil, nil},
	{"clusteradm-get-empty", nil, nil},
	{"registration-agent-bootstrap", nil, nil},
	{"clusteradm-join", nil, nil},
	{"clusteradm-accept", nil, nil},
	{"clusteradm-get", nil, nil},
	{"manifestwork-apply", reportClaims, nil},
	{"manifestwork-invalid", nil, nil},
	{"hub-deny", finishWorks, func(t *testing.T, r *ocmReplay) {
		r.hub.awaitManaged(t, "cluster1", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	}},
	{"hub-reaccept", nil, func(t *testing.T, r *ocmReplay) {
		r.hub.awaitManaged(t, "cluster1", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	}},
	{"agent-isolation", nil, nil},
	{"admission", letJaneChange, nil},
	{"kubectl-columns", nil, nil},
	{"agent-isolation-updates", nil, nil},
	{"csr-spoof", nil, checkSpoofs},
	{"approve-then-accept", introduceSecond, nil},
	{"delete-managedcluster", nil, func(t *testing.T, r *ocmReplay) {
		eventually(t, "cluster1 is gone", func(context.Context) bool { return r.hub.managedCluster(t, "cluster1") == nil })
	}},
}

// reportClaims writes the claims of cluster1, as its agent had done meanwhile.
func reportClaims(t *testing.T, r *ocmReplay, lines []line) {
	for _, l := range lines {
		if claims := dig(l.Resp, "status", "clusterClaims"); claims != nil {
			r.mustPatch(t, managedPath+"/cluster1/status", map[string]any{"status": map[string]any{"clusterClaims": claims}})
			return
		}
	}
	t.Fatal("no claim was recorded")
}

// finishWorks deletes the works of cluster1 and lets them go, as administrator and
// agent had done meanwhile: a denial is told of when no work is left.
func finishWorks(t *testing.T, r *ocmReplay, _ []line) {
	for _, name := range []string{"web", "bad"} {
		path := "/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks/" + name
		if err := send(t.Context(), r.hub.admin(t), "DELETE", path, ""); err != nil {
			t.Fatal(err)
		}
		r.mustPatch(t, path, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	}
}

// letJaneChange gives jane the rights that she had beside her lack of those to
// accept and to join.
func letJaneChange(t *testing.T, r *ocmReplay, _ []line) {
	r.hub.apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: jane}
rules: [{apiGroups: [cluster.open-cluster-management.io], resources: [managedclusters], verbs: [get, create, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: jane}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: jane}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
`)
}

// introduceSecond announces cluster2 and asks for its certificate, as its agent
// had done with the administrator's kubeconfig.
func introduceSecond(t *testing.T, r *ocmReplay, lines []line) {
	for _, l := range lines {
		kind, _ := dig(l.Resp, "kind").(string)
		if l.Method != "GET" || dig(l.Resp, "metadata", "name") == nil {
			continue
		}
		object := clone(l.Resp).(map[string]any)
		metadata := map[string]any{"labels": dig(l.Resp, "metadata", "labels")}
		for _, key := range []string{"name", "generateName"} {
			if value := dig(l.Resp, "metadata", key); value != nil {
				metadata[key] = value
			}
		}
		object["metadata"] = metadata
		delete(object, "status")
		spec := object["spec"].(map[string]any)
		switch {
		case kind == "ManagedCluster" && r.hub.managedCluster(t, "cluster2") == nil:
			delete(spec, "taints")
			for _, config := range asList(spec["managedClusterClientConfigs"]) {
				config.(map[string]any)["caBundle"] = "Y2E="
			}
			r.mustCreate(t, managedPath, object, l.Resp)
		case kind == "CertificateSigningRequest" && r.requests[requestedUser(l.Resp)] == "":
			delete(metadata, "name")
			for _, key := range []string{"username", "groups", "extra", "uid"} { // the hub's to say
				delete(spec, key)
			}
			if err := r.fillRequest(object); err != nil {
				t.Fatal(err)
			}
			r.mustCreate(t, requestsPath, object, l.Resp)
		}
	}
}

// checkSpoofs: of the requests that the agent made, the hub approved by itself
// those for the agent's own identity, and no other.
func checkSpoofs(t *testing.T, r *ocmReplay) {
	r.hub.awaitIssued(t, "cluster1-oneorg")
	// The first may have been superseded by this before it was its turn.
	eventually(t, "cluster1-good is issued or superseded", func(ctx context.Context) bool {
		csr, err := r.hub.client.CertificatesV1().CertificateSigningRequests().Get(ctx, "cluster1-good", metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && len(csr.Status.Certificate) > 0
	})
	for _, cluster := range []string{"cluster1", "cluster1-evil", "cluster2"} {
		for _, csr := range r.hub.requestsOf(t.Context(), t, cluster) {
			if slices.Contains([]string{"cluster1-othercn", "cluster2-spoof", "cluster1-nolabelmatch"}, csr.Name) && len(csr.Status.Conditions) > 0 {
				t.Errorf("the hub settled %s by itself: %+v", csr.Name, csr.Status.Conditions)
			}
		}
	}
}

const (
	ocmInstalledReason = "no operator has installed this hub; definitions and Deployments of operators are where an operator runs"
	ocmDotReason       = "a cluster's name becomes that of a namespace; the original overlooks the dot where no URL is given"
	ocmOwnReason       = "consent is the hub's: an agent may not take back what the hub gave"
	ocmOthersReason    = "an agent reads the certificate requests of its own cluster only"
	ocmFewReason       = "requests that newer ones have superseded are cleaned up, so that no agent halts at ten"
	ocmInfoReason      = "one cluster-info serves both dialects, and the signatures of join tokens come and go in it"
	ocmVersionReason   = "the hub is a build of its own"
	ocmTwiceReason     = "registration-agent-bootstrap has played this acceptance already, and cluster1 is available since"
	ocmSilentReason    = "absent means no; what nobody wrote is nobody's, and so no later apply can take it away"
	ocmBackReason      = "the set is back before anybody can miss it"
)

var ocmDeviations = []*deviation{
	{scenario: "clusteradm-get-empty", path: `/deployments/cluster-manager`, code: 404, reason: ocmInstalledReason},
	{scenario: "clusteradm-get-empty", path: `/customresourcedefinitions`, fields: []string{"operator.open-cluster-management.io", ".items is missing"}, reason: ocmInstalledReason},
	{path: `/configmaps/cluster-info$`, fields: []string{".immutable"}, reason: ocmInfoReason},
	{path: `^/version`, fields: []string{".buildDate", ".gitTreeState"}, reason: ocmVersionReason},
	{scenario: "clusteradm-accept", path: `/managedclusters/cluster1$`, fields: []string{".spec.hubAcceptsClient", ".spec.taints"}, reason: ocmTwiceReason},
	{scenario: "admission", method: "POST", path: `/managedclusters\?`, times: 1, code: 400, reason: ocmDotReason},
	{scenario: "admission", method: "POST", path: `/managedclusters\?`, fields: []string{".spec.hubAcceptsClient is missing"}, reason: ocmSilentReason},
	{scenario: "approve-then-accept", path: `/certificatesigningrequests\?limit`, fields: []string{".rows[cluster1-"}, reason: ocmFewReason},
	{scenario: "admission", method: "GET", path: `/managedclustersets/default$`, code: 200, reason: ocmBackReason},
	{scenario: "agent-isolation", method: "GET", path: `/certificatesigningrequests\?limit=500$`, code: 403, reason: ocmOthersReason},
	{scenario: "agent-isolation-updates", method: "PUT", path: `/managedclusters/cluster1\?`, after: 1, times: 1, code: 403, reason: ocmOwnReason},
	{scenario: "agent-isolation-updates", method: "PUT", path: `/managedclusters/cluster1\?`, after: 1, times: 1, code: 200, reason: ocmOwnReason},
	{scenario: "agent-isolation-updates", method: "PATCH", path: `/managedclusters/cluster1\?`, fields: []string{".status.conditions[HubAcceptedManagedCluster]"}, reason: ocmOwnReason},
	{scenario: "csr-spoof", method: "GET", path: `/certificatesigningrequests\?`, fields: []string{".rows["}, reason: ocmFewReason},
}
