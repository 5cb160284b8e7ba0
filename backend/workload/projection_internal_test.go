package workload

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
)

// shelf holds templates.
type shelf map[template.Ref]*unstructured.Unstructured

func (s shelf) Synced() bool { return true }
func (s shelf) Get(ref template.Ref) (*unstructured.Unstructured, bool) {
	found, ok := s[ref]
	return found, ok
}
func (s shelf) List(string, string, string) []*unstructured.Unstructured { return nil }
func (s shelf) Mapper() meta.RESTMapper                                  { return nil }
func (s shelf) Subscribe(func(template.Ref, *unstructured.Unstructured, *unstructured.Unstructured)) {
}

func configMap(name string) template.Ref {
	return template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
}

func bound(binding string, to template.Ref, clusters ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: binding, ResourceVersion: "1"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: to.APIVersion, Kind: to.Kind, Namespace: to.Namespace, Name: to.Name}
	for _, name := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
	return b
}

func workFor(binding, cluster string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster, Name: binding, Annotations: map[string]string{
		workv1alpha2.ResourceBindingNamespaceAnnotation: "shop", workv1alpha2.ResourceBindingNameAnnotation: binding,
	}}}
	work.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue}}
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Health: workv1alpha1.ResourceHealthy}}
	return work
}

func TestOneEventCostsOneRow(t *testing.T) {
	p := newProjection(shelf{}, template.NewTroubles(), propagation.NewUnserved())
	for i := range 2000 {
		p.bindingChanged(bound(fmt.Sprint("b", i), configMap(fmt.Sprint("c", i)), "m1", "m2"), false)
	}
	if changes, touched := p.refresh(); len(changes) != 2000 || len(touched) != 2000 {
		t.Fatalf("%d changes of %d", len(changes), len(touched))
	}
	for range 50 { // a storm of one workload
		p.workChanged(workFor("b7", "m1"), false)
	}
	changes, touched := p.refresh()
	if len(touched) != 1 || len(changes) != 1 || changes[0].row.Clusters[0].State != PlacedOK || changes[0].row.Clusters[1].State != PlacedPending {
		t.Errorf("%d changes of %d rows made", len(changes), len(touched))
	}
	p.workChanged(workFor("b7", "m1"), false) // nothing new
	if changes, _ := p.refresh(); len(changes) != 0 {
		t.Errorf("what is the same was told again: %+v", changes)
	}
}

func TestWorkBeforeItsBinding(t *testing.T) {
	p := newProjection(shelf{}, template.NewTroubles(), propagation.NewUnserved())
	p.workChanged(workFor("b", "m1"), false)
	if changes, _ := p.refresh(); len(changes) != 0 {
		t.Errorf("a Work alone is no workload: %+v", changes)
	}
	p.bindingChanged(bound("b", configMap("c"), "m1"), false)
	if changes, _ := p.refresh(); len(changes) != 1 || changes[0].row.State != StateOK {
		t.Errorf("%+v", changes)
	}
	p.workChanged(workFor("b", "m1"), true)
	if changes, _ := p.refresh(); len(changes) != 1 || changes[0].row.State != StatePending || len(p.works) != 0 {
		t.Errorf("%+v", changes)
	}
	other := workFor("b", "m1")
	other.Annotations = nil
	p.workChanged(other, false) // of a namespace
	if len(p.works) != 0 {
		t.Error("it is no workload's")
	}
}

func TestBindingOfAnotherObject(t *testing.T) {
	p := newProjection(shelf{}, template.NewTroubles(), propagation.NewUnserved())
	p.bindingChanged(bound("b", configMap("old"), "m1"), false)
	p.refresh()
	p.bindingChanged(bound("b", configMap("new"), "m1"), false)
	changes, _ := p.refresh()
	rows := p.rows()
	if len(changes) != 2 || len(rows) != 1 || rows[0].Name != "new" {
		t.Errorf("%+v, %d rows", changes, len(rows))
	}
}

func TestUnmanaged(t *testing.T) {
	ref := template.Ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web"}
	own := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": map[string]any{"name": "web", "namespace": "shop"}}}
	objects := shelf{ref: own}
	p := newProjection(objects, template.NewTroubles(), propagation.NewUnserved())
	p.templateChanged(ref, nil, own)
	if changes, _ := p.refresh(); len(changes) != 1 || changes[0].row.State != StateUnmanaged {
		t.Errorf("%+v", changes)
	}
	controlled := own.DeepCopy()
	yes := true
	controlled.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u", Controller: &yes}})
	objects[ref] = controlled
	p.templateChanged(ref, own, controlled)
	if changes, _ := p.refresh(); len(changes) != 1 || changes[0].row != nil {
		t.Errorf("what a Deployment made is no workload: %+v", changes)
	}
	p.templateChanged(configMap("c"), nil, &unstructured.Unstructured{Object: map[string]any{}})
	if len(p.rows()) != 0 {
		t.Error("a ConfigMap that goes nowhere is no workload")
	}
}
