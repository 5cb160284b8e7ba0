package consent

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// judgeHub is a hub of which admission sees rights and namespaces. Rights are
// written as "user verb resource/subresource name".
type judgeHub struct {
	client.Client
	rights      []string
	terminating []string
	asked       []string
}

func (h *judgeHub) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	review, ok := object.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return fmt.Errorf("create %T", object)
	}
	a := review.Spec.ResourceAttributes
	question := fmt.Sprintf("%s %s %s/%s %s", review.Spec.User, a.Verb, a.Resource, a.Subresource, a.Name)
	h.asked = append(h.asked, question)
	review.Status.Allowed = slices.Contains(h.rights, question)
	return nil
}

func (h *judgeHub) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	space, ok := object.(*corev1.Namespace)
	if !ok || !slices.Contains(h.terminating, key.Name) {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), key.Name)
	}
	space.Status.Phase = corev1.NamespaceTerminating
	return nil
}

var (
	clusterGVR  = schema.GroupVersionResource{Group: ocmv1.GroupName, Version: "v1", Resource: "managedclusters"}
	clusterKind = ocmv1.GroupVersion.WithKind("ManagedCluster")
	admin       = &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	jane        = &user.DefaultInfo{Name: "jane"}
	bootstrap   = &user.DefaultInfo{Name: BootstrapUser, Groups: []string{"system:serviceaccounts"}}
	agentOfC1   = &user.DefaultInfo{Name: one + ":a1", Groups: []string{one, all}}
)

const (
	mayJoinDefault = "create managedclustersets/join default"
	mayJoinProd    = "create managedclustersets/join prod"
	mayAcceptC1    = "update managedclusters/accept c1"
)

// raw is an object as the API server has it in admission.
func raw(t *testing.T, cluster *ocmv1.ManagedCluster) *unstructured.Unstructured {
	t.Helper()
	if cluster == nil {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(clusterKind)
	return object
}

// submit sends a change through both steps and returns what would be stored.
func submit(t *testing.T, hub *judgeHub, who user.Info, before, after *ocmv1.ManagedCluster) (*ocmv1.ManagedCluster, error) {
	t.Helper()
	step := NewAdmission()
	step.now = func() time.Time { return noon }
	if hub != nil {
		step.UseClient(hub)
	}
	operation, old := admission.Create, runtime.Object(nil)
	if before != nil {
		operation, old = admission.Update, raw(t, before)
	}
	object := raw(t, after)
	a := admission.NewAttributesRecord(object, old, clusterKind, "", after.Name, clusterGVR, "", operation, nil, false, who)
	if err := step.Admit(t.Context(), a); err != nil {
		return nil, err
	}
	if err := step.Validate(t.Context(), a); err != nil {
		return nil, err
	}
	_, stored, err := readCluster(object)
	return stored, err
}

func c1(change ...func(*ocmv1.ManagedCluster)) *ocmv1.ManagedCluster {
	cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}
	for _, fn := range change {
		fn(cluster)
	}
	return cluster
}

func named(name string) func(*ocmv1.ManagedCluster) {
	return func(c *ocmv1.ManagedCluster) { c.Name = name }
}
func accepted(c *ocmv1.ManagedCluster) { c.Spec.HubAcceptsClient = true }
func inSet(set string) func(*ocmv1.ManagedCluster) {
	return func(c *ocmv1.ManagedCluster) { c.Labels = map[string]string{ocmv1.ClusterSetLabel: set} }
}
func at(url string) func(*ocmv1.ManagedCluster) {
	return func(c *ocmv1.ManagedCluster) { c.Spec.ManagedClusterClientConfigs = []ocmv1.ClientConfig{{URL: url}} }
}

// TestRefusals are those of contract section 1.2, of the recordings admission and
// agent-isolation-updates, and the ones that Muster adds.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who           user.Info
		rights        []string // of who
		terminating   []string
		before, after *ocmv1.ManagedCluster
		code          int32
		text          string
	}{
		"an agent introduces itself":    {who: bootstrap, rights: []string{mayJoinDefault}, after: c1(at("https://c1:6443"))},
		"no right to join the default":  {who: jane, after: c1(), code: 403, text: `managedclustersets/join.cluster.open-cluster-management.io "default" is forbidden: user "jane" cannot add/remove`},
		"an administrator":              {who: admin, after: c1(accepted)},
		"a dot":                         {who: admin, after: c1(named("c.1")), code: 400, text: "must not contain dots"},
		"a dot, with an address":        {who: admin, after: c1(named("c.1"), at("https://x:1")), code: 400, text: "must not contain dots"},
		"capital letters":               {who: admin, after: c1(named("C1")), code: 400, text: "metadata.name format is not correct"},
		"the hub's namespace":           {who: admin, after: c1(named("karmada-cluster")), code: 400, text: "for the hub itself"},
		"a namespace of kube":           {who: admin, after: c1(named("kube-x")), code: 400, text: "for the hub itself"},
		"an execution namespace":        {who: admin, after: c1(named("karmada-es-m1")), code: 400, text: "for the hub itself"},
		"the name of the agents' group": {who: admin, after: c1(named("managed-clusters")), code: 400, text: "for the hub itself"},
		"the name of a shared role":     {who: admin, after: c1(named("work")), code: 400, text: "for the hub itself"},
		"that of the other":             {who: admin, after: c1(named("registration")), code: 400, text: "for the hub itself"},
		"http":                          {who: admin, after: c1(at("http://x:1")), code: 400, text: `url "http://x:1" is invalid in client configs`},
		"no url":                        {who: admin, after: c1(at("not a url")), code: 400, text: `url "not a url" is invalid in client configs`},
		"created as accepted":           {who: jane, rights: []string{mayJoinDefault}, after: c1(accepted), code: 403, text: `managedclusters/accept.cluster.open-cluster-management.io "c1" is forbidden: user "jane" cannot update the HubAcceptsClient field`},
		"accepting":                     {who: jane, rights: []string{mayAcceptC1}, before: c1(inSet("default")), after: c1(inSet("default"), accepted)},
		"accepting without the right":   {who: jane, before: c1(inSet("default")), after: c1(inSet("default"), accepted), code: 403, text: "cannot update the HubAcceptsClient field"},
		"accepting while it ends":       {who: admin, terminating: []string{"c1"}, before: c1(inSet("default")), after: c1(inSet("default"), accepted), code: 403, text: "being deleted"},
		"staying accepted":              {who: jane, before: c1(inSet("default"), accepted), after: c1(inSet("default"), accepted)},
		"denying takes no right":        {who: jane, before: c1(inSet("default"), accepted), after: c1(inSet("default"))},
		"an agent denies itself":        {who: agentOfC1, before: c1(inSet("default"), accepted), after: c1(inSet("default")), code: 403, text: "the consent that it would take back is the hub's"},
		"its second group denies it":    {who: &user.DefaultInfo{Name: "x", Groups: []string{"open-cluster-management:c1"}}, before: c1(inSet("default"), accepted), after: c1(inSet("default")), code: 403, text: "own agent"},
		"an agent's own settings":       {who: agentOfC1, before: c1(inSet("default"), accepted), after: c1(inSet("default"), accepted, func(c *ocmv1.ManagedCluster) { c.Spec.LeaseDurationSeconds = 61 })},
		"another set":                   {who: jane, rights: []string{mayJoinDefault, mayJoinProd}, before: c1(inSet("default")), after: c1(inSet("prod"))},
		"without the right to leave":    {who: jane, rights: []string{mayJoinProd}, before: c1(inSet("default")), after: c1(inSet("prod")), code: 403, text: `"default"`},
		"without the right to join":     {who: jane, rights: []string{mayJoinDefault}, before: c1(inSet("default")), after: c1(inSet("prod")), code: 403, text: `"prod"`},
		"an agent moves to another set": {who: agentOfC1, before: c1(inSet("default"), accepted), after: c1(inSet("prod"), accepted), code: 403, text: "managedclustersets/join"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := &judgeHub{terminating: c.terminating}
			for _, right := range c.rights {
				hub.rights = append(hub.rights, c.who.GetName()+" "+right)
			}
			_, err := submit(t, hub, c.who, c.before, c.after)
			status := apierrors.APIStatus(nil)
			if c.code == 0 {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			status, _ = err.(apierrors.APIStatus)
			if status == nil || status.Status().Code != c.code || !strings.Contains(status.Status().Message, c.text) {
				t.Errorf("answer %v, want %d with %q", err, c.code, c.text)
			}
		})
	}
}

// TestStarting refuses what takes a look at the hub before there is one, in a way
// that clients try again.
func TestStarting(t *testing.T) {
	t.Parallel()
	_, err := submit(t, nil, bootstrap, nil, c1())
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusServiceUnavailable {
		t.Errorf("answer %v", err)
	}
	if _, err := submit(t, nil, admin, c1(inSet("default")), c1(inSet("default"))); err != nil {
		t.Errorf("what needs no look is refused: %v", err)
	}
}

func taint(key, value string, at time.Time) ocmv1.Taint {
	made := ocmv1.Taint{Key: key, Value: value, Effect: ocmv1.TaintEffectNoSelect}
	if !at.IsZero() {
		made.TimeAdded = metav1.NewTime(at)
	}
	return made
}

func tainted(taints ...ocmv1.Taint) *ocmv1.ManagedCluster {
	return c1(inSet("default"), func(c *ocmv1.ManagedCluster) { c.Spec.Taints = taints })
}

func TestTaints(t *testing.T) {
	t.Parallel()
	long := noon.Add(-time.Hour)
	for name, c := range map[string]struct {
		before *ocmv1.ManagedCluster
		sent   []ocmv1.Taint
		want   []ocmv1.Taint
		text   string // of a refusal
	}{
		"created, whatever is sent": {sent: []ocmv1.Taint{taint("a", "", long), taint("b", "", time.Time{})}, want: []ocmv1.Taint{taint("a", "", noon), taint("b", "", noon)}},
		"repeated":                  {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "b", long)}, want: []ocmv1.Taint{taint("a", "b", long)}},
		"repeated without its time": {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "b", time.Time{})}, text: `TimeAdded of Taint "a"`},
		"repeated with another":     {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "b", noon)}, text: `TimeAdded of Taint "a"`},
		"changed":                   {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "c", time.Time{})}, want: []ocmv1.Taint{taint("a", "c", noon)}},
		"changed with a time":       {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "c", long)}, text: `TimeAdded of Taint "a"`},
		"new with a time":           {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "b", long), taint("n", "", long)}, text: `TimeAdded of Taint "n"`},
		"kept and new":              {before: tainted(taint("a", "b", long)), sent: []ocmv1.Taint{taint("a", "b", long), taint("n", "", time.Time{})}, want: []ocmv1.Taint{taint("a", "b", long), taint("n", "", noon)}},
		"removed":                   {before: tainted(taint("a", "b", long))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, err := submit(t, &judgeHub{}, admin, c.before, tainted(c.sent...))
			if c.text != "" {
				if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("answer %v, want 400 with %q", err, c.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, stored.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTaintsOfAnOlderVersion are the API server's to refuse, as a conflict.
func TestTaintsOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	before, sent := tainted(taint("a", "b", noon.Add(-time.Hour))), tainted(taint("a", "b", time.Time{}))
	before.ResourceVersion, sent.ResourceVersion = "8", "7"
	if _, err := submit(t, &judgeHub{}, admin, before, sent); err != nil {
		t.Errorf("answer %v", err)
	}
	sent.ResourceVersion = "8"
	if _, err := submit(t, &judgeHub{}, admin, before, sent); !apierrors.IsBadRequest(err) {
		t.Errorf("answer %v to a change of what is stored", err)
	}
}

// TestCompletes what a ManagedCluster is stored as, and what nobody but the hub
// writes into it.
func TestCompletes(t *testing.T) {
	t.Parallel()
	annotated := func(pairs ...string) func(*ocmv1.ManagedCluster) {
		return func(c *ocmv1.ManagedCluster) {
			for i := 0; i < len(pairs); i += 2 {
				c.Annotations = with(c.Annotations, pairs[i], pairs[i+1])
			}
		}
	}
	stored, err := submit(t, &judgeHub{rights: []string{BootstrapUser + " " + mayJoinDefault}}, bootstrap, nil,
		c1(annotated("agent.open-cluster-management.io/x", "y", AnnotationCreator, "somebody", "muster.dev/origin", "karmada", ocmv1.AutomaticallyAcceptedAnnotation, "now")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"agent.open-cluster-management.io/x": "y", AnnotationCreator: BootstrapUser}, stored.Annotations); diff != "" {
		t.Errorf("annotations of a new cluster (-want +got):\n%s", diff)
	}
	if stored.Labels[ocmv1.ClusterSetLabel] != "default" {
		t.Errorf("labels %v", stored.Labels)
	}
	held := func(c *ocmv1.ManagedCluster) {
		c.Finalizers = []string{ocmv1.ManagedClusterFinalizer, ocmv1.ResourceCleanupFinalizer}
	}
	before := c1(inSet("default"), accepted, held, annotated(AnnotationCreator, "ann", AnnotationRule, "r"))
	stored, err = submit(t, &judgeHub{}, agentOfC1, before, c1(accepted, annotated("muster.dev/origin", "karmada", "mine", "1"), func(c *ocmv1.ManagedCluster) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "x", UID: "y"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"mine": "1", AnnotationCreator: "ann", AnnotationRule: "r"}, stored.Annotations); diff != "" {
		t.Errorf("annotations that an agent writes (-want +got):\n%s", diff)
	}
	if !slices.Equal(stored.Finalizers, before.Finalizers) || len(stored.OwnerReferences) > 0 || stored.Labels[ocmv1.ClusterSetLabel] != "default" {
		t.Errorf("an agent changed %+v", stored.ObjectMeta)
	}
	if stored, err = submit(t, &judgeHub{}, admin, before, c1(annotated("muster.dev/denied-at", "now"))); err != nil {
		t.Fatal(err)
	}
	if len(stored.Finalizers) > 0 || stored.Annotations["muster.dev/denied-at"] != "now" || stored.Annotations[AnnotationCreator] != "ann" {
		t.Errorf("an administrator changed %+v", stored.ObjectMeta)
	}
	// Accepted by kubectl, a cluster is no longer one that somebody denied for a reason.
	denied := c1(inSet("default"), annotated(AnnotationCreator, "ann", AnnotationDeniedAt, "then", AnnotationDeniedBy, "ada", AnnotationDeniedReason, "not ours", "mine", "1"))
	after := denied.DeepCopy()
	accepted(after)
	if stored, err = submit(t, &judgeHub{}, admin, denied, after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{AnnotationCreator: "ann", "mine": "1"}, stored.Annotations); diff != "" {
		t.Errorf("annotations of a cluster that was denied before (-want +got):\n%s", diff)
	}
}

// TestOwnNamespace keeps clusters off the namespace that a hub was told to use.
func TestOwnNamespace(t *testing.T) {
	t.Parallel()
	step := NewAdmission()
	step.UseNamespace("fleet-hub")
	for name, refused := range map[string]bool{"fleet-hub": true, "fleet": false} {
		a := admission.NewAttributesRecord(raw(t, c1(named(name), inSet("default"))), nil, clusterKind, "", name, clusterGVR, "", admission.Create, nil, false, admin)
		if err := step.Validate(t.Context(), a); apierrors.IsBadRequest(err) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOrigin notes where the requests of agents come from, and nothing on others.
func TestOrigin(t *testing.T) {
	t.Parallel()
	resource := certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
	send := func(operation admission.Operation, before, after *certificatesv1.CertificateSigningRequest) map[string]string {
		ctx := context.WithValue(t.Context(), originKey{}, origin{"10.0.0.9", "registration/v1"})
		var old runtime.Object
		if before != nil {
			old = before
		}
		a := admission.NewAttributesRecord(after, old, certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), "", after.Name, resource, "", operation, nil, false, bootstrap)
		if err := NewAdmission().Admit(ctx, a); err != nil {
			t.Fatal(err)
		}
		return after.Annotations
	}
	made := requestOf(t, agentSubject(one+":a1", one), func(csr *certificatesv1.CertificateSigningRequest) {
		csr.Annotations = map[string]string{AnnotationAddress: "invented"}
	})
	want := map[string]string{AnnotationAddress: "10.0.0.9", AnnotationUserAgent: "registration/v1"}
	if diff := cmp.Diff(want, send(admission.Create, nil, made)); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	changed := made.DeepCopy()
	changed.Annotations = map[string]string{AnnotationAddress: "invented", "x": "y"}
	want["x"] = "y"
	if diff := cmp.Diff(want, send(admission.Update, made, changed)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if noted := send(admission.Create, nil, &certificatesv1.CertificateSigningRequest{}); len(noted) > 0 {
		t.Errorf("somebody else's: %v", noted)
	}
}
