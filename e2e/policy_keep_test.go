package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keepCases hold what stays the member's own (contract sections 11.1 and 11.4), and
// what goes with its namespace.
var keepCases = map[string]func(*testing.T, *space){
	"conflict-annotation": testConflictAnnotation,
	"preserved-placement": testPreservedPlacement,
	"unmanaged-there":     testUnmanagedThere,
	"retained-fields":     testRetainedFields,
	"namespace-deleted":   testNamespaceDeleted,
	"dependents-released": testDependentsReleased,
}

const resolution = "work.karmada.io/conflict-resolution"

// testConflictAnnotation: a template says itself whether it takes over what a member
// has; its policy decides for those that say nothing, or nothing known.
func testConflictAnnotation(t *testing.T, s *space) {
	const note = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, annotations: {" + resolution + ": %[2]s}}, data: {owner: hub}}"
	templates := map[string]struct{ policy, asks, owner string }{
		"taken":     {"Abort", "overwrite", "hub"},
		"left":      {"Overwrite", "abort", "member"},
		"odd-taken": {"Overwrite", "perhaps", "hub"},
		"odd-left":  {"Abort", "perhaps", "member"},
	}
	for name, c := range templates {
		for cluster := range s.members() {
			s.putAt(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {owner: member}}", name)
		}
		s.policyOn(t, name, named(aConfigMap, name), "conflictResolution: "+c.policy)
		s.put(t, note, name, c.asks)
	}
	for name, c := range templates {
		s.awaitBinding(t, name, "decided", func(o *unstructured.Unstructured) bool {
			status, _, _ := condition(o, "FullyApplied")
			return status == map[string]string{"hub": "True", "member": "False"}[c.owner]
		})
		for cluster := range s.members() {
			s.sees(t, cluster, aConfigMap, name, "data owner", c.owner)
		}
		if c.asks == "perhaps" {
			s.awaitEventAbout(t, "ConfigMap", name, "UnknownConflictResolution", `is "perhaps"`, "its policy decides ("+strings.ToLower(c.policy)+")")
		}
	}
	told, err := s.client.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=UnknownConflictResolution"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range told.Items {
		if e := &told.Items[i]; templates[e.InvolvedObject.Name].asks != "perhaps" {
			t.Errorf("%s asks for %q, and is told %s", e.InvolvedObject.Name, templates[e.InvolvedObject.Name].asks, e.Message)
		}
	}
	s.mend(t, onHub, aConfigMap, "left", "{metadata: {annotations: {"+resolution+": overwrite}}}")
	for cluster := range s.members() {
		s.sees(t, cluster, aConfigMap, "left", "data owner", "hub", "metadata annotations "+resolution, "overwrite")
	}
}

// marksOf are the keys of an object's labels and annotations that are the hub's.
func marksOf(o *unstructured.Unstructured) (marks []string) {
	for _, of := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		for key := range of {
			if domain, _, _ := strings.Cut(key, "/"); strings.HasSuffix(domain, "karmada.io") {
				marks = append(marks, key)
			}
		}
	}
	return marks
}

// testPreservedPlacement: what is to be preserved stays in a cluster that leaves the
// placement and in all once the template goes; it is the member's then, without any
// mark of the hub.
func testPreservedPlacement(t *testing.T, s *space) {
	place := func(clusters string) {
		s.policyOn(t, "all", named(aConfigMap, "settings"), "preserveResourcesOnDeletion: true, placement: {clusterAffinity: {clusterNames: ["+clusters+"]}}")
	}
	place("cluster1, cluster2")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {mine: 'yes'}, annotations: {note: mine}}, data: {color: blue}}")
	for cluster := range s.members() {
		s.sees(t, cluster, aConfigMap, "settings", "data color", "blue", "metadata labels karmada.io/managed", "true")
	}
	released := func(cluster string) {
		t.Helper()
		s.awaitWork(t, cluster, aConfigMap, "settings", "gone", func(w *unstructured.Unstructured) bool { return w == nil })
		o := s.read(t, cluster, aConfigMap, "settings")
		if o == nil || len(marksOf(o)) > 0 || valueAt(o, "metadata labels mine") != "yes" || valueAt(o, "metadata annotations note") != "mine" || valueAt(o, "data color") != "blue" {
			t.Fatalf("%s holds %v with marks %v, want what it had, without marks", cluster, objectOf(o), marksOf(o))
		}
	}
	place("cluster1")
	released(pullName)
	s.mend(t, pullName, aConfigMap, "settings", "{data: {color: pink}}")
	s.mend(t, onHub, aConfigMap, "settings", "{data: {color: red}}")
	s.sees(t, pushName, aConfigMap, "settings", "data color", "red")
	s.witness(t)
	s.sees(t, pullName, aConfigMap, "settings", "data color", "pink")
	s.mend(t, onHub, aConfigMap, "settings", "{data: {color: blue}}")
	s.sees(t, pushName, aConfigMap, "settings", "data color", "blue")
	s.remove(t, onHub, aConfigMap, "settings")
	released(pushName)
}

// testUnmanagedThere: what somebody in a member has taken from the hub, by the label,
// stays there when its template goes.
func testUnmanagedThere(t *testing.T, s *space) {
	s.policyOn(t, "all", named(aConfigMap, "settings"), "")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}")
	for cluster := range s.members() {
		s.sees(t, cluster, aConfigMap, "settings", "metadata labels karmada.io/managed", "true")
		s.mend(t, cluster, aConfigMap, "settings", "{metadata: {labels: {karmada.io/managed: null}}, data: {color: theirs}}")
	}
	s.awaitBinding(t, "settings", "not applied any more", func(o *unstructured.Unstructured) bool {
		status, reason, _ := condition(o, "FullyApplied")
		return status == "False" && reason == "FullyAppliedFailed"
	})
	s.remove(t, onHub, aConfigMap, "settings")
	for cluster := range s.members() {
		s.awaitWork(t, cluster, aConfigMap, "settings", "gone", func(w *unstructured.Unstructured) bool { return w == nil })
		s.sees(t, cluster, aConfigMap, "settings", "data color", "theirs")
	}
}

// testRetainedFields: what a member decides about pods, volumes and services stays
// when the hub's object changes.
func testRetainedFields(t *testing.T, s *space) {
	const pod, volume, service = "v1 Pod", "v1 PersistentVolume", "v1 Service"
	s.put(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: 'a:1'}]}}")
	s.put(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80}]}}")
	s.put(t, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: retained-fields}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}, persistentVolumeReclaimPolicy: Retain}}")
	s.override(t, "own-port", named(service, "web"), "", "plaintext: [{path: /spec/healthCheckNodePort, operator: remove}]")
	s.policyOn(t, "all", named(pod, "p")+", "+named(service, "web"), "")
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: retained-fields}, spec: {resourceSelectors: [%s]}}", named(volume, "retained-fields"))
	ports, volumes := map[string]string{}, map[string]string{}
	for cluster, m := range s.members() {
		s.sees(t, cluster, pod, "p")
		node := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-of-" + cluster}}
		if err := m.Client.CoreV1().Pods(s.namespace).Bind(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		volumes[cluster] = valueAt(s.read(t, cluster, pod, "p"), "spec volumes 0 name")
		s.sees(t, cluster, service, "web")
		ports[cluster] = valueAt(s.read(t, cluster, service, "web"), "spec healthCheckNodePort")
		if ports[cluster] == "" || ports[cluster] == "0" {
			t.Errorf("%s has given the service no port for health checks: nothing is to be retained", cluster)
		}
		s.sees(t, cluster, volume, "retained-fields")
		s.mend(t, cluster, volume, "retained-fields", fmt.Sprintf("{spec: {claimRef: {namespace: %s, name: claim-of-%s}}}", s.namespace, cluster))
	}
	s.mend(t, onHub, pod, "p", "{spec: {containers: [{name: a, image: 'a:2'}]}}")
	s.mend(t, onHub, service, "web", "{spec: {ports: [{port: 81}]}}")
	s.mend(t, onHub, volume, "retained-fields", "{metadata: {labels: {round: second}}}")
	for cluster := range s.members() {
		s.sees(t, cluster, pod, "p", "spec containers 0 image", "a:2", "spec nodeName", "node-of-"+cluster, "spec volumes 0 name", volumes[cluster])
		s.sees(t, cluster, service, "web", "spec ports 0 port", "81", "spec healthCheckNodePort", ports[cluster])
		s.sees(t, cluster, volume, "retained-fields", "metadata labels round", "second", "spec claimRef name", "claim-of-"+cluster)
	}
}

// testNamespaceDeleted: with a namespace of the hub its objects go, and in the members
// the namespace itself, unless somebody else has something there.
func testNamespaceDeleted(t *testing.T, s *space) {
	gone := s.space(t, "namespace-deleted-here")
	gone.policyOn(t, "all", "{apiVersion: v1, kind: ConfigMap}, {apiVersion: v1, kind: ServiceAccount}", "")
	gone.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	gone.put(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: runner}}")
	for cluster := range gone.members() {
		gone.sees(t, cluster, aConfigMap, "settings", "metadata labels karmada.io/managed", "true")
		gone.sees(t, cluster, "v1 ServiceAccount", "runner", "metadata labels karmada.io/managed", "true")
	}
	with := s.space(t, "namespace-deleted-there")
	with.policyOn(t, "all", "{apiVersion: v1, kind: ConfigMap}", "")
	with.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	for cluster := range with.members() {
		with.sees(t, cluster, aConfigMap, "settings", "metadata labels karmada.io/managed", "true")
		with.putAt(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: strangers}, data: {of: %s}}", cluster)
	}
	for _, one := range []*space{gone, with} {
		one.remove(t, onHub, aNamespace, one.namespace)
	}
	for cluster := range s.members() {
		gone.gone(t, cluster, aNamespace, gone.namespace)
		with.gone(t, cluster, aConfigMap, "settings")
		with.awaits(t, cluster, aNamespace, with.namespace, "the member's own", func(o *unstructured.Unstructured) bool {
			return o != nil && o.GetDeletionTimestamp() == nil && len(marksOf(o)) == 0
		})
		with.sees(t, cluster, aConfigMap, "strangers", "data of", cluster)
		list, err := s.dynamic.Resource(worksResource).Namespace("karmada-es-"+cluster).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if w := &list.Items[i]; strings.HasPrefix(valueAt(w, "spec workload manifests 0 metadata namespace"), "namespace-deleted-") {
				t.Errorf("Work %s of %s is left", w.GetName(), cluster)
			}
		}
	}
	for _, one := range []*space{gone, with} {
		eventually(t, one.namespace+" is gone from the hub", func(ctx context.Context) bool {
			_, err := s.client.CoreV1().Namespaces().Get(ctx, one.namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// testDependentsReleased: dependents follow no more once their policy says so, and
// again when it does not.
func testDependentsReleased(t *testing.T, s *space) {
	follow := func(yes bool) {
		s.policyOn(t, "web", named(aDeployment, "web"), fmt.Sprintf("propagateDeps: %v, placement: {clusterAffinity: {clusterNames: [cluster2]}}", yes))
	}
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {
		containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}]}]}}}}`)
	for range 2 {
		follow(true)
		s.sees(t, pullName, aConfigMap, "settings", "metadata labels karmada.io/managed", "true")
		s.sees(t, onHub, aBinding, "settings-configmap", "spec requiredBy 0 name", "web-deployment")
		follow(false)
		s.gone(t, pullName, aConfigMap, "settings")
		s.sees(t, onHub, aBinding, "settings-configmap", "spec requiredBy", "")
		s.awaits(t, onHub, aBinding, "settings-configmap", "not marked as anybody's dependent", func(o *unstructured.Unstructured) bool {
			for key := range o.GetLabels() {
				if strings.HasPrefix(key, "resourcebinding.karmada.io/depended-by-") {
					return false
				}
			}
			return true
		})
		s.sees(t, pullName, aDeployment, "web")
	}
}
