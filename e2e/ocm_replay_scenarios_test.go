package e2e_test

import (
	"context"
	"crypto/x509/pkix"
	"net/http"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// ocmLife is a hub, and what is played into it: in the order in which it was
// recorded, so that each scenario finds what the ones before left.
type ocmLife struct {
	name      string
	flags     []string
	scenarios []ocmScenario
}

type ocmScenario struct {
	name    string
	prepare func(*testing.T, *ocmReplay, []line)
	check   func(*testing.T, *ocmReplay)
}

func (life ocmLife) has(scenario string) bool {
	return slices.ContainsFunc(life.scenarios, func(s ocmScenario) bool { return s.name == scenario })
}

var ocmLives = []ocmLife{
	{"by hand", nil, []ocmScenario{
		{"clusteradm-get-token", nil, nil},
		{"clusteradm-get-empty", nil, nil},
		{"clusteradm-join-errors", strangerComes, nil},
		{"registration-agent-bootstrap", nil, nil},
		{"clusteradm-join", nil, nil},
		{"clusteradm-accept", nil, nil},
		{"clusteradm-get", nil, nil},
		{"clusterclaims", nil, nil},
		{"manifestwork-apply", nil, nil},
		{"manifestwork-update", nil, nil},
		{"manifestwork-invalid", nil, nil},
		{"manifestwork-options", nil, nil},
		{"manifestwork-delete", nil, nil},
		{"registration-agent-restart", nil, nil},
		{"hub-deny", nil, func(t *testing.T, r *ocmReplay) {
			r.hub.awaitManaged(t, "cluster1", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
		}},
		{"hub-reaccept", nil, func(t *testing.T, r *ocmReplay) {
			r.hub.awaitManaged(t, "cluster1", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
		}},
		{"lease-unknown", nil, nil},
		{"agent-isolation", nil, nil},
		{"admission", letJaneChange, nil},
		{"kubectl-columns", nil, nil},
		{"agent-isolation-updates", nil, nil},
		{"csr-spoof", nil, checkSpoofs},
		{"member-api-refused", nil, nil},
		{"clusteradm-placement", onlyFirst, nil},
		{"csr-denied", nil, nil},
		{"approve-then-accept", introduceSecond, nil},
		{"detach", nil, func(t *testing.T, r *ocmReplay) {
			eventually(t, "cluster2 is gone", func(context.Context) bool { return r.hub.managedCluster(t, "cluster2") == nil })
		}},
		{"delete-managedcluster", nil, func(t *testing.T, r *ocmReplay) {
			eventually(t, "cluster1 is gone", func(context.Context) bool { return r.hub.managedCluster(t, "cluster1") == nil })
		}},
	}},
	{"by rule", []string{"--auto-approve-users", ocmAccountUser}, []ocmScenario{
		{"auto-approval", nil, nil},
		{"auto-approval-deny", nil, nil},
		{"certificate-expired", certificateExpires, nil},
		{"certificate-rotation", secondAgent, nil},
		{"clusteradm-bootstrap-token", bootstrapToken, introduceThird},
		{"clusteradm-delete-token", nil, nil},
		{"singleton-join", nil, nil},
		{"clusteradm-clean", neverJoined, nil},
	}},
}

// strangerComes is somebody with a token that nobody made.
func strangerComes(t *testing.T, r *ocmReplay, _ []line) {
	r.configs["stranger"] = bootstrapConfig(t, r.hub, "aaaaaa.bbbbbbbbbbbbbbbb")
}

// certificateExpires lets the certificate of the agent of cluster1 run out.
func certificateExpires(t *testing.T, r *ocmReplay, _ []line) {
	asked, ended := requestOf("cluster1", "jslsf"), time.Now().Add(-time.Second)
	config := rest.AnonymousClientConfig(r.admin)
	config.CertData, config.KeyData = r.hub.sign(t, pkix.Name{CommonName: asked.commonName, Organization: asked.organizations}, ended.Add(-time.Hour), ended)
	r.configs["expired"] = config
}

// secondAgent lets cluster2 in, whose agent renews its certificate.
func secondAgent(t *testing.T, r *ocmReplay, lines []line) {
	r.configs[requestOf("cluster2", "7wgrc").commonName] = ocmIdentity(t, r.hub, "cluster2", "7wgrc")
	r.hub.accept(t, "cluster2", true)
	r.hub.awaitManaged(t, "cluster2", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	for _, l := range lines {
		if told := dig(l.Resp, "status"); l.Method == http.MethodPatch && told != nil { // by the agent, before
			status := map[string]any{"allocatable": dig(told, "allocatable"), "capacity": dig(told, "capacity"), "version": dig(told, "version")}
			r.mustPatch(t, managedPath+"/cluster2/status", map[string]any{"status": status})
		}
	}
}

// onlyFirst takes away the clusters that others have made, as somebody had done
// meanwhile.
func onlyFirst(t *testing.T, r *ocmReplay, _ []line) {
	list, err := r.hub.dynamic.Resource(managedClustersResource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range list.Items {
		if cluster.GetName() != "cluster1" {
			if err := send(t.Context(), r.hub.admin(t), http.MethodDelete, managedPath+"/"+cluster.GetName(), ""); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// neverJoined is a cluster that was introduced and accepted, and whose agent never
// came.
func neverJoined(t *testing.T, r *ocmReplay, lines []line) {
	for _, l := range lines {
		for _, cluster := range asList(dig(l.Resp, "items")) {
			r.mustCreate(t, managedPath, map[string]any{
				"apiVersion": ocmv1.GroupVersion.String(), "kind": "ManagedCluster", "spec": map[string]any{"hubAcceptsClient": true},
				"metadata": map[string]any{"name": dig(cluster, "metadata", "name"), "annotations": dig(cluster, "metadata", "annotations")},
			}, cluster)
		}
	}
}

// bootstrapToken is the token that the recorded client is about to make.
func bootstrapToken(_ *testing.T, r *ocmReplay, _ []line) {
	r.tokens["ocmhub"] = "ocmhub." + ocmTokenSecret
}

// introduceThird announces cluster3 and asks for its certificate, as its agent was
// about to do with a token of that name.
func introduceThird(t *testing.T, r *ocmReplay) {
	create := line{User: "system:bootstrap:ocmhub", Method: http.MethodPost, Accept: "application/json", Type: "application/json"}
	for _, l := range readRecording(t, "ocm/singleton-join") {
		recorded, path := l.Resp, managedPath
		if items := asList(dig(l.Resp, "items")); len(items) > 0 && dig(l.Resp, "kind") == "CertificateSigningRequestList" {
			recorded, path = items[0], requestsPath
		} else if dig(l.Resp, "kind") != "ManagedCluster" || l.Method != http.MethodGet {
			continue
		}
		metadata := map[string]any{}
		for _, key := range []string{"annotations", "generateName", "labels", "name"} {
			if value := dig(recorded, "metadata", key); value != nil && !(key == "name" && metadata["generateName"] != nil) {
				metadata[key] = value
			}
		}
		object := map[string]any{"metadata": metadata}
		if path == managedPath {
			object["apiVersion"], object["kind"], object["spec"] = ocmv1.GroupVersion.String(), "ManagedCluster", map[string]any{"hubAcceptsClient": false}
		} else {
			spec := clone(dig(recorded, "spec")).(map[string]any)
			for _, key := range []string{"username", "groups", "extra", "uid"} {
				delete(spec, key)
			}
			object["apiVersion"], object["kind"], object["spec"] = "certificates.k8s.io/v1", "CertificateSigningRequest", spec
			if err := r.fillRequest(object); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.send(t.Context(), create, path, object)
		if err != nil || got.code != http.StatusCreated {
			t.Fatalf("create at %s: %d %v %v", path, got.code, got.body, err)
		}
		r.meet(recorded, got.body)
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
	ocmAloneReason     = "no agent is played here that takes on the work"
	ocmPaceReason      = "played faster than recorded: the lease was renewed a moment ago"
	ocmKindReason      = "items of a list say their kind in one encoding, and not in the other"
	ocmRaceReason      = "two requests of the recorded agent overtook each other; the Event is there"
	ocmRolesReason     = "the hub makes the rights of who introduces clusters when it starts, and again when they are taken away"
)

// ocmOperatorPath is what an operator of the original consists of.
const ocmOperatorPath = `/clustermanagers|/openapi/|/pods\?|/deployments|image-pull-credentials|/(serviceaccounts|clusterroles|clusterrolebindings)/cluster-manager$|/open-cluster-management/(serviceaccounts|secrets)$|` +
	`/customresourcedefinitions`

var ocmDeviations = []*deviation{
	{scenario: "clusteradm-get-empty", path: `/deployments/cluster-manager`, code: 404, reason: ocmInstalledReason},
	{scenario: "clusteradm-get-empty", path: `/customresourcedefinitions`, fields: []string{"operator.open-cluster-management.io", ".items is missing"}, reason: ocmInstalledReason},
	{path: `/configmaps/cluster-info$`, fields: []string{".immutable"}, reason: ocmInfoReason},
	{path: `^/version`, fields: []string{".buildDate", ".gitTreeState"}, reason: ocmVersionReason},
	{scenario: "clusteradm-accept", path: `/managedclusters/cluster1$`, fields: []string{".spec.hubAcceptsClient", ".spec.taints"}, reason: ocmTwiceReason},
	{scenario: "admission", method: "POST", path: `/managedclusters\?`, times: 1, code: 400, reason: ocmDotReason},
	{scenario: "admission", method: "POST", path: `/managedclusters\?`, fields: []string{".spec.hubAcceptsClient is missing"}, reason: ocmSilentReason},
	{scenario: "approve-then-accept", path: `/certificatesigningrequests\?limit`, fields: []string{".rows[cluster1-"}, reason: ocmFewReason},
	{scenario: "csr-denied", path: `/certificatesigningrequests\?limit`, fields: []string{".rows[cluster1-"}, reason: ocmFewReason},
	{scenario: "admission", method: "GET", path: `/managedclustersets/default$`, code: 200, reason: ocmBackReason},
	{scenario: "agent-isolation", method: "GET", path: `/certificatesigningrequests\?limit=500$`, code: 403, reason: ocmOthersReason},
	{scenario: "agent-isolation-updates", method: "PUT", path: `/managedclusters/cluster1\?`, after: 1, times: 1, code: 403, reason: ocmOwnReason},
	{scenario: "agent-isolation-updates", method: "PUT", path: `/managedclusters/cluster1\?`, after: 1, times: 1, code: 200, reason: ocmOwnReason},
	{scenario: "agent-isolation-updates", method: "PATCH", path: `/managedclusters/cluster1\?`, fields: []string{".status.conditions[HubAcceptedManagedCluster]"}, reason: ocmOwnReason},
	{scenario: "lease-unknown", path: `/managedclusters/cluster1/status`, after: 1, times: 1, fields: []string{".spec.taints is missing"}, reason: ocmPaceReason},
	{scenario: "lease-unknown", method: "PATCH", path: `/events/`, code: 200, reason: ocmRaceReason},
	{scenario: "clusteradm-placement", method: "GET", path: `/manifestworks`, fields: []string{".metadata.finalizers", ".status", ".items[cliwork]"}, reason: ocmAloneReason},
	{scenario: "clusteradm-bootstrap-token", path: ocmOperatorPath, skip: true, reason: ocmInstalledReason},
	{scenario: "singleton-join", path: ocmOperatorPath, skip: true, reason: ocmInstalledReason},
	{scenario: "clusteradm-delete-token", path: ocmOperatorPath, skip: true, reason: ocmInstalledReason},
	{scenario: "clusteradm-clean", path: ocmOperatorPath, skip: true, reason: ocmInstalledReason},
	{scenario: "clusteradm-bootstrap-token", method: "GET", path: `/namespaces/open-cluster-management$`, code: 200, times: 1, reason: ocmRolesReason},
	{scenario: "clusteradm-bootstrap-token", method: "POST", path: `/api/v1/namespaces$`, code: 409, reason: ocmRolesReason},
	{scenario: "clusteradm-bootstrap-token", method: "GET", path: `/namespaces/open-cluster-management$`, fields: []string{".metadata.annotations"}, reason: ocmRolesReason},
	{scenario: "clusteradm-bootstrap-token", method: "GET", path: `/clusterroles/open-cluster-management:bootstrap$`, fields: []string{".metadata.annotations"}, reason: ocmRolesReason},
	{scenario: "clusteradm-bootstrap-token", method: "GET", path: `/clusterrolebindings/open-cluster-management:bootstrap:managedcluster$`, code: 200, reason: ocmRolesReason},
	{scenario: "clusteradm-bootstrap-token", method: "POST", path: `/clusterrolebindings$`, times: 1, skip: true, reason: ocmInstalledReason},
	{scenario: "clusteradm-bootstrap-token", method: "POST", path: `/clusterrolebindings$`, code: 409, reason: ocmRolesReason},
	{scenario: "clusteradm-delete-token", method: "GET", path: `/secrets\?`, fields: []string{".kind is missing"}, reason: ocmKindReason},
	{scenario: "clusteradm-delete-token", method: "DELETE", path: `/serviceaccounts/agent-registration-bootstrap$`, code: 200, reason: ocmRolesReason},
	{scenario: "singleton-join", method: "GET", path: `/namespaces/open-cluster-management$`, fields: []string{".metadata.annotations"}, reason: ocmRolesReason},
	{scenario: "singleton-join", method: "GET", path: `/clusterrolebindings/open-cluster-management:bootstrap:managedcluster$`, fields: []string{".metadata.annotations"}, reason: ocmRolesReason},
	{scenario: "clusteradm-clean", method: "DELETE", path: `/namespaces/open-cluster-management$`, fields: []string{".metadata.annotations"}, reason: ocmRolesReason},
	{scenario: "csr-spoof", method: "GET", path: `/certificatesigningrequests\?`, fields: []string{".rows["}, reason: ocmFewReason},
}

// ocmUnplayed are recordings that no hub is asked in, or one that an operator of
// the original makes, each with what proves the same here.
var ocmUnplayed = map[string]string{
	"clusteradm-init":              ocmInitReason,
	"clusteradm-init-again":        ocmInitReason,
	"clusteradm-init-dry-run":      ocmInitReason,
	"clusteradm-join-hosted":       ocmOperatorReason,
	"clusteradm-unjoin":            ocmOperatorReason,
	"clusteradm-unjoin-hosted":     ocmOperatorReason,
	"clustermanager-hosted-ports":  ocmOperatorReason,
	"hub-deny-klusterlet-operator": ocmOperatorReason,
	"registration-agent-hosted":    ocmOperatorReason,
	"hub-controllers-start":        "what the original's own hub controllers ask at their start: ours are others",

	"operator-clean-clustermanager":                ocmOperatorReason,
	"operator-clean-clustermanager-hosted":         ocmOperatorReason,
	"operator-clean-clustermanager-hosted-blocked": ocmOperatorReason,
	"operator-clean-klusterlet":                    ocmOperatorReason,
	"operator-clean-klusterlet-hosted":             ocmOperatorReason,
	"operator-clean-klusterlet-unjoin":             ocmOperatorReason,
	"operator-clustermanager-default":              ocmOperatorReason,
	"operator-clustermanager-hosted":               ocmOperatorReason,
	"operator-klusterlet-clusteradm":               ocmOperatorReason,
	"operator-klusterlet-default":                  ocmOperatorReason,
	"operator-klusterlet-hosted":                   ocmOperatorReason,
}

const (
	ocmInitReason     = "init puts the original's operator on a cluster; a hub of ours is started, or put there by our operator (TestRealClustersOperators)"
	ocmOperatorReason = "what the original's operators do on members and management clusters: ours are another program, tested in backend/operator and TestRealClustersOperators"
)
