package template_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template"
)

// placer places every binding in the clusters that its placement names.
type placer struct{}

func (placer) Place(b workv1alpha2.Binding) {
	spec := b.BindingSpec()
	if spec.Placement == nil || spec.Placement.ClusterAffinity == nil {
		return
	}
	for _, name := range spec.Placement.ClusterAffinity.ClusterNames {
		spec.Clusters = append(spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: spec.Replicas})
	}
}

// interpreter does not know what objects with the annotation secretive need, nor how
// many are asked for by those with the annotation uncountable.
type interpreter struct{ *interpret.Interpreter }

func (i interpreter) Replicas(ctx context.Context, o *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, bool, error) {
	if o.GetAnnotations()["uncountable"] != "" {
		return 0, nil, false, errors.New("nobody can count it")
	}
	return i.Interpreter.Replicas(ctx, o)
}

func (i interpreter) Dependencies(ctx context.Context, o *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	if o.GetAnnotations()["secretive"] != "" {
		return nil, errors.New("it does not say what it needs")
	}
	return i.Interpreter.Dependencies(ctx, o)
}

// fixture is a hub with this package's controllers.
type fixture struct {
	*kubetest.Hub
	cache *template.Cache
	// misses are the policies that select nothing.
	misses *policy.Misses
	// troubles are the templates that cannot be propagated.
	troubles *template.Troubles

	mu sync.Mutex
	// versions are those that the cache has shown, by template.
	versions map[template.Ref][]string
}

func startFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t), misses: policy.NewMisses(), troubles: template.NewTroubles(), versions: map[template.Ref][]string{}}
	f.installPolicies(t)
	f.cache = f.start(t, func(ref template.Ref, _, current *unstructured.Unstructured) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if current != nil {
			f.versions[ref] = append(f.versions[ref], current.GetResourceVersion())
		}
	})
	return f
}

// start starts the controllers and waits for their cache.
func (f *fixture) start(t *testing.T, told func(ref template.Ref, old, current *unstructured.Unstructured)) *template.Cache {
	t.Helper()
	manager, err := kube.NewManager(f.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	gates := policy.DefaultGates()
	gates.PropagationPolicyPreemption = true
	cache, err := template.SetupWithManager(manager, template.Deps{
		Config: f.Config(), Interpreter: interpreter{interpret.Native()}, Scheduler: placer{}, Gates: gates, Misses: f.misses, Troubles: f.troubles,
	})
	if err != nil {
		t.Fatal(err)
	}
	cache.Subscribe(told)
	f.Run(t, manager)
	f.Await(t, "the cache of templates", func(context.Context) bool { return cache.Synced() })
	return cache
}

// installPolicies installs the kinds that are custom resources in the product too.
func (f *fixture) installPolicies(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"policy.karmada.io_propagationpolicies", "policy.karmada.io_clusterpropagationpolicies",
		"policy.karmada.io_overridepolicies", "policy.karmada.io_clusteroverridepolicies", "apps.karmada.io_workloadrebalancers",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "crds", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		f.Create(t, &definition)
	}
	f.Await(t, "policies", func(ctx context.Context) bool {
		return f.Client.List(ctx, &policyv1alpha1.PropagationPolicyList{}) == nil && f.Client.List(ctx, &policyv1alpha1.ClusterOverridePolicyList{}) == nil &&
			f.Client.List(ctx, &policyv1alpha1.ClusterPropagationPolicyList{}) == nil && f.Client.List(ctx, &policyv1alpha1.OverridePolicyList{}) == nil
	})
}

// shown says whether a template ever had a version.
func (f *fixture) shown(ref template.Ref, version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.versions[ref], version)
}

func (f *fixture) namespace(t *testing.T, name string) string {
	t.Helper()
	f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

func (f *fixture) binding(ctx context.Context, namespace, name string) *workv1alpha2.ResourceBinding {
	var b workv1alpha2.ResourceBinding
	if f.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &b) != nil {
		return nil
	}
	return &b
}

// awaitClaim waits until template and binding carry the claim of a policy.
func (f *fixture) awaitClaim(t *testing.T, o client.Object, binding string, p template.PolicyObject) *workv1alpha2.ResourceBinding {
	t.Helper()
	want := template.ClaimOf(p)
	var b *workv1alpha2.ResourceBinding
	defer func() {
		if t.Failed() && b != nil {
			onTemplate, _ := template.ClaimIn(o)
			onBinding, _ := template.ClaimIn(b)
			f.mu.Lock()
			defer f.mu.Unlock()
			for ref, versions := range f.versions {
				if ref.Namespace == o.GetNamespace() && ref.Name == o.GetName() {
					t.Logf("versions of %s: %v", ref, versions)
				}
			}
			t.Logf("template: %s, version %s; binding: %s, of version %s, deleted %v", onTemplate, o.GetResourceVersion(), onBinding, b.Spec.Resource.ResourceVersion, b.DeletionTimestamp)
		}
	}()
	f.Await(t, "the claim of "+want.String()+" on "+o.GetName(), func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(o), o) != nil {
			return false
		}
		b = f.binding(ctx, o.GetNamespace(), binding)
		if b == nil {
			return false
		}
		onTemplate, _ := template.ClaimIn(o)
		onBinding, _ := template.ClaimIn(b)
		return onTemplate == want && onBinding == want
	})
	return b
}

func newDeployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Paused:   true, // the controller of these tests' API would annotate it
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "c"}}, Data: map[string]string{"k": "v"}}
}

func (f *fixture) update(t *testing.T, o client.Object, edit func()) {
	t.Helper()
	f.Await(t, "the update of "+o.GetName(), func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(o), o) != nil {
			return false
		}
		edit()
		return f.Client.Update(ctx, o) == nil
	})
}

func (f *fixture) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := f.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestDetector(t *testing.T) {
	f := startFixture(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"claim and binding", testClaim},
		{"refused claim", testRefusedClaim},
		{"refused preemption", testRefusedPreemption},
		{"uncounted", testUncounted},
		{"binding follows", testFollow},
		{"priority and waiting list", testPriority},
		{"cluster policy", testClusterPolicy},
		{"policy deletion", testPolicyDeletion},
		{"policy without finalizer", testPolicyForced},
		{"selector edit", testSelectorEdit},
		{"lazy", testLazy},
		{"preemption", testPreemption},
		{"metrics", testMetrics},
		{"dependent overrides", testDependentOverrides},
		{"dependencies that nobody can tell", testSecretiveDependencies},
		{"recreated template", testRecreate},
		{"left alone", testLeftAlone},
		{"new kind", testNewKind},
		{"dependencies", testDependencies},
		{"rebalancer", testRebalancer},
		{"promote", testPromote},
		{"aim", testAim},
		{"burst", testBurst},
		{"start", testStart},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, f) })
	}
}

func testClaim(t *testing.T, f *fixture) {
	ns := f.namespace(t, "claim")
	nginx := newDeployment(ns, "nginx", 1)
	f.Create(t, nginx)
	pp := newPP(ns, "nginx-propagation", sel("apps/v1", "Deployment", "nginx", nil), clusters("member1", "member2"))
	f.Create(t, pp)
	b := f.awaitClaim(t, nginx, "nginx-deployment", pp)
	if nginx.Generation != 2 {
		t.Errorf("claiming made generation %d", nginx.Generation)
	}
	want := workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "nginx", UID: nginx.UID},
		Replicas: 1, SchedulerName: "default-scheduler", ConflictResolution: policyv1alpha1.ConflictAbort,
		Clusters:  []workv1alpha2.TargetCluster{{Name: "member1", Replicas: 1}, {Name: "member2", Replicas: 1}},
		Placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member1", "member2"}}},
	}
	got := b.Spec
	got.ReplicaRequirements = nil // the interpreter's affair
	f.Await(t, "the version that the binding names", func(context.Context) bool {
		return f.shown(template.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "nginx"}, got.Resource.ResourceVersion)
	})
	got.Resource.ResourceVersion = "" // the status moves on meanwhile
	if diff := difference(want, got); diff != "" {
		t.Error(diff)
	}
	owner := metav1.GetControllerOf(b)
	if owner == nil || owner.UID != nginx.UID || owner.Kind != "Deployment" || !slices.Contains(b.Finalizers, workv1alpha2.BindingControllerFinalizer) {
		t.Errorf("owner %+v, finalizers %v", owner, b.Finalizers)
	}
	if b.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] == "" {
		t.Error("the binding has no permanent id")
	}
}

func testFollow(t *testing.T, f *fixture) {
	ns := f.namespace(t, "follow")
	pp := newPP(ns, "p", sel("apps/v1", "Deployment", "web", nil), clusters("member1"))
	f.Create(t, pp)
	web := newDeployment(ns, "web", 1)
	f.Create(t, web)
	b := f.awaitClaim(t, web, "web-deployment", pp)
	version := b.ResourceVersion

	// Status writes do not reach the binding.
	f.Await(t, "the status", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(web), web) != nil {
			return false
		}
		web.Status.Replicas, web.Status.ReadyReplicas = 1, 1
		return f.Client.Status().Update(ctx, web) == nil
	})
	// Another controller's part of the binding stays.
	f.update(t, b, func() {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "elsewhere", Replicas: 1}}
		b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: ptr.To(true)}
	})
	f.update(t, web, func() { web.Spec.Replicas = ptr.To[int32](3) })
	f.Await(t, "new replicas", func(ctx context.Context) bool {
		b = f.binding(ctx, ns, "web-deployment")
		return b.Spec.Replicas == 3
	})
	if len(b.Spec.Clusters) != 1 || b.Spec.Clusters[0].Name != "elsewhere" || b.Spec.Suspension == nil || b.ResourceVersion == version {
		t.Errorf("the binding became %+v", b.Spec)
	}
	f.update(t, pp, func() {
		pp.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: ptr.To(true)}
		pp.Spec.PreserveResourcesOnDeletion = ptr.To(true)
		pp.Spec.Placement.ClusterAffinity.ClusterNames = []string{"member2"}
	})
	f.Await(t, "the policy's change", func(ctx context.Context) bool {
		b = f.binding(ctx, ns, "web-deployment")
		return ptr.Deref(b.Spec.PreserveResourcesOnDeletion, false)
	})
	if s := b.Spec.Suspension; s == nil || !ptr.Deref(s.Scheduling, false) || !ptr.Deref(s.Dispatching, false) {
		t.Errorf("the suspension became %+v", s)
	}
	if got := b.Spec.Placement.ClusterAffinity.ClusterNames; !slices.Equal(got, []string{"member2"}) {
		t.Errorf("the placement names %v", got)
	}
	// A binding that somebody deletes comes back.
	old := b.UID
	f.remove(t, b)
	f.Await(t, "another binding", func(ctx context.Context) bool {
		f.finish(ctx, ns, "web-deployment")
		b := f.binding(ctx, ns, "web-deployment")
		return b != nil && b.UID != old
	})
}

func testPriority(t *testing.T, f *fixture) {
	ns := f.namespace(t, "priority")
	a, b := newConfigMap(ns, "a"), newConfigMap(ns, "b")
	f.Create(t, a)
	low := newPP(ns, "low", sel("v1", "ConfigMap", "", nil))
	f.Create(t, low)
	f.awaitClaim(t, a, "a-configmap", low)
	high := newPP(ns, "high", sel("v1", "ConfigMap", "", map[string]string{"app": "c"}), sel("apps/v1", "Deployment", "witness", nil), prio(1))
	f.Create(t, high)
	witness := newDeployment(ns, "witness", 1) // policies and templates are watched apart: this one shows that high is known
	f.Create(t, witness)
	f.awaitClaim(t, witness, "witness-deployment", high)
	f.Create(t, b)
	f.awaitClaim(t, b, "b-configmap", high)
	// What is claimed stays claimed.
	f.awaitClaim(t, a, "a-configmap", low)
}

func testClusterPolicy(t *testing.T, f *fixture) {
	ns := f.namespace(t, "cluster-policy")
	cm := newConfigMap(ns, "shared")
	f.Create(t, cm)
	cpp := newCPP("shared", sel("v1", "ConfigMap", "shared", nil), sel("v1", "Namespace", ns, nil))
	f.Create(t, cpp)
	f.awaitClaim(t, cm, "shared-configmap", cpp)
	var b workv1alpha2.ClusterResourceBinding
	f.Await(t, "the namespace's binding", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKey{Name: ns + "-namespace"}, &b) == nil
	})
	if claim, _ := template.ClaimIn(&b); claim != template.ClaimOf(cpp) || !slices.Contains(b.Finalizers, workv1alpha2.ClusterResourceBindingControllerFinalizer) {
		t.Errorf("the binding has %+v, %v", claim, b.Finalizers)
	}
	pp := newPP(ns, "own", sel("v1", "ConfigMap", "shared", nil))
	f.Create(t, pp)
	// The cluster's policy keeps it until it goes.
	f.remove(t, cpp)
	f.awaitClaim(t, cm, "shared-configmap", pp)
	f.Await(t, "the end of the policy", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(cpp), cpp) })
	if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(&b), &b); err != nil {
		t.Fatal(err)
	}
	if _, claimed := template.ClaimIn(&b); claimed {
		t.Error("the binding still carries the claim of a policy that is gone")
	}
}

func testPolicyDeletion(t *testing.T, f *fixture) {
	ns := f.namespace(t, "policy-deletion")
	nginx := newDeployment(ns, "nginx", 1)
	f.Create(t, nginx)
	pp := newPP(ns, "p", sel("apps/v1", "Deployment", "nginx", nil), clusters("member1"))
	f.Create(t, pp)
	before := f.awaitClaim(t, nginx, "nginx-deployment", pp)
	f.remove(t, pp)
	f.Await(t, "the end of the policy", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(pp), pp) })
	after := f.binding(t.Context(), ns, "nginx-deployment")
	if after == nil || after.DeletionTimestamp != nil {
		t.Fatal("the binding went with the policy")
	}
	if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(nginx), nginx); err != nil {
		t.Fatal(err)
	}
	_, onTemplate := template.ClaimIn(nginx)
	_, onBinding := template.ClaimIn(after)
	if onTemplate || onBinding || len(after.Annotations) != 0 {
		t.Errorf("claims stay: template %v, binding %v (%v)", onTemplate, onBinding, after.Annotations)
	}
	if nginx.Generation != 3 {
		t.Errorf("generation %d, want 3", nginx.Generation)
	}
	if diff := difference(before.Spec, after.Spec); diff != "" {
		t.Errorf("the spec changed: %s", diff)
	}
	next := newPP(ns, "q", sel("apps/v1", "Deployment", "nginx", nil), clusters("member1"))
	f.Create(t, next)
	f.awaitClaim(t, nginx, "nginx-deployment", next)
}

func testPolicyForced(t *testing.T, f *fixture) {
	ns := f.namespace(t, "forced")
	cm := newConfigMap(ns, "c")
	f.Create(t, cm)
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "c", nil))
	pp.Finalizers = nil
	f.Create(t, pp)
	f.awaitClaim(t, cm, "c-configmap", pp)
	f.remove(t, pp)
	f.Await(t, "the end of the claims", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(cm), cm) != nil {
			return false
		}
		_, claimed := template.ClaimIn(cm)
		_, bound := template.ClaimIn(f.binding(ctx, ns, "c-configmap"))
		return !claimed && !bound
	})
}

func testSelectorEdit(t *testing.T, f *fixture) {
	ns := f.namespace(t, "selector-edit")
	a, b := newConfigMap(ns, "a"), newConfigMap(ns, "b")
	f.Create(t, a)
	f.Create(t, b)
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "a", nil))
	f.Create(t, pp)
	f.awaitClaim(t, a, "a-configmap", pp)
	f.update(t, pp, func() { pp.Spec.ResourceSelectors[0].Name = "b" })
	f.awaitClaim(t, b, "b-configmap", pp)
	f.Await(t, "the release", func(ctx context.Context) bool {
		_ = f.Client.Get(ctx, client.ObjectKeyFromObject(a), a)
		_, onTemplate := template.ClaimIn(a)
		_, onBinding := template.ClaimIn(f.binding(ctx, ns, "a-configmap"))
		return !onTemplate && !onBinding
	})
}

func testLazy(t *testing.T, f *fixture) {
	ns := f.namespace(t, "lazy")
	early := newConfigMap(ns, "early")
	f.Create(t, early)
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "", nil), clusters("member1"), lazy)
	f.Create(t, pp)
	f.Await(t, "the claim on what was there before", func(ctx context.Context) bool {
		_ = f.Client.Get(ctx, client.ObjectKeyFromObject(early), early)
		claim, _ := template.ClaimIn(early)
		return claim == template.ClaimOf(pp)
	})
	late := newConfigMap(ns, "late") // the policy is known by now
	f.Create(t, late)
	f.awaitClaim(t, late, "late-configmap", pp)
	f.settle(t, ns)
	if f.binding(t.Context(), ns, "early-configmap") != nil {
		t.Error("a lazy policy has reached a template that nobody changed")
	}
	f.update(t, pp, func() { pp.Spec.Placement.ClusterAffinity.ClusterNames = []string{"member2"} })
	f.settle(t, ns) // the change of the policy is known before that of the template
	f.update(t, early, func() { early.Data["k"] = "w" })
	b := f.awaitClaim(t, early, "early-configmap", pp)
	if got := b.Spec.Placement.ClusterAffinity.ClusterNames; !slices.Equal(got, []string{"member2"}) {
		t.Errorf("the placement names %v", got)
	}
	if got := f.binding(t.Context(), ns, "late-configmap").Spec.Placement.ClusterAffinity.ClusterNames; !slices.Equal(got, []string{"member1"}) {
		t.Errorf("a lazy policy's change has reached a template that nobody changed: %v", got)
	}
	f.update(t, late, func() { late.Annotations["example.karmada.io/note"] = "ours" })
	f.settle(t, ns)
	f.update(t, late, func() { late.Data["k"] = "w" })
	f.Await(t, "the change", func(ctx context.Context) bool {
		return slices.Equal(f.binding(ctx, ns, "late-configmap").Spec.Placement.ClusterAffinity.ClusterNames, []string{"member2"})
	})
}

// settle waits until everything that was queued for a namespace before is done: a
// policy and a template that come later are heard of and handled after it.
func (f *fixture) settle(t *testing.T, ns string) {
	t.Helper()
	last := newDeployment(ns, "last", 1)
	pp := newPP(ns, "last", sel("apps/v1", "Deployment", "last", nil))
	f.Create(t, last)
	f.Create(t, pp)
	f.awaitClaim(t, last, "last-deployment", pp)
	f.remove(t, last)
	f.remove(t, pp)
	f.Await(t, "the end", func(ctx context.Context) bool {
		f.finish(ctx, ns, "last-deployment")
		return f.binding(ctx, ns, "last-deployment") == nil && f.Gone(ctx, client.ObjectKeyFromObject(pp), pp)
	})
}

// finish plays the controller of bindings, which lets a deleted one go.
func (f *fixture) finish(ctx context.Context, ns, name string) {
	if b := f.binding(ctx, ns, name); b != nil && b.DeletionTimestamp != nil {
		b.Finalizers = nil
		_ = f.Client.Update(ctx, b)
	}
}

func testPreemption(t *testing.T, f *fixture) {
	ns := f.namespace(t, "preemption")
	cm := newConfigMap(ns, "c")
	f.Create(t, cm)
	cpp := newCPP("preempted", sel("v1", "ConfigMap", "c", nil), prio(5), func(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
		s.ResourceSelectors[0].Namespace = ns
	})
	f.Create(t, cpp)
	f.awaitClaim(t, cm, "c-configmap", cpp)
	pp := newPP(ns, "taker", sel("v1", "ConfigMap", "c", nil), always)
	f.Create(t, pp)
	f.awaitClaim(t, cm, "c-configmap", pp)
	stronger := newPP(ns, "stronger", sel("v1", "ConfigMap", "c", nil), always, prio(3))
	f.Create(t, stronger)
	f.awaitClaim(t, cm, "c-configmap", stronger)
	f.Await(t, "the event", func(ctx context.Context) bool { return f.event(ctx, ns, "c", "PreemptPolicySucceed") })
	f.update(t, pp, func() { pp.Spec.Priority = ptr.To[int32](4) })
	f.awaitClaim(t, cm, "c-configmap", pp)
	// One that becomes weaker loses to one that takes.
	f.update(t, pp, func() { pp.Spec.Priority = ptr.To[int32](2) })
	f.awaitClaim(t, cm, "c-configmap", stronger)
}

func (f *fixture) event(ctx context.Context, ns, about, reason string) bool {
	var list corev1.EventList
	if f.Client.List(ctx, &list, client.InNamespace(ns)) != nil {
		return false
	}
	return slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.InvolvedObject.Name == about && e.Reason == reason })
}

// told says whether an Event of a reason holds a text.
func (f *fixture) told(ctx context.Context, ns, about, reason, text string) bool {
	var list corev1.EventList
	return f.Client.List(ctx, &list, client.InNamespace(ns)) == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.Name == about && e.Reason == reason && strings.Contains(e.Message, text)
	})
}

func testDependentOverrides(t *testing.T, f *fixture) {
	ns := f.namespace(t, "overrides")
	cm := newConfigMap(ns, "c")
	f.Create(t, cm)
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "c", nil), func(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
		s.DependentOverrides = []string{"first"}
	})
	f.Create(t, pp)
	f.Await(t, "the complaint", func(ctx context.Context) bool { return f.event(ctx, ns, "c", "ApplyPolicyFailed") })
	if f.binding(t.Context(), ns, "c-configmap") != nil {
		t.Error("the template went out without its override policy")
	}
	f.Create(t, &policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "first"}, Spec: policyv1alpha1.OverrideSpec{
		OverrideRules: []policyv1alpha1.RuleWithCluster{},
	}})
	f.awaitClaim(t, cm, "c-configmap", pp)
	f.Await(t, "the end of the complaint", func(ctx context.Context) bool { return f.event(ctx, ns, "c", "ApplyPolicySucceed") })

	// What is out already stays as it is while its policy waits for another one.
	f.update(t, pp, func() {
		pp.Spec.DependentOverrides = []string{"first", "second"}
		pp.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	})
	f.Await(t, "the second complaint", func(ctx context.Context) bool {
		return f.told(ctx, ns, "c", "ApplyPolicyFailed", "OverridePolicy overrides/second")
	})
	if b := f.awaitClaim(t, cm, "c-configmap", pp); b.Spec.ConflictResolution != policyv1alpha1.ConflictAbort {
		t.Errorf("the binding followed the policy before its override policy was there: %s", b.Spec.ConflictResolution)
	}
	f.Create(t, &policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "second"}, Spec: policyv1alpha1.OverrideSpec{
		OverrideRules: []policyv1alpha1.RuleWithCluster{},
	}})
	f.Await(t, "the policy's word", func(ctx context.Context) bool {
		return f.binding(ctx, ns, "c-configmap").Spec.ConflictResolution == policyv1alpha1.ConflictOverwrite
	})
}

func testRecreate(t *testing.T, f *fixture) {
	ns := f.namespace(t, "recreate")
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "c", nil))
	f.Create(t, pp)
	cm := newConfigMap(ns, "c")
	f.Create(t, cm)
	first := f.awaitClaim(t, cm, "c-configmap", pp)
	f.remove(t, cm)
	second := newConfigMap(ns, "c")
	f.Create(t, second)
	f.Await(t, "the deletion of the old binding", func(ctx context.Context) bool {
		b := f.binding(ctx, ns, "c-configmap")
		return b != nil && b.UID == first.UID && b.DeletionTimestamp != nil
	})
	f.finish(t.Context(), ns, "c-configmap")
	b := f.awaitClaim(t, second, "c-configmap", pp)
	if b.UID == first.UID || b.Spec.Resource.UID != second.UID {
		t.Errorf("the binding belongs to %s, want %s", b.Spec.Resource.UID, second.UID)
	}
	f.remove(t, second)
	f.Await(t, "the deletion of the binding", func(ctx context.Context) bool {
		f.finish(ctx, ns, "c-configmap")
		return f.binding(ctx, ns, "c-configmap") == nil
	})
}

func testLeftAlone(t *testing.T, f *fixture) {
	ns := f.namespace(t, "left-alone")
	cpp := newCPP("everything", sel("v1", "ConfigMap", "", map[string]string{"app": "c"}))
	claimedBy := newConfigMap(ns, "claimed-by")
	claimedBy.Labels["resourcetemplate.karmada.io/claimed-by"] = "another"
	reserved := newConfigMap("karmada-system", "reserved")
	skipped := newConfigMap("kube-public", "skipped")
	ocm := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "paris", Labels: map[string]string{"open-cluster-management.io/cluster-name": "paris"}}}
	f.Create(t, ocm)
	foreign := newConfigMap("paris", "foreign")
	for _, o := range []client.Object{claimedBy, reserved, skipped, foreign} {
		f.Create(t, o)
	}
	f.Create(t, cpp)
	cm := newConfigMap(ns, "taken")
	f.Create(t, cm)
	f.awaitClaim(t, cm, "taken-configmap", cpp)
	for _, o := range []client.Object{claimedBy, reserved, skipped, foreign} {
		if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if claim, claimed := template.ClaimIn(o); claimed {
			t.Errorf("%s/%s is claimed by %s", o.GetNamespace(), o.GetName(), claim)
		}
	}
	if _, ok := f.cache.Get(template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "karmada-system", Name: "reserved"}); ok {
		t.Error("the cache holds an object of a reserved namespace")
	}
	f.remove(t, cpp)
	f.Await(t, "the end of the policy", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(cpp), cpp) })
}

func testNewKind(t *testing.T, f *fixture) {
	ns := f.namespace(t, "new-kind")
	pp := newPP(ns, "p", sel("example.com/v1", "Widget", "w", nil))
	f.Create(t, pp)
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
	f.Create(t, definition)
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("example.com/v1")
	widget.SetKind("Widget")
	widget.SetNamespace(ns)
	widget.SetName("w")
	f.Await(t, "the new kind", func(ctx context.Context) bool { return f.Client.Create(ctx, widget.DeepCopy()) == nil })
	f.awaitClaim(t, widget, "w-widget", pp)
	f.remove(t, definition)
	f.Await(t, "the end of the kind", func(ctx context.Context) bool {
		f.finish(ctx, ns, "w-widget")
		return f.binding(ctx, ns, "w-widget") == nil && len(f.cache.List("example.com/v1", "Widget", "")) == 0
	})
}

// testBurst counts what a burst of new templates costs: a claim and a binding
// each, and nothing after.
func testBurst(t *testing.T, f *fixture) {
	const n = 100
	ns := f.namespace(t, "burst")
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "", map[string]string{"app": "c"}), clusters("member1"))
	f.Create(t, pp)
	var names []string
	for i := range n {
		name := "c" + strings.Repeat("i", i)
		names = append(names, name)
		f.Create(t, newConfigMap(ns, name))
	}
	var list workv1alpha2.ResourceBindingList
	f.Await(t, "all bindings", func(ctx context.Context) bool {
		return f.Client.List(ctx, &list, client.InNamespace(ns)) == nil && len(list.Items) == n
	})
	versionsOf := func(name string) []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.versions[template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: name}]
	}
	f.Await(t, "all claims", func(context.Context) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return len(versionsOf(name)) < 2 })
	})
	f.settle(t, ns)
	if err := f.Client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for i := range list.Items {
		uids[list.Items[i].Spec.Resource.Name] = list.Items[i].UID
		if list.Items[i].Generation != 1 {
			t.Errorf("%s was written %d times", list.Items[i].Name, list.Items[i].Generation)
		}
	}
	for _, name := range names {
		versions := versionsOf(name)
		if len(versions) != 2 || uids[name] == "" {
			t.Errorf("%s has the versions %v, want its creation and its claim", name, versions)
		}
	}
}

func difference(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// testStart starts the controllers once more, on what the first ones have done:
// nothing is written.
func testStart(t *testing.T, f *fixture) {
	ns := f.namespace(t, "start")
	state := func() map[string]string {
		versions := map[string]string{}
		var bindings workv1alpha2.ResourceBindingList
		var maps corev1.ConfigMapList
		for _, list := range []client.ObjectList{&bindings, &maps} {
			if err := f.Client.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		for i := range bindings.Items {
			versions["binding "+bindings.Items[i].Namespace+"/"+bindings.Items[i].Name] = bindings.Items[i].ResourceVersion
		}
		for i := range maps.Items {
			if maps.Items[i].Name == "kube-root-ca.crt" {
				continue // a controller of the API puts it into new namespaces, sooner or later
			}
			versions["config map "+maps.Items[i].Namespace+"/"+maps.Items[i].Name] = maps.Items[i].ResourceVersion
		}
		return versions
	}
	f.settle(t, ns)
	before := state()
	f.start(t, func(template.Ref, *unstructured.Unstructured, *unstructured.Unstructured) {})
	f.settle(t, ns)
	if diff := difference(before, state()); diff != "" {
		t.Error(diff)
	}
}
