package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

func parent(name, id string, clusters ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Labels: map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: id},
	}}
	b.Spec.ConflictResolution = policyv1alpha1.ConflictAbort
	for _, c := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c, Replicas: 1})
	}
	return b
}

// The recorded binding conf-configmap of parent shop/app-deployment.
func TestAttachAsRecorded(t *testing.T) {
	t.Parallel()
	b := &workv1alpha2.ResourceBinding{}
	app := parent("app-deployment", "2bf6240e", "member3", "member1")
	attach(b, app)
	inherit(b, []*workv1alpha2.ResourceBinding{app})
	if got := b.Labels["resourcebinding.karmada.io/depended-by-f4447c879"]; got != "2bf6240e" {
		t.Errorf("labels %v", b.Labels)
	}
	want := workv1alpha2.ResourceBindingSpec{
		RequiredBy: []workv1alpha2.BindingSnapshot{{
			Namespace: "shop", Name: "app-deployment", Clusters: []workv1alpha2.TargetCluster{{Name: "member3", Replicas: 1}, {Name: "member1", Replicas: 1}},
		}},
		ConflictResolution: policyv1alpha1.ConflictAbort, PreserveResourcesOnDeletion: ptr.To(false),
	}
	if diff := cmp.Diff(want, b.Spec); diff != "" {
		t.Error(diff)
	}
	// Again, with other clusters; then a second parent; then none.
	app.Spec.Clusters = app.Spec.Clusters[:1]
	attach(b, app)
	attach(b, parent("web-deployment", "77", "member2"))
	if len(b.Spec.RequiredBy) != 2 || len(b.Spec.RequiredBy[0].Clusters) != 1 || len(b.Labels) != 2 {
		t.Errorf("%+v %v", b.Spec.RequiredBy, b.Labels)
	}
	detach(b, types.NamespacedName{Namespace: "shop", Name: "app-deployment"})
	if len(b.Spec.RequiredBy) != 1 || b.Spec.RequiredBy[0].Name != "web-deployment" || len(b.Labels) != 1 {
		t.Errorf("%+v %v", b.Spec.RequiredBy, b.Labels)
	}
	detach(b, types.NamespacedName{Namespace: "shop", Name: "web-deployment"})
	inherit(b, nil)
	if diff := cmp.Diff(workv1alpha2.ResourceBindingSpec{ConflictResolution: policyv1alpha1.ConflictAbort}, b.Spec); diff != "" || len(b.Labels) != 0 {
		t.Error(diff, b.Labels)
	}
}

func TestInherit(t *testing.T) {
	t.Parallel()
	overwriting, keeping, plain := parent("a", "1"), parent("b", "2"), parent("c", "3")
	overwriting.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	keeping.Spec.PreserveResourcesOnDeletion = ptr.To(true)
	for name, c := range map[string]struct {
		parents             []*workv1alpha2.ResourceBinding
		overwrite, preserve bool
		disagree            bool
	}{
		"one":             {[]*workv1alpha2.ResourceBinding{plain}, false, false, false},
		"two alike":       {[]*workv1alpha2.ResourceBinding{plain, plain}, false, false, false},
		"overwrite wins":  {[]*workv1alpha2.ResourceBinding{plain, overwriting}, true, false, true},
		"staying wins":    {[]*workv1alpha2.ResourceBinding{keeping, plain}, false, true, true},
		"both at once":    {[]*workv1alpha2.ResourceBinding{keeping, overwriting}, true, true, true},
		"all of one mind": {[]*workv1alpha2.ResourceBinding{overwriting, overwriting}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &workv1alpha2.ResourceBinding{}
			if got := len(inherit(b, c.parents)) > 0; got != c.disagree {
				t.Errorf("disagree = %v", got)
			}
			if (b.Spec.ConflictResolution == policyv1alpha1.ConflictOverwrite) != c.overwrite || ptr.Deref(b.Spec.PreserveResourcesOnDeletion, false) != c.preserve {
				t.Errorf("%+v", b.Spec)
			}
		})
	}
	own := &workv1alpha2.ResourceBinding{}
	Claim{Kind: "PropagationPolicy", Namespace: "shop", Name: "p", ID: "1"}.Put(own)
	if inherit(own, []*workv1alpha2.ResourceBinding{overwriting}); own.Spec.ConflictResolution != "" {
		t.Error("a binding with a policy of its own inherits")
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
		"namespace": "shop", "name": "s", "labels": map[string]any{"app": "web"},
	}}}
	reference := func(namespace, name string, selector map[string]string) *configv1alpha1.DependentObjectReference {
		r := &configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name}
		if selector != nil {
			r.LabelSelector = &metav1.LabelSelector{MatchLabels: selector}
		}
		return r
	}
	for i, c := range []struct {
		reference *configv1alpha1.DependentObjectReference
		want      bool
	}{
		{reference("shop", "s", nil), true},
		{reference("shop", "t", nil), false},
		{reference("other", "s", nil), false},
		{reference("shop", "", map[string]string{"app": "web"}), true},
		{reference("shop", "", map[string]string{"app": "db"}), false},
		{reference("shop", "", nil), false},
		{reference("shop", "s", map[string]string{"app": "db"}), true},
	} {
		if got := needs(c.reference, o); got != c.want {
			t.Errorf("case %d: %v", i, got)
		}
	}
}

// What is remembered of objects goes with them, whether or not somebody needs them
// at the end.
func TestMemoryGoesWithTheObjects(t *testing.T) {
	t.Parallel()
	b := parent("a", "1")
	key := types.NamespacedName{Namespace: b.Namespace, Name: b.Name}
	d := &distributor{detector: &detector{
		troubles: &troubles{Troubles: &Troubles{last: map[Ref]Trouble{Sending(key): {Message: "no"}, clashing(b): {Message: "no"}}}},
		blocked:  map[types.NamespacedName]map[Ref]struct{}{},
	}, parents: newParents()}
	d.requests.ready = func() bool { return true }
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
		"namespace": b.Namespace, "name": "s", "resourceVersion": "7",
	}}}
	d.parents.set(key, []configv1alpha1.DependentObjectReference{{APIVersion: "v1", Kind: "Secret", Namespace: b.Namespace, Name: "s"}})
	if d.templateChanged(RefOf(o), nil, o); d.parents.version(RefOf(o)) != "7" {
		t.Fatalf("the version of a needed object is %q", d.parents.version(RefOf(o)))
	}
	d.bindingChanged(b, true)
	d.templateChanged(RefOf(o), o, nil)
	if len(d.parents.versions) != 0 || len(d.parents.needed) != 0 || len(d.troubles.last) != 0 {
		t.Errorf("remembered: %v, %v, %v", d.parents.versions, d.parents.needed, d.troubles.last)
	}
	for _, override := range []string{"first", "second"} {
		d.block(types.NamespacedName{Name: override}, RefOf(o))
	}
	if d.unblockAll(RefOf(o)); len(d.blocked) != 0 {
		t.Errorf("a template that is gone waits for %v", d.blocked)
	}
}
