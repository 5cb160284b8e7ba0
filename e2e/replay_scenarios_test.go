package e2e_test

import (
	"regexp"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// scenarios are played in this order: each finds what the ones before left.
var scenarios = []struct {
	name    string
	prepare func(*testing.T, *replay)
}{
	{"token-create", nil},
	{"token-list", nil},
	{"token-delete", nil},
	{"push-join", nil},
	{"push-join-second", nil},
	{"push-join-duplicate-id", nil},
	{"get-clusters", nil},
	{"register", nil},
	{"agent-first-start", nil},
	{"push-propagation", placeNginx},
	{"agent-applies-work", placeWeb},
	{"describe", deployShop},
	{"cordon", nil},
	{"taint", nil},
	{"proxy", fillMembers},
	{"proxy-exec-logs", nil},
	{"register-refused", nil},
	{"register-existing-name", nil},
	{"agent-cert-rotation", nil},
	{"agent-stopped", nil},
	{"unregister", nil},
	{"agent-first-3-minutes", registerAgain},
	{"unregister-dead-agent", nil},
	{"push-unjoin", nil},
	{"push-member-down", memberDown},
	{"unjoin-unreachable", nil},
	{"delete-cluster", nil},
	{"rejoin", func(t *testing.T, r *replay) { r.awaitLeft(t, "member1") }},
}

// deviation is one answer in which this hub is not meant to be like the recorded
// one.
type deviation struct {
	scenario string // empty: in every one
	method   string // empty: any
	path     string // regular expression for the URI
	code     int    // what we answer instead; 0: the recorded code
	fields   []string
	skip     bool // the request cannot be played at all
	after    int  // begin with the occurrence after this many
	times    int  // how often, 0: from then on
	reason   string

	seen int
	used bool
}

const (
	namespaceReason   = "the hub makes karmada-cluster when it starts: agents may not"
	helperReason      = "the helper's certificate lives ten minutes, not a year: it is needed for seconds"
	rolesReason       = "an agent's rights are its identity, the roles are made by the hub: the client takes what exists for made"
	goneReason        = "an agent's roles go with its cluster"
	leaseReason       = "an agent's leader lease goes with its cluster, so that the next one need not wait; it would create it"
	unreachableReason = "a member that does not answer leaves at once: nothing in it can be waited for"
	livingReason      = "the clean-up of a refused register must not take a living cluster's roles; the client only warns"
	paceReason        = "the played agent beats in the recording's order, not at its pace"
	eventsReason      = "events are written by today's API for them; kubectl shows both alike"
	selfReason        = "an agent sees no cluster but itself"
	schedulingReason  = "the hub of the replay propagates nothing: nothing is bound, placed or counted"
	letGoReason       = "a policy that is deleted lets its objects go at once"
	podsReason        = "the members of the replay run no pods; TestRealClusters does this with real ones"
	listReason        = "these kinds are typed here, and typed lists say the kind once"
	subjectsReason    = "the proxy serves those whom this hub lets use it, and the helper is not among them"
)

var deviations = []*deviation{
	{scenario: "push-join", method: "GET", path: `^/api/v1/namespaces/karmada-cluster$`, code: 200, reason: namespaceReason},
	{scenario: "push-join", method: "POST", path: `^/api/v1/namespaces$`, code: 409, reason: namespaceReason},
	{path: `/certificatesigningrequests(/agent-rbac-generator|\?)`, fields: []string{".spec.expirationSeconds is 600"}, reason: helperReason},
	{scenario: "register", method: "POST", path: `/(clusterroles|clusterrolebindings|roles|rolebindings|namespaces)\?`, code: 409, reason: rolesReason},
	{method: "DELETE", scenario: "unregister", path: `^/apis/rbac.*(:agent|-secret)\?`, code: 404, reason: goneReason},
	{method: "GET", scenario: "agent-first-3-minutes", path: `/namespaces/karmada-system/leases/`, code: 404, reason: leaseReason},
	{method: "PUT", scenario: "agent-first-3-minutes", path: `/namespaces/karmada-system/leases/`, skip: true, reason: leaseReason},
	{scenario: "agent-applies-work", method: "GET", path: `/propagationpolicies/web-propagation$`, code: 404, reason: letGoReason},
	{scenario: "unjoin-unreachable", method: "GET", path: `/clusters/member2$`, after: 1, code: 404, reason: unreachableReason},
	{scenario: "unjoin-unreachable", method: "DELETE", path: `/clusters/member2$`, after: 1, code: 404, reason: unreachableReason},
	{scenario: "unjoin-unreachable", path: `/clusters\?`, fields: []string{".rows[member2]", ".rows[member3]"}, reason: unreachableReason + "; member3 has left before"},
	{method: "DELETE", scenario: "register-refused", path: `^/apis/rbac`, code: 403, reason: livingReason},
	{method: "DELETE", scenario: "register-existing-name", path: `^/apis/rbac`, code: 403, reason: livingReason},
	{scenario: "agent-first-start", path: `/v1alpha1/clusters$`, fields: []string{".items["}, reason: selfReason},
	{scenario: "agent-first-3-minutes", path: `/v1alpha1/clusters$`, fields: []string{".items["}, reason: selfReason},
	{scenario: "agent-cert-rotation", path: `/v1alpha1/clusters$`, fields: []string{".items["}, reason: selfReason},
	{path: `/v1alpha1/clusters/member3\b`, fields: []string{".conditions[Ready].", ".spec.taints"}, reason: paceReason},
	{path: `/v1alpha1/clusters(\?|$)`, fields: []string{"[member3].status.conditions[Ready].", "[member3].spec.taints"}, reason: paceReason},
	{path: `^/api/v1/events`, fields: []string{".count is missing", ".reportingInstance", ".source.component is missing"}, reason: eventsReason},
	{path: `^/apis/apps/v1/namespaces/(default|shop)/deployments`, fields: []string{"permanent-id is missing", ".annotations is missing", ".status."}, reason: schedulingReason},
	{path: `^/api/v1/namespaces/(default|shop)/events`, method: "GET", fields: []string{".items", ".rows["}, reason: schedulingReason},
	{path: `/works(\?|$)`, fields: []string{"nginx", ".apiVersion is missing", ".kind is missing", ".resourceNames["}, reason: schedulingReason + "; " + listReason},
	{path: `/works/karmada-impersonator-`, fields: []string{".resourceNames["}, reason: subjectsReason},
	{path: `/works/shop-`, fields: []string{".metadata.ownerReferences"}, reason: schedulingReason},
	{path: `/works/(web|settings|applied)-`, fields: []string{".status.manifestStatuses"}, reason: podsReason},
	{path: `/resourcebindings\b`, fields: []string{".rows["}, reason: schedulingReason},
	{path: `/pods/[^/]+/(exec|log)`, skip: true, reason: podsReason},
}

// fresh is a list whose requests are counted from zero, for one play.
func fresh(list []*deviation) []*deviation {
	all := make([]*deviation, len(list))
	for i, d := range list {
		again := *d
		all[i] = &again
	}
	return all
}

// demandAll fails a test that has deviations which did not occur.
func demandAll(t *testing.T, list []*deviation) {
	t.Helper()
	for i, d := range list {
		if !d.used {
			t.Errorf("deviation %d (%s %s %s) did not occur: remove it", i, d.scenario, d.method, d.path)
		}
	}
}

// deviationOf is the one that a request of a scenario falls under, or nil.
func deviationOf(list []*deviation, scenario string, l line) *deviation {
	for _, d := range list {
		if d.scenario != "" && d.scenario != scenario || d.method != "" && d.method != l.Method || !regexp.MustCompile(d.path).MatchString(l.URI) {
			continue
		}
		if d.seen++; d.seen > d.after && (d.times == 0 || d.seen <= d.after+d.times) {
			d.used = true
			return d
		}
	}
	return nil
}

// startReplay starts a hub and three members with the accounts that the clients
// would have made there.
func startReplay(t *testing.T) *replay {
	t.Helper()
	// Works are the replay's own: the recorded hub's propagation is not played.
	h := startHub(t, "--skipped-propagating-namespaces", ".*")
	config, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{
		identities: newIdentities(config), hub: h, deviations: fresh(deviations),
		members: map[string]*controlplanetest.Member{}, ids: map[string]string{}, secrets: map[string]map[string]string{}, uids: map[string]string{},
	}
	for _, name := range []string{"member1", "member2", "member3"} {
		m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: name, Nodes: 1})
		r.members[name] = m
		system, err := m.Client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.ids[name] = string(system.UID)
		r.secrets[name] = map[string]string{"token": accountToken(t, m.Client, "karmada-"+name, true), "caBundle": string(m.CA())}
		// In member3 nobody applies what the hub sends: its agent is played.
		r.secrets[name+"-impersonator"] = map[string]string{"token": accountToken(t, m.Client, "karmada-impersonator", name == "member3")}
	}
	return r
}

// accountToken makes a service account in a member's karmada-cluster namespace
// and returns a token of it.
func accountToken(t *testing.T, member kubernetes.Interface, name string, admin bool) string {
	t.Helper()
	const namespace = "karmada-cluster"
	ctx := t.Context()
	_, err := member.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := member.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if admin {
		_, err := member.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "karmada-controller-manager:" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	request, err := member.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func deployment(namespace, name string) map[string]any {
	labels := map[string]any{"app": name}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": namespace, "labels": labels},
		"spec": map[string]any{"replicas": 4, "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": "nginx"}}},
		}},
	}
}

// placeNginx puts into the members what the recorded scheduler had put there.
func placeNginx(t *testing.T, r *replay) {
	for _, name := range []string{"member1", "member2"} {
		r.applyToMember(t, name, deployment("default", "nginx"))
	}
}

func placeWeb(t *testing.T, r *replay) { r.applyToMember(t, "member3", deployment("default", "web")) }

// deployShop makes the template that describe looks at.
func deployShop(t *testing.T, r *replay) {
	r.mustPost(t, "/api/v1/namespaces", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}})
	r.mustPost(t, "/apis/apps/v1/namespaces/shop/deployments", deployment("shop", "web"))
}

// fillMembers puts into the members what the recorded proxy requests find.
func fillMembers(t *testing.T, r *replay) {
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "web-7887448d46-7p2cx", "namespace": "shop", "labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": "nginx"}}},
	}
	for _, name := range []string{"member1", "member2"} {
		for _, object := range []any{namespace, deployment("shop", "web"), pod} {
			r.applyToMember(t, name, object)
		}
	}
	_, err := r.members["member1"].Client.RbacV1().RoleBindings("shop").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "jane"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// applyToMember creates an object in a member, as somebody there would.
func (r *replay) applyToMember(t *testing.T, member string, object any) {
	t.Helper()
	kind, _ := dig(object, "kind").(string)
	path := map[string]string{"Namespace": "/api/v1/namespaces", "Pod": "/api/v1/namespaces/%s/pods", "Deployment": "/apis/apps/v1/namespaces/%s/deployments"}[kind]
	namespace, _ := dig(object, "metadata", "namespace").(string)
	path = strings.Replace(path, "%s", namespace, 1)
	data, err := encode(object, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	err = r.members[member].Client.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(data).Do(t.Context()).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create %s in %s: %v", kind, member, err)
	}
}

// awaitLeft waits until nothing of a removed cluster is on the hub. The recorded
// clients came back seconds later.
func (r *replay) awaitLeft(t *testing.T, name string) {
	t.Helper()
	r.hub.awaitGone(t, name)
	awaitSecretsGone(t, r.hub, name)
}

// registerAgain gets member3 a certificate once more, with the same token.
func registerAgain(t *testing.T, r *replay) {
	r.awaitLeft(t, "member3")
	for _, l := range readRecording(t, "register") {
		if l.Method == "POST" && strings.Contains(l.URI, "certificatesigningrequests") {
			_ = r.hub.client.CertificatesV1().CertificateSigningRequests().Delete(t.Context(), dig(l.Req, "metadata", "name").(string), metav1.DeleteOptions{})
		}
	}
	for number, l := range readRecording(t, "register") {
		r.play(t, "register", number+1, l)
	}
}

// memberDown joins member2 again, which was taken off before, and kills it.
func memberDown(t *testing.T, r *replay) {
	r.awaitLeft(t, "member2")
	for number, l := range readRecording(t, "push-join-second") {
		r.play(t, "push-join-second", number+1, l)
	}
	r.hub.awaitReady(t, "member2", metav1.ConditionTrue)
	if err := r.members["member2"].Kill(); err != nil {
		t.Fatal(err)
	}
	r.hub.awaitReady(t, "member2", metav1.ConditionFalse)
}
