package consent_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/deploy"
)

// ruleset lets in by the name of the cluster, and can be changed.
type ruleset struct {
	mu       sync.Mutex
	prefixes []string
	changed  func()
}

func (r *ruleset) fits(cluster string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.prefixes, func(prefix string) bool { return strings.HasPrefix(cluster, prefix) })
	return "cluster-name auto*", i >= 0
}

func (r *ruleset) Match(request consent.Request, _ map[string]string) (string, bool) {
	return r.fits(request.Cluster)
}

func (r *ruleset) Accepts(cluster *ocmv1.ManagedCluster, _ string) (string, bool) {
	return r.fits(cluster.Name)
}

func (r *ruleset) OnChange(fn func()) { r.changed = fn }

func (r *ruleset) add(prefix string) {
	r.mu.Lock()
	r.prefixes = append(r.prefixes, prefix)
	r.mu.Unlock()
	r.changed()
}

// recorded keeps what the hub did by itself.
type recorded struct {
	mu   sync.Mutex
	done []string
}

func (r *recorded) Do(ctx context.Context, action audit.Action, do func(context.Context) error) error {
	err := do(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.done = append(r.done, action.Verb+" "+action.Name)
	}
	return err
}

func (r *recorded) has(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.done, line)
}

// hubUnderTest is an API server with the controllers of consent on it. It has no
// admission of ours: what an agent could write without is judged elsewhere.
type hubUnderTest struct {
	*kubetest.Hub
	rules *ruleset
	audit *recorded
}

func startHub(t *testing.T) *hubUnderTest {
	t.Helper()
	h := &hubUnderTest{Hub: kubetest.StartHub(t), rules: &ruleset{}, audit: &recorded{}}
	h.InstallDefinitions(t, deploy.HubCRDs())
	for range 2 { // a hub starts more than once
		if err := consent.Bootstrap(t.Context(), h.Client, false); err != nil {
			t.Fatal(err)
		}
	}
	h.startControllers(t)
	return h
}

func (h *hubUnderTest) startControllers(t *testing.T) {
	t.Helper()
	manager, err := kube.NewManager(h.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	purger, err := kube.NewPurger(h.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := consent.SetupWithManager(manager, consent.Deps{Rules: h.rules, Audit: h.audit, Spaces: purger}); err != nil {
		t.Fatal(err)
	}
	h.Run(t, manager)
}

func (h *hubUnderTest) cluster(ctx context.Context, name string) *ocmv1.ManagedCluster {
	cluster := new(ocmv1.ManagedCluster)
	if h.Client.Get(ctx, client.ObjectKey{Name: name}, cluster) != nil {
		return nil
	}
	return cluster
}

func (h *hubUnderTest) introduce(t *testing.T, name string) {
	t.Helper()
	h.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// decide does what kubectl patch managedcluster does.
func (h *hubUnderTest) decide(t *testing.T, name string, accept bool) {
	t.Helper()
	patch := `{"spec":{"hubAcceptsClient":false}}`
	if accept {
		patch = `{"spec":{"hubAcceptsClient":true}}`
	}
	if err := h.Client.Patch(t.Context(), &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func (h *hubUnderTest) awaitReason(t *testing.T, name, reason string) {
	t.Helper()
	h.Await(t, name+" to be "+reason, func(ctx context.Context) bool {
		cluster := h.cluster(ctx, name)
		if cluster == nil {
			return false
		}
		condition := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted)
		return condition != nil && condition.Reason == reason
	})
}

// as is a client of somebody with a certificate.
func (h *hubUnderTest) as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := h.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	made, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// agentOf is a client with the certificate of a cluster's agent.
func (h *hubUnderTest) agentOf(t *testing.T, cluster string) client.Client {
	return h.as(t, consent.Agent{Cluster: cluster, Name: "a1"}.User(), consent.Group(cluster), consent.Group("managed-clusters"))
}

const roleOf = "open-cluster-management:managedcluster:"

// TestAcceptance walks through both consents' hub side: accepted, denied with a
// work left, accepted again, deleted (contract sections 2.4 and 2.8).
func TestAcceptance(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	t.Run("bootstrap", h.testBootstrap)
	t.Run("accepted", h.testAccepted)
	t.Run("denied", h.testDenied)
	t.Run("accepted again", h.testAcceptedAgain)
	t.Run("name not free", h.testNameNotFree)
	t.Run("deleted", h.testDeleted)
	t.Run("mirrored", h.testMirrored)
	t.Run("by rule", h.testByRule)
	t.Run("certificates", h.testCertificates)
	t.Run("clean-up", h.testCleanUp)
	t.Run("works are no kind any more", h.testKindGone)
}

func (h *hubUnderTest) testBootstrap(t *testing.T) {
	ctx := t.Context()
	for name, who := range map[string]client.Client{
		"account": h.as(t, consent.BootstrapUser, "system:serviceaccounts"), "token": h.as(t, "system:bootstrap:ocmhub", "system:bootstrappers", consent.BootstrapGroup),
	} {
		if err := who.Create(ctx, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "by-" + name}}); err != nil {
			t.Errorf("%s introduces no cluster: %v", name, err)
		}
		if err := who.List(ctx, &certificatesv1.CertificateSigningRequestList{}); err != nil {
			t.Errorf("%s reads no certificate requests: %v", name, err)
		}
		if err := who.Get(ctx, client.ObjectKey{Name: "kube-system"}, new(corev1.Namespace)); !apierrors.IsForbidden(err) {
			t.Errorf("%s reads namespaces: %v", name, err)
		}
		if err := who.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}, new(corev1.ConfigMap)); !apierrors.IsNotFound(err) {
			t.Errorf("%s reads what is for everybody: %v", name, err)
		}
		if err := who.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kubeadm-config"}, new(corev1.ConfigMap)); !apierrors.IsForbidden(err) {
			t.Errorf("%s reads what is the API's own: %v", name, err)
		}
	}
}

func (h *hubUnderTest) testAccepted(t *testing.T) {
	h.introduce(t, "c1")
	h.introduce(t, "never")
	h.decide(t, "c1", true)
	h.awaitReason(t, "c1", ocmv1.ReasonAccepted)
	ctx := t.Context()
	// The condition comes last: everything else is there at once.
	space := new(corev1.Namespace)
	if err := h.Client.Get(ctx, client.ObjectKey{Name: "c1"}, space); err != nil || space.Labels[ocmv1.ClusterNameLabel] != "c1" {
		t.Errorf("namespace %v, %v", space.Labels, err)
	}
	if !slices.Contains(h.cluster(ctx, "c1").Finalizers, ocmv1.ManagedClusterFinalizer) {
		t.Error("the cluster is not held")
	}
	role, binding := new(rbacv1.ClusterRole), new(rbacv1.ClusterRoleBinding)
	if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "c1"}, role); err != nil {
		t.Error(err)
	}
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get", "list", "watch"}},
		{APIGroups: []string{"register.open-cluster-management.io"}, Resources: []string{"managedclusters/clientcertificates"}, Verbs: []string{"renew"}},
		{APIGroups: []string{"cluster.open-cluster-management.io"}, Resources: []string{"managedclusters"}, ResourceNames: []string{"c1"}, Verbs: []string{"get", "list", "update", "watch"}},
		{APIGroups: []string{"cluster.open-cluster-management.io"}, Resources: []string{"managedclusters/status"}, ResourceNames: []string{"c1"}, Verbs: []string{"patch", "update"}},
	}
	if diff := cmp.Diff(want, role.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	subjects := []rbacv1.Subject{
		{Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "system:open-cluster-management:c1"}, {Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "open-cluster-management:c1"},
	}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "c1"}, binding); err != nil || !cmp.Equal(subjects, binding.Subjects) || binding.Labels[ocmv1.ClusterNameLabel] != "c1" {
		t.Errorf("binding %+v, %v", binding, err)
	}
	for suffix, finalizers := range map[string][]string{"registration": nil, "work": {ocmworkv1.ManifestWorkFinalizer}} {
		bound := new(rbacv1.RoleBinding)
		err := h.Client.Get(ctx, client.ObjectKey{Namespace: "c1", Name: roleOf + "c1:" + suffix}, bound)
		if err != nil || bound.RoleRef.Name != roleOf+suffix || !cmp.Equal(finalizers, bound.Finalizers, cmpopts.EquateEmpty()) || !cmp.Equal(subjects, bound.Subjects) {
			t.Errorf("binding %s: %+v, %v", suffix, bound, err)
		}
	}
	h.Await(t, "the agent's rights", func(ctx context.Context) bool {
		return h.agentOf(t, "c1").List(ctx, &ocmworkv1.ManifestWorkList{}, client.InNamespace("c1")) == nil
	})
	if err := h.agentOf(t, "c1").List(ctx, &ocmworkv1.ManifestWorkList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		t.Errorf("the agent reads works elsewhere: %v", err)
	}
	h.checkShared(t)
	if never := h.cluster(ctx, "never"); len(never.Status.Conditions) > 0 || len(never.Finalizers) > 0 || !h.Gone(ctx, client.ObjectKey{Name: "never"}, new(corev1.Namespace)) {
		t.Errorf("a cluster that was never accepted was touched: %+v", never)
	}
	// Somebody breaks it.
	if err := h.Client.Delete(ctx, role); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the role to be made again", func(ctx context.Context) bool {
		return h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "c1"}, role) == nil
	})
}

// checkShared compares what all agents may in their own namespaces with the
// contract, and tries what they may not.
func (h *hubUnderTest) checkShared(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for name, want := range map[string][]rbacv1.PolicyRule{
		"registration": {
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "update"}},
			{APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"managedclusteraddons"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"managedclusteraddons/status"}, Verbs: []string{"patch", "update"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
		},
		"work": {
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
			{APIGroups: []string{"work.open-cluster-management.io"}, Resources: []string{"manifestworks"}, Verbs: []string{"get", "list", "watch", "update", "patch"}},
			{APIGroups: []string{"work.open-cluster-management.io"}, Resources: []string{"manifestworks/status"}, Verbs: []string{"patch", "update"}},
		},
	} {
		role := new(rbacv1.ClusterRole)
		if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + name}, role); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, role.Rules); diff != "" {
			t.Errorf("rules of %s (-want +got):\n%s", name, diff)
		}
	}
	h.Create(t, work("kept"))
	addon := &ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "kept"}}
	h.Create(t, addon)
	agent := h.agentOf(t, "c1")
	h.Await(t, "the agent to see its add-ons", func(ctx context.Context) bool {
		return agent.Get(ctx, client.ObjectKeyFromObject(addon), new(ocmaddonv1alpha1.ManagedClusterAddOn)) == nil
	})
	for what, try := range map[string]func() error{
		"makes a lease": func() error {
			return agent.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "mine"}})
		},
		"makes a work":   func() error { return agent.Create(ctx, work("mine")) },
		"deletes a work": func() error { return agent.Delete(ctx, work("kept")) },
		"changes an add-on": func() error {
			return agent.Patch(ctx, addon, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"installNamespace":"mine"}}`)))
		},
		"makes an add-on": func() error {
			return agent.Create(ctx, &ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "mine"}})
		},
	} {
		if err := try(); !apierrors.IsForbidden(err) {
			t.Errorf("an agent %s in its own namespace: %v", what, err)
		}
	}
	h.finish(t, "kept")
	if err := h.Client.Delete(ctx, addon); err != nil {
		t.Fatal(err)
	}
}

// testMirrored: the namespace that was made for a Karmada member's mirror goes with
// it, unless somebody uses it, had it before, or an agent of the field comes.
func (h *hubUnderTest) testMirrored(t *testing.T) {
	ctx := t.Context()
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mirror-before"}})
	names := []string{"mirror-before", "mirror-used", "mirror-replaced", "mirror-plain"}
	for _, name := range names {
		mirror := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"muster.dev/origin": "Cluster"}}}
		mirror.Spec.HubAcceptsClient = true
		h.Create(t, mirror)
		h.Await(t, "namespace "+name, func(ctx context.Context) bool {
			space := new(corev1.Namespace)
			return h.Client.Get(ctx, client.ObjectKey{Name: name}, space) == nil && space.Labels[ocmv1.ClusterNameLabel] == name
		})
	}
	h.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "mirror-used", Name: "somebodys"}})
	replaced := h.cluster(ctx, "mirror-replaced")
	replaced.Annotations = nil
	if err := h.Client.Update(ctx, replaced); err != nil {
		t.Fatal(err)
	}
	h.awaitReason(t, "mirror-replaced", ocmv1.ReasonAccepted)
	for _, name := range names {
		if err := h.Client.Delete(ctx, h.cluster(ctx, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		h.Await(t, name+" gone", func(ctx context.Context) bool { return h.cluster(ctx, name) == nil })
	}
	h.Await(t, "an unused namespace to go with its mirror", func(ctx context.Context) bool {
		return h.Gone(ctx, client.ObjectKey{Name: "mirror-plain"}, new(corev1.Namespace))
	})
	for _, name := range names[:3] {
		space := new(corev1.Namespace)
		if err := h.Client.Get(ctx, client.ObjectKey{Name: name}, space); err != nil || space.DeletionTimestamp != nil {
			t.Errorf("namespace %s went with its cluster: %v", name, err)
		}
	}
}

func work(name string) *ocmworkv1.ManifestWork {
	made := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: name, Finalizers: []string{ocmworkv1.ManifestWorkFinalizer}}}
	made.Spec.Workload.Manifests = []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}`)}}}
	return made
}

// finish does what the work agent does when a work is deleted.
func (h *hubUnderTest) finish(t *testing.T, name string) {
	t.Helper()
	if err := h.Client.Delete(t.Context(), work(name)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := h.Client.Patch(t.Context(), work(name), patch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

func (h *hubUnderTest) workBindingHeld(ctx context.Context) bool {
	bound := new(rbacv1.RoleBinding)
	return h.Client.Get(ctx, client.ObjectKey{Namespace: "c1", Name: roleOf + "c1:work"}, bound) == nil && bound.DeletionTimestamp != nil
}

// awaitHeld waits until c1 tells what its denial waits for.
func (h *hubUnderTest) awaitHeld(t *testing.T, message string) {
	t.Helper()
	h.Await(t, "the denial to say "+message, func(ctx context.Context) bool {
		held := meta.FindStatusCondition(h.cluster(ctx, "c1").Status.Conditions, ocmv1.ConditionHubDenied)
		return held != nil && held.Status == metav1.ConditionFalse && held.Reason == ocmv1.ReasonWorksRemaining && strings.Contains(held.Message, message)
	})
}

// testDenied takes rights first, keeps those of the work agent as long as it has
// work, and tells of the denial last.
func (h *hubUnderTest) testDenied(t *testing.T) {
	h.Create(t, work("w1"))
	h.decide(t, "c1", false)
	h.Await(t, "the work role binding to be held", h.workBindingHeld)
	h.awaitHeld(t, "any: w1. Delete them")
	h.Create(t, work("w0"))
	h.awaitHeld(t, "any: w0, w1. Delete them")
	h.finish(t, "w0")
	h.awaitHeld(t, "any: w1. Delete them")
	if err := h.agentOf(t, "c1").List(t.Context(), &ocmworkv1.ManifestWorkList{}, client.InNamespace("c1")); err != nil {
		t.Errorf("a denied agent cannot finish its works: %v", err)
	}
	ctx := t.Context()
	role := new(rbacv1.ClusterRole)
	want := []rbacv1.PolicyRule{{APIGroups: []string{"cluster.open-cluster-management.io"}, Resources: []string{"managedclusters"}, ResourceNames: []string{"c1"}, Verbs: []string{"get", "list", "watch"}}}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "c1"}, role); err != nil || !cmp.Equal(want, role.Rules) {
		t.Errorf("rules %+v, %v", role.Rules, err)
	}
	if !h.Gone(ctx, client.ObjectKey{Namespace: "c1", Name: roleOf + "c1:registration"}, new(rbacv1.RoleBinding)) {
		t.Error("the registration binding is still there")
	}
	if !meta.IsStatusConditionTrue(h.cluster(ctx, "c1").Status.Conditions, ocmv1.ConditionHubAccepted) {
		t.Error("the denial was told before the last right was gone")
	}
	if err := h.Client.Delete(ctx, work("w1")); err != nil {
		t.Fatal(err)
	}
	h.awaitHeld(t, "any: w1. They are being deleted")
	h.finish(t, "w1")
	h.awaitReason(t, "c1", ocmv1.ReasonDenied)
	if held := meta.FindStatusCondition(h.cluster(ctx, "c1").Status.Conditions, ocmv1.ConditionHubDenied); held != nil {
		t.Errorf("a denial that is done waits: %+v", held)
	}
	if !h.Gone(ctx, client.ObjectKey{Namespace: "c1", Name: roleOf + "c1:work"}, new(rbacv1.RoleBinding)) {
		t.Error("the denial was told while the work binding was there")
	}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: "c1"}, new(corev1.Namespace)); err != nil {
		t.Errorf("the namespace went: %v", err)
	}
	h.Await(t, "the event", func(ctx context.Context) bool {
		var told eventsv1.EventList
		return h.Client.List(ctx, &told, client.InNamespace("c1")) == nil && slices.ContainsFunc(told.Items, func(e eventsv1.Event) bool { return e.Reason == "ManagedClusterDenied" })
	})
}

// testAcceptedAgain accepts a cluster whose work binding is still held.
func (h *hubUnderTest) testAcceptedAgain(t *testing.T) {
	h.decide(t, "c1", true)
	h.awaitReason(t, "c1", ocmv1.ReasonAccepted)
	h.Create(t, work("w2"))
	h.decide(t, "c1", false)
	h.Await(t, "the work role binding to be held", h.workBindingHeld)
	h.awaitHeld(t, "any: w2. ")
	h.decide(t, "c1", true)
	h.Await(t, "nothing to wait any more", func(ctx context.Context) bool {
		return meta.FindStatusCondition(h.cluster(ctx, "c1").Status.Conditions, ocmv1.ConditionHubDenied) == nil
	})
	h.Await(t, "the work role binding to be whole", func(ctx context.Context) bool {
		bound := new(rbacv1.RoleBinding)
		err := h.Client.Get(ctx, client.ObjectKey{Namespace: "c1", Name: roleOf + "c1:work"}, bound)
		return err == nil && bound.DeletionTimestamp == nil && slices.Equal(bound.Finalizers, []string{ocmworkv1.ManifestWorkFinalizer})
	})
	h.awaitReason(t, "c1", ocmv1.ReasonAccepted)
}

// testNameNotFree has clusters that were there before admission was asked, named like
// what the hub needs itself: the roles that all share, and a namespace that has secrets.
func (h *hubUnderTest) testNameNotFree(t *testing.T) {
	ctx := t.Context()
	shared := new(rbacv1.ClusterRole)
	if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "work"}, shared); err != nil {
		t.Fatal(err)
	}
	names := []string{"work", "registration", "kube-system"}
	for _, name := range names {
		h.introduce(t, name)
		h.decide(t, name, true)
		h.awaitReason(t, name, ocmv1.ReasonAcceptError)
		said := meta.FindStatusCondition(h.cluster(ctx, name).Status.Conditions, ocmv1.ConditionHubAccepted).Message
		if !strings.Contains(said, "is not free") {
			t.Errorf("%s is told %q", name, said)
		}
		if !h.Gone(ctx, client.ObjectKey{Name: roleOf + name}, new(rbacv1.ClusterRoleBinding)) || !h.Gone(ctx, client.ObjectKey{Namespace: name, Name: roleOf + name + ":registration"}, new(rbacv1.RoleBinding)) {
			t.Errorf("%s was given a role", name)
		}
	}
	for _, name := range names {
		if err := h.Client.Delete(ctx, h.cluster(ctx, name)); err != nil {
			t.Fatal(err)
		}
		h.Await(t, name+" to go", func(ctx context.Context) bool { return h.cluster(ctx, name) == nil })
	}
	// What is done about a cluster that is gone is done in turn: this one comes later.
	h.introduce(t, "later")
	h.decide(t, "later", true)
	h.awaitReason(t, "later", ocmv1.ReasonAccepted)
	if err := h.Client.Delete(ctx, h.cluster(ctx, "later")); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the last of them to go", func(ctx context.Context) bool { return h.cluster(ctx, "later") == nil })
	after := new(rbacv1.ClusterRole)
	if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "work"}, after); err != nil || after.UID != shared.UID || !cmp.Equal(shared.Rules, after.Rules) {
		t.Errorf("the shared role was %+v and is %+v: %v", shared.Rules, after.Rules, err)
	}
}

func (h *hubUnderTest) testDeleted(t *testing.T) {
	ctx := t.Context()
	if err := h.Client.Delete(ctx, h.cluster(ctx, "c1")); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the work role binding to be held", h.workBindingHeld)
	if !h.Gone(ctx, client.ObjectKey{Name: roleOf + "c1"}, new(rbacv1.ClusterRole)) || !h.Gone(ctx, client.ObjectKey{Name: roleOf + "c1"}, new(rbacv1.ClusterRoleBinding)) {
		t.Error("the cluster's roles are still there")
	}
	if h.cluster(ctx, "c1") == nil {
		t.Error("the cluster went before its works")
	}
	h.finish(t, "w2")
	h.Await(t, "the cluster to go", func(ctx context.Context) bool { return h.cluster(ctx, "c1") == nil })
	if !h.Gone(ctx, client.ObjectKey{Namespace: "c1", Name: roleOf + "c1:work"}, new(rbacv1.RoleBinding)) {
		t.Error("the work binding outlived the cluster")
	}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: roleOf + "work"}, new(rbacv1.ClusterRole)); err != nil {
		t.Errorf("the shared role went while there are clusters: %v", err)
	}
	for _, name := range []string{"never", "by-account", "by-token"} {
		if err := h.Client.Delete(ctx, h.cluster(ctx, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.Await(t, "the shared roles to go with the last cluster", func(ctx context.Context) bool {
		return h.Gone(ctx, client.ObjectKey{Name: roleOf + "work"}, new(rbacv1.ClusterRole)) && h.Gone(ctx, client.ObjectKey{Name: roleOf + "registration"}, new(rbacv1.ClusterRole))
	})
}

// testByRule accepts once, and never against a person.
func (h *hubUnderTest) testByRule(t *testing.T) {
	h.introduce(t, "auto-early") // waits for a rule
	h.introduce(t, "manual")
	h.rules.add("auto")
	h.awaitReason(t, "auto-early", ocmv1.ReasonAccepted)
	h.introduce(t, "auto-late")
	h.awaitReason(t, "auto-late", ocmv1.ReasonAccepted)
	ctx := t.Context()
	cluster := h.cluster(ctx, "auto-late")
	if cluster.Annotations[ocmv1.AutomaticallyAcceptedAnnotation] == "" || cluster.Annotations[consent.AnnotationRule] == "" {
		t.Errorf("annotations %v", cluster.Annotations)
	}
	h.Await(t, "the record of the acceptance", func(context.Context) bool { return h.audit.has("accept auto-late") })
	h.decide(t, "auto-late", false)
	h.awaitReason(t, "auto-late", ocmv1.ReasonDenied)
	h.rules.add("x") // judges all anew
	h.introduce(t, "auto-last")
	h.awaitReason(t, "auto-last", ocmv1.ReasonAccepted)
	if h.cluster(ctx, "auto-late").Spec.HubAcceptsClient || h.cluster(ctx, "manual").Spec.HubAcceptsClient {
		t.Error("a rule accepted what a person denied, or what it does not mean")
	}
}

// testKindGone removes a cluster on a hub that is being taken away: where works
// are no kind any more, none can hold a cluster.
func (h *hubUnderTest) testKindGone(t *testing.T) {
	ctx := t.Context()
	h.introduce(t, "late")
	h.decide(t, "late", true)
	h.awaitReason(t, "late", ocmv1.ReasonAccepted)
	kind := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "manifestworks.work.open-cluster-management.io"}}
	kind.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := h.Client.Delete(ctx, kind); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the kind to go", func(ctx context.Context) bool {
		return h.Gone(ctx, client.ObjectKeyFromObject(kind), kind)
	})
	if err := h.Client.Delete(ctx, h.cluster(ctx, "late")); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the cluster to go", func(ctx context.Context) bool { return h.cluster(ctx, "late") == nil })
}
