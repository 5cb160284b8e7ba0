package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// hubStore is a hub with Clusters and token Secrets. Its index of ids may be
// behind, as that of a cache is.
type hubStore struct {
	mu       sync.Mutex
	stored   map[string]Sight
	indexed  map[string][]string
	secrets  map[string]*corev1.Secret
	updates  int
	failures []registration.Failure
	before   func(*corev1.Secret) // runs before an update is judged
}

func newHubStore() *hubStore {
	return &hubStore{stored: map[string]Sight{}, indexed: map[string][]string{}, secrets: map[string]*corev1.Secret{}}
}

func (h *hubStore) NamesByID(_ context.Context, id string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.indexed[id], nil
}

func (h *hubStore) Look(_ context.Context, name string) (Sight, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stored[name], nil
}

func (h *hubStore) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	secret, ok := h.secrets[key.Name]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	secret.DeepCopyInto(object.(*corev1.Secret))
	return nil
}

func (h *hubStore) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	stored := h.secrets[object.GetName()]
	if h.before != nil {
		h.before(stored)
		h.before = nil
	}
	if stored.ResourceVersion != object.GetResourceVersion() {
		return apierrors.NewConflict(corev1.Resource("secrets"), object.GetName(), errors.New("changed"))
	}
	h.updates++
	object.SetResourceVersion(fmt.Sprint(h.updates))
	h.secrets[object.GetName()] = object.DeepCopyObject().(*corev1.Secret)
	return nil
}

func (h *hubStore) Advance(context.Context, registration.Match, string, registration.StageEvent) {}

func (h *hubStore) Fail(_ context.Context, _ registration.Match, _ string, f registration.Failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = append(h.failures, f)
}

func (h *hubStore) addToken(id string, spec token.Spec) {
	secret := spec.Secret(id, "0123456789abcdef", testNow)
	secret.ResourceVersion = "initial"
	h.secrets[secret.Name] = secret
}

type attempt struct {
	who         user.Info
	object, old runtime.Object
	resource    string // resource.group
	subresource string
	dryRun      bool
}

func (a attempt) attributes() admission.Attributes {
	operation := admission.Create
	if a.old != nil {
		operation = admission.Update
	}
	resource := schema.ParseGroupResource(a.resource)
	accessor := metaOf(a.object)
	name := accessor.GetName()
	if a.old == nil {
		name = "" // as on the wire
	}
	return admission.NewAttributesRecord(a.object, a.old, schema.GroupVersionKind{}, accessor.GetNamespace(), name,
		resource.WithVersion("v1"), a.subresource, operation, nil, a.dryRun, a.who)
}

func (a attempt) run(ctx context.Context, d *Admission) error {
	attributes := a.attributes()
	if err := d.Admit(ctx, attributes); err != nil {
		return err
	}
	return d.Validate(ctx, attributes)
}

func admissionOver(h *hubStore) *Admission {
	d := NewAdmission()
	d.Attach(h, h, h)
	deps := d.deps.Load()
	deps.tokens.now = func() time.Time { return testNow }
	return d
}

func pullCluster(change func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	ref := func(name string) *clusterv1alpha1.LocalSecretReference {
		return &clusterv1alpha1.LocalSecretReference{Namespace: apis.ClusterNamespace, Name: name}
	}
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: clusterv1alpha1.ClusterSpec{
		ID: "id-1", SyncMode: clusterv1alpha1.Pull, APIEndpoint: "https://127.0.0.1:6443", SecretRef: ref("m1"), ImpersonatorSecretRef: ref("m1-impersonator"),
	}}
	if change != nil {
		change(c)
	}
	return c
}

func TestAgentWritesItsOwn(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	event := func(namespace, kind, apiVersion, objectNamespace, name string) *corev1.Event {
		return &corev1.Event{ObjectMeta: meta(namespace, "e"), InvolvedObject: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: objectNamespace, Name: name}}
	}
	csr := func(name, commonName string) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: meta("", name), Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: agentapi.SignerName, Usages: clientUsages, Request: certificateRequest(t, commonName, nil)}}
	}
	const clusters, secrets, leases, csrs = "clusters.cluster.karmada.io", "secrets", "leases.coordination.k8s.io", "certificatesigningrequests.certificates.k8s.io"
	tests := map[string]struct {
		resource    string
		object, old runtime.Object
		refused     bool
	}{
		"its cluster":                     {clusters, pullCluster(nil), nil, false},
		"its cluster without credentials": {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.SecretRef, c.Spec.ImpersonatorSecretRef = nil, nil }), nil, false},
		"another cluster":                 {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Name = "m2" }), nil, true},
		"a generated name":                {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Name, c.GenerateName = "", "m" }), nil, true},
		"push":                            {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.SyncMode = clusterv1alpha1.Push }), nil, true},
		"another's credential":            {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.ImpersonatorSecretRef.Name = "m2-impersonator" }), nil, true},
		"a token's secret":                {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.SecretRef.Namespace = "kube-system" }), nil, true},
		"a finalizer":                     {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Finalizers = []string{"x/y"} }), nil, true},
		"a new region":                    {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.Region = "eu" }), pullCluster(nil), false},
		"another id":                      {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.ID = "id-9" }), pullCluster(nil), true},
		"a switch to push":                {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.SyncMode = clusterv1alpha1.Push }), pullCluster(nil), true},
		"a switch of credentials":         {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.SecretRef.Name = "m2" }), pullCluster(nil), true},
		"uncordoning":                     {clusters, pullCluster(nil), pullCluster(func(c *clusterv1alpha1.Cluster) { c.Spec.Taints = []corev1.Taint{{Key: "k"}} }), true},
		"dropping the finalizer":          {clusters, pullCluster(nil), pullCluster(func(c *clusterv1alpha1.Cluster) { c.Finalizers = []string{"karmada.io/cluster-controller"} }), true},
		"posing as our agent": {clusters, pullCluster(func(c *clusterv1alpha1.Cluster) {
			c.Annotations = map[string]string{registration.AnnotationAgent: registration.AgentMuster}
		}), pullCluster(nil), true},
		"its secret":                          {secrets, &corev1.Secret{ObjectMeta: meta("karmada-cluster", "m1"), Type: "Opaque"}, nil, false},
		"its impersonator":                    {secrets, &corev1.Secret{ObjectMeta: meta("karmada-cluster", "m1-impersonator")}, nil, false},
		"another's secret":                    {secrets, &corev1.Secret{ObjectMeta: meta("karmada-cluster", "m2")}, nil, true},
		"a secret elsewhere":                  {secrets, &corev1.Secret{ObjectMeta: meta("kube-system", "m1")}, nil, true},
		"a service account's token":           {secrets, &corev1.Secret{ObjectMeta: meta("karmada-cluster", "m1"), Type: corev1.SecretTypeServiceAccountToken}, nil, true},
		"its heartbeat":                       {leases, &coordinationv1.Lease{ObjectMeta: meta("karmada-cluster", "m1")}, nil, false},
		"its election":                        {leases, &coordinationv1.Lease{ObjectMeta: meta("karmada-system", "karmada-agent-m1")}, nil, false},
		"another's heartbeat":                 {leases, &coordinationv1.Lease{ObjectMeta: meta("karmada-cluster", "m2")}, nil, true},
		"its election as another's heartbeat": {leases, &coordinationv1.Lease{ObjectMeta: meta("karmada-cluster", "karmada-agent-m1")}, nil, true},
		"the election of a controller":        {leases, &coordinationv1.Lease{ObjectMeta: meta("kube-system", "kube-controller-manager")}, nil, true},
		"renewal":                             {csrs, csr("m1-bbbbb", apis.AgentUserPrefix+"m1"), nil, false},
		"another's renewal":                   {csrs, csr("m1-bbbbb", apis.AgentUserPrefix+"m2"), nil, true},
		"renewal under another's name":        {csrs, csr("m2-bbbbb", apis.AgentUserPrefix+"m1"), nil, true},
		"the helper":                          {csrs, csr("agent-rbac-generator-m1bbbbb", apis.RBACGeneratorUser), nil, true},
		"an administrator":                    {csrs, csr("m1-bbbbb", "system:admin"), nil, true},
		"a work":                              {"works.work.karmada.io", &workv1alpha1.Work{ObjectMeta: meta("karmada-es-m1", "w")}, nil, false},
		"another's work":                      {"works.work.karmada.io", &workv1alpha1.Work{ObjectMeta: meta("karmada-es-m2", "w")}, nil, true},
		"event: work":                         {"events", event("karmada-es-m1", "Work", "work.karmada.io/v1alpha1", "karmada-es-m1", "w"), nil, false},
		"event: template":                     {"events", event("shop", "ConfigMap", "v1", "shop", "settings"), nil, false},
		"event: namespace":                    {"events", event("default", "Namespace", "v1", "", "shop"), nil, false},
		"event: its cluster":                  {"events", event("default", "Cluster", "cluster.karmada.io/v1alpha1", "", "m1"), nil, false},
		"event: its election":                 {"events", event("karmada-system", "Lease", "coordination.k8s.io/v1", "karmada-system", "karmada-agent-m1"), nil, false},
		"event: another cluster":              {"events", event("default", "Cluster", "cluster.karmada.io/v1alpha1", "", "m2"), nil, true},
		"event: another cluster, no group":    {"events", event("default", "Cluster", "", "", "m2"), nil, true},
		"event: another's work":               {"events", event("karmada-es-m2", "Work", "work.karmada.io/v1alpha1", "karmada-es-m2", "w"), nil, true},
		"event: another's election":           {"events", event("karmada-system", "Lease", "coordination.k8s.io/v1", "karmada-system", "karmada-agent-m2"), nil, true},
		"event: in another's space":           {"events", event("karmada-es-m2", "ConfigMap", "v1", "shop", "settings"), nil, true},
		"event: in kube-system":               {"events", event("kube-system", "ConfigMap", "v1", "kube-system", "x"), nil, true},
		"event: a role":                       {"events", event("default", "ClusterRole", "rbac.authorization.k8s.io/v1", "", "cluster-admin"), nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hub := newHubStore()
			hub.stored["m1"] = Sight{Exists: true, ID: "id-1"}
			err := attempt{who: agentM1, resource: test.resource, object: test.object, old: test.old}.run(t.Context(), admissionOver(hub))
			switch {
			case test.refused && !apierrors.IsForbidden(err):
				t.Errorf("not refused: %v", err)
			case !test.refused && err != nil:
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestAgentChangesOnlyItsEvents(t *testing.T) {
	event := func(of string) *corev1.Event {
		e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1"}}
		if of != "" {
			e.Annotations = map[string]string{AnnotationEventOf: of}
		}
		return e
	}
	d := admissionOver(newHubStore())
	made := event("m2") // a client cannot choose whose it is
	if err := (attempt{who: agentM1, resource: "events", object: made}).run(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if made.Annotations[AnnotationEventOf] != "m1" {
		t.Errorf("the event is marked %q", made.Annotations[AnnotationEventOf])
	}
	for of, refused := range map[string]bool{"m1": false, "m2": true, "": true} {
		err := attempt{who: agentM1, resource: "events", object: event(of), old: event(of)}.run(t.Context(), d)
		if apierrors.IsForbidden(err) != refused {
			t.Errorf("an event of %q: %v", of, err)
		}
	}
}

func TestAgentOfARemovedClusterHoldsNoLease(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-system", Name: "karmada-agent-m1"}}
	for what, sight := range map[string]Sight{"gone": {}, "going": {Exists: true, Removing: true}} {
		hub := newHubStore()
		hub.stored["m1"] = sight
		if err := (attempt{who: agentM1, resource: "leases.coordination.k8s.io", object: lease}).run(t.Context(), admissionOver(hub)); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestHelperIsToldThatAllExists(t *testing.T) {
	d := admissionOver(newHubStore())
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	const rbac = ".rbac.authorization.k8s.io"
	for resource, object := range map[string]runtime.Object{
		"namespaces":                 &corev1.Namespace{ObjectMeta: meta("", "karmada-es-m3")},
		"clusterroles" + rbac:        &rbacv1.ClusterRole{ObjectMeta: meta("", "system:karmada:m3:agent")},
		"clusterrolebindings" + rbac: &rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "system:karmada:m3:agent")},
		"roles" + rbac:               &rbacv1.Role{ObjectMeta: meta("karmada-cluster", "system:karmada:m3:agent-secret")},
		"rolebindings" + rbac:        &rbacv1.RoleBinding{ObjectMeta: meta("karmada-es-m3", "system:karmada:m3:agent-work")},
	} {
		if err := (attempt{who: helperOfM3, resource: resource, object: object}).run(t.Context(), d); !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s: %v", resource, err)
		}
	}
	for resource, object := range map[string]runtime.Object{
		"namespaces":                 &corev1.Namespace{ObjectMeta: meta("", "kube-public")},
		"clusterroles" + rbac:        &rbacv1.ClusterRole{ObjectMeta: meta("", "cluster-admin")},
		"clusterrolebindings" + rbac: &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "x"}},
		"roles" + rbac:               &rbacv1.Role{ObjectMeta: meta("kube-system", "system:karmada:m3:agent-secret")},
		"rolebindings" + rbac:        &rbacv1.RoleBinding{ObjectMeta: meta("karmada-es-m4", "system:karmada:m3:agent-work")},
		"secrets":                    &corev1.Secret{ObjectMeta: meta("karmada-cluster", "m3")},
	} {
		if err := (attempt{who: helperOfM3, resource: resource, object: object}).run(t.Context(), d); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", resource, err)
		}
	}
}

func TestHelperCertificatesAreShort(t *testing.T) {
	year := int32(31536000)
	for commonName, want := range map[string]int32{apis.RBACGeneratorUser: 600, apis.AgentUserPrefix + "m1": year} {
		for _, who := range []user.Info{tokenUser, &user.DefaultInfo{Name: "system:admin", Groups: []string{"system:masters"}}} {
			csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: certificateRequest(t, commonName, nil), ExpirationSeconds: &year}}
			err := NewAdmission().Admit(t.Context(), attempt{who: who, resource: "certificatesigningrequests.certificates.k8s.io", object: csr}.attributes())
			if err != nil || *csr.Spec.ExpirationSeconds != want {
				t.Errorf("%s asked by %s: %d s, %v", commonName, who.GetName(), *csr.Spec.ExpirationSeconds, err)
			}
		}
	}
	if year != 31536000 {
		t.Error("the client's own number was changed")
	}
}

func TestClusterNamesAndIDs(t *testing.T) {
	admin := &user.DefaultInfo{Name: "system:admin", Groups: []string{"system:masters"}}
	hub := newHubStore()
	hub.stored["m1"] = Sight{Exists: true, ID: "id-1"}
	hub.indexed["id-1"] = []string{"m1"}
	hub.indexed["id-gone"] = []string{"left"} // the index is behind: it was removed
	d := admissionOver(hub)
	create := func(name, id string) error {
		return attempt{who: admin, resource: "clusters.cluster.karmada.io", object: pullCluster(func(c *clusterv1alpha1.Cluster) { c.Name, c.Spec.ID = name, id })}.run(t.Context(), d)
	}
	err := create("m2", "id-1")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != 409 || !strings.Contains(err.Error(), "as m1") {
		t.Fatalf("a second name for a cluster: %v", err)
	}
	if causes := status.Status().Details.Causes; len(causes) != 1 || causes[0].Message != "m1" || causes[0].Field != "spec.id" {
		t.Errorf("causes: %+v", causes)
	}
	for name, id := range map[string]string{"m3": "id-3", "m4": "", "m5": "", "m6": "id-gone", "m1": "id-1"} {
		if err := create(name, id); err != nil {
			t.Errorf("%s with id %q: %v", name, id, err)
		}
	}
	for _, name := range []string{"rbac-generator", "m1-impersonator", "UPPER"} {
		if err := create(name, "id-"+name); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	moved := pullCluster(func(c *clusterv1alpha1.Cluster) { c.Name, c.Spec.ID = "m7", "id-1" })
	former := pullCluster(func(c *clusterv1alpha1.Cluster) { c.Name, c.Spec.ID = "m7", "id-7" })
	if err := (attempt{who: admin, resource: "clusters.cluster.karmada.io", object: moved, old: former}).run(t.Context(), d); !apierrors.IsConflict(err) {
		t.Errorf("an id taken over by an update: %v", err)
	}
	if err := (attempt{who: admin, resource: "clusters.cluster.karmada.io", object: pullCluster(nil)}).run(t.Context(), NewAdmission()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("before Attach: %v", err)
	}
}

// TestOneIDForMany lets many requests race for one id: one gets it, and once
// that one has failed, another can.
func TestOneIDForMany(t *testing.T) {
	hub := newHubStore()
	d := admissionOver(hub)
	admin := &user.DefaultInfo{Name: "system:admin"}
	create := func(ctx context.Context, name string) error {
		return attempt{who: admin, resource: "clusters.cluster.karmada.io", object: pullCluster(func(c *clusterv1alpha1.Cluster) { c.Name = name })}.run(ctx, d)
	}
	request, end := context.WithCancel(t.Context())
	var group sync.WaitGroup
	results := make([]error, 32)
	for i := range results {
		group.Go(func() { results[i] = create(request, fmt.Sprintf("c%d", i)) })
	}
	group.Wait()
	winner := -1
	for i, err := range results {
		if err == nil && winner >= 0 {
			t.Fatalf("c%d and c%d have the id", winner, i)
		}
		if err == nil {
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("nobody got the id")
	}
	// The request ended with the object stored; the index does not know it yet.
	hub.stored[fmt.Sprintf("c%d", winner)] = Sight{Exists: true, ID: "id-1"}
	end()
	awaitEnded(t, d.ids, "id-1")
	if err := create(t.Context(), "late"); !apierrors.IsConflict(err) {
		t.Errorf("after the winner was stored: %v", err)
	}
	// ... or it ended without one.
	delete(hub.stored, fmt.Sprintf("c%d", winner))
	if err := create(t.Context(), "late"); err != nil {
		t.Errorf("after the winner failed: %v", err)
	}
}
