package kube

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// TestMeasure: what is told of a storm does not depend on how long it takes, and
// of objects that come one after another all is told.
func TestMeasure(t *testing.T) {
	const each = 5 // events about one object
	for _, c := range []struct {
		name         string
		objects      int
		between      time.Duration
		atLeast, not int // how many objects are told about: at least, and not more than
	}{
		{"a few at once", 30, 0, 30, 30},
		{"a storm", 1000, time.Millisecond, 40, 40},
		{"the same storm on a slow machine", 1000, 200 * time.Millisecond, 40, 40},
		{"one after another, for hours", 2000, 2 * time.Second, 2000, 2000},
		{"as fast as a script that waits for each", 2000, 600 * time.Millisecond, 2000, 2000},
		{"more than are remembered", 3 * objectsKept, time.Microsecond, 40, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, now, told := newMeasure(40), time.Unix(1e9, 0), 0
			for object := range c.objects {
				heard := 0
				for range each {
					if m.admit("shop", fmt.Sprint(object), now) {
						heard++
					}
				}
				if heard != 0 && heard != each {
					t.Fatalf("of object %d, %d of %d events were told", object, heard, each)
				}
				told += heard / each
				now = now.Add(c.between)
			}
			if told < c.atLeast || told > c.not {
				t.Errorf("of %d objects, %d were told about; want %d to %d", c.objects, told, c.atLeast, c.not)
			}
		})
	}
}

// TestMeasureAfterStorm: calm comes back, and an object that never rests is cut short.
func TestMeasureAfterStorm(t *testing.T) {
	m, now := newMeasure(40), time.Unix(1e9, 0)
	for object := range 500 {
		m.admit("shop", fmt.Sprint(object), now)
	}
	if m.admit("shop", "late", now.Add(time.Second)) {
		t.Error("an object of the storm was told about")
	}
	now = now.Add(calm + time.Second)
	told := 0
	for range 1000 {
		if m.admit("shop", "restless", now) {
			told++
		}
	}
	if told != eventsAnObject {
		t.Errorf("%d events about one object, want %d", told, eventsAnObject)
	}
	if !m.admit("shop", "restless", now.Add(2*calm)) {
		t.Error("an object is not told about any more, though it came in a calm time")
	}
}

// TestMeasuresAreApart: Works outnumber what they are made from.
func TestMeasuresAreApart(t *testing.T) {
	m, now := newMeasures(), time.Unix(1e9, 0)
	object := func(namespace, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	for i := range 1000 {
		m.mayTell(object("karmada-es-m1", fmt.Sprint(i)), now)
	}
	if !m.mayTell(object("shop", "web"), now) {
		t.Error("a storm of Works silenced a template")
	}
	if !m.mayTell(&corev1.ObjectReference{Namespace: "shop", Name: "by-reference"}, now) {
		t.Error("a storm of Works silenced a template that is known by reference")
	}
	for i := range 1000 {
		m.mayTell(&corev1.ObjectReference{Namespace: "shop", Name: fmt.Sprint(i)}, now)
	}
	if m.mayTell(&corev1.ObjectReference{Namespace: "shop", Name: "late"}, now) {
		t.Error("templates that are known by reference are told about without measure")
	}
	if m.mayTell(object("karmada-es-m1", "late"), now) {
		t.Error("a Work of the storm was told about")
	}
}

// TestMeasureOfANamespace: who tries a few objects misses no Event because of a storm
// elsewhere, or of others who try a few; but a storm over all namespaces is one.
func TestMeasureOfANamespace(t *testing.T) {
	m, now := newMeasures(), time.Unix(1e9, 0)
	work := func(of, cluster, name string) *workv1alpha1.Work {
		return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster, Name: name,
			Annotations: map[string]string{workv1alpha2.ResourceBindingNamespaceAnnotation: of}}}
	}
	for i := range 1000 {
		m.mayTell(&corev1.ObjectReference{Namespace: "stormy", Name: fmt.Sprint(i)}, now)
		m.mayTell(work("stormy", "m1", fmt.Sprint(i)), now)
	}
	for _, namespace := range []string{"a", "b", "c", "d"} {
		for i := range 35 {
			if !m.mayTell(&corev1.ObjectReference{Namespace: namespace, Name: fmt.Sprint(i)}, now) {
				t.Fatalf("object %d in %s is not told about", i, namespace)
			}
			if !m.mayTell(work(namespace, "m1", namespace+fmt.Sprint(i)), now) {
				t.Fatalf("Work %d of %s is not told about", i, namespace)
			}
		}
	}
	if m.mayTell(&corev1.ObjectReference{Namespace: "stormy", Name: "late"}, now) || m.mayTell(work("stormy", "m2", "late"), now) {
		t.Error("an object of the storm was told about")
	}
	told := 0
	for i := range 1000 {
		if m.mayTell(&corev1.ObjectReference{Namespace: fmt.Sprint("n", i), Name: "web"}, now) {
			told++
		}
	}
	if told > namespacesTold*newObjects {
		t.Errorf("%d objects of a storm over all namespaces were told about", told)
	}
	now = now.Add(calm)
	m.mayTell(&corev1.ObjectReference{Namespace: "shop", Name: "web"}, now)
	if n := len(m.others.namespaces); n != 1 {
		t.Errorf("%d namespaces are remembered after the storm", n)
	}
}
