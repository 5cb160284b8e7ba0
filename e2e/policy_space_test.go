package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// onHub is where an object is, that is not in a member.
const onHub = "hub"

// What the tests of policies read, as "version kind".
const (
	aBinding     = "work.karmada.io/v1alpha2 ResourceBinding"
	aWideBinding = "work.karmada.io/v1alpha2 ClusterResourceBinding"
	aConfigMap   = "v1 ConfigMap"
	aDeployment  = "apps/v1 Deployment"
	aNamespace   = "v1 Namespace"
	aClusterRole = "rbac.authorization.k8s.io/v1 ClusterRole"
	aCluster     = "cluster.karmada.io/v1alpha1 Cluster"
)

// wide are the kinds without a namespace.
var wide = []string{
	"Namespace", "Node", "ClusterRole", "ClusterRoleBinding", "Cluster", "ClusterResourceBinding", "ClusterPropagationPolicy", "ClusterOverridePolicy",
	"ClusterTaintPolicy", "WorkloadRebalancer", "PriorityClass", "CustomResourceDefinition", "PersistentVolume",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

// clientAt is a client of the hub or of one of the members.
func (f *fleet) clientAt(t testing.TB, where string) dynamic.Interface {
	t.Helper()
	if where == onHub {
		return f.dynamic
	}
	return clientFor(t, f.members()[where].Config())
}

// objectsOf is the client of a kind in the space.
func (s *space) objectsOf(t testing.TB, where, kind string) dynamic.ResourceInterface {
	t.Helper()
	version, name, _ := strings.Cut(kind, " ")
	resource, _ := meta.UnsafeGuessKindToResource(groupVersion(version).WithKind(name))
	if slices.Contains(wide, name) {
		return s.clientAt(t, where).Resource(resource)
	}
	return s.clientAt(t, where).Resource(resource).Namespace(s.namespace)
}

// putAt applies an object, in YAML's flow form, to the hub or a member. Without a
// namespace it goes to the space.
func (s *space) putAt(t testing.TB, where, text string, args ...any) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, text, args...), &o.Object); err != nil {
		t.Fatalf("%v in\n%s", err, fmt.Sprintf(text, args...))
	}
	target := s
	if elsewhere := o.GetNamespace(); elsewhere != "" {
		target = &space{fleet: s.fleet, namespace: elsewhere}
	}
	client := target.objectsOf(t, where, o.GetAPIVersion()+" "+o.GetKind())
	options := metav1.ApplyOptions{FieldManager: "e2e", Force: true}
	if _, err := client.Apply(t.Context(), o.GetName(), o, options); err != nil {
		t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// put applies an object to the hub.
func (s *space) put(t testing.TB, text string, args ...any) {
	t.Helper()
	s.putAt(t, onHub, text, args...)
}

// policyOn puts a policy for everything of one kind; more is the rest of its spec.
func (s *space) policyOn(t testing.TB, name, selector, more string) {
	t.Helper()
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [%s], %s}}", name, selector, more)
}

// named selects one object.
func named(kind, name string) string {
	version, kind, _ := strings.Cut(kind, " ")
	return fmt.Sprintf("{apiVersion: %s, kind: %s, name: %s}", version, kind, name)
}

// mend merge-patches an object; of a member, with its status if sub says so.
func (s *space) mend(t testing.TB, where, kind, name, patch string, sub ...string) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatalf("%v in %s", err, patch)
	}
	if _, err := s.objectsOf(t, where, kind).Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, sub...); err != nil {
		t.Fatalf("patch %s %s: %v", kind, name, err)
	}
}

func (s *space) remove(t testing.TB, where, kind, name string) {
	t.Helper()
	if err := s.objectsOf(t, where, kind).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete %s %s: %v", kind, name, err)
	}
}

// read is an object; nil when there is none.
func (s *space) read(t testing.TB, where, kind, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := s.look(t.Context(), t, where, kind, name)
	if err != nil {
		t.Fatalf("get %s %s in %s: %v", kind, name, where, err)
	}
	return o
}

func (s *space) look(ctx context.Context, t testing.TB, where, kind, name string) (*unstructured.Unstructured, error) {
	t.Helper()
	o, err := s.objectsOf(t, where, kind).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// valueAt is what an object says under a path of keys and places with spaces
// between them; empty where it says nothing.
func valueAt(o *unstructured.Unstructured, path string) string {
	if o == nil {
		return ""
	}
	var value any = o.Object
	for _, key := range strings.Fields(path) {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			at, err := strconv.Atoi(key)
			if err != nil || at >= len(v) {
				return ""
			}
			value = v[at]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// sees waits until an object is there and says what is wanted: paths and what is
// under them, in turn.
func (s *space) sees(t testing.TB, where, kind, name string, want ...string) {
	t.Helper()
	s.awaits(t, where, kind, name, fmt.Sprint(want), func(o *unstructured.Unstructured) bool {
		for pair := range slices.Chunk(want, 2) {
			if valueAt(o, pair[0]) != pair[1] {
				return false
			}
		}
		return o != nil
	})
}

// awaits waits until an object fits; nil is one that is not there.
func (s *space) awaits(t testing.TB, where, kind, name, what string, fits func(*unstructured.Unstructured) bool) {
	t.Helper()
	var last *unstructured.Unstructured
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("%s %s in %s: %v", kind, name, where, last.Object)
		}
	}()
	eventually(t, fmt.Sprintf("%s %s in %s: %s", kind, name, where, what), func(ctx context.Context) bool {
		o, err := s.look(ctx, t, where, kind, name)
		if err != nil {
			return false // a server that is too busy to answer is asked again
		}
		last = o
		return fits(o)
	})
}

func (s *space) gone(t testing.TB, where, kind, name string) {
	t.Helper()
	s.awaits(t, where, kind, name, "gone", func(o *unstructured.Unstructured) bool { return o == nil })
}

// never fails the test if an object is there. A witness came before.
func (s *space) never(t testing.TB, where, kind, name string) {
	t.Helper()
	if o := s.read(t, where, kind, name); o != nil {
		t.Errorf("%s has %s %s, which does not belong there: %v", where, kind, name, o.Object)
	}
}

// witness propagates an object of its own to the first two members. What was asked
// for before and is not there by then is not to come.
func (s *space) witness(t testing.TB) {
	t.Helper()
	name := fmt.Sprintf("witness-%d", s.witnesses.Add(1))
	s.policyOn(t, name, named(aConfigMap, name), "placement: {clusterTolerations: [{operator: Exists}]}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}", name)
	s.sees(t, pushName, aConfigMap, name)
	s.sees(t, pullName, aConfigMap, name)
}

// work is the Work that carries an object of the space to a cluster; nil while
// there is none.
func (s *space) work(t testing.TB, cluster, kind, name string) *unstructured.Unstructured {
	t.Helper()
	list, err := s.dynamic.Resource(worksResource).Namespace("karmada-es-"+cluster).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, kind, _ = strings.Cut(kind, " ")
	for i := range list.Items {
		w := &list.Items[i]
		carries := func(path, want string) bool { return valueAt(w, "spec workload manifests 0 "+path) == want }
		if carries("kind", kind) && carries("metadata name", name) && (carries("metadata namespace", s.namespace) || carries("metadata namespace", "")) {
			return w
		}
	}
	return nil
}

// awaitWork waits until a Work fits; nil is none.
func (s *space) awaitWork(t testing.TB, cluster, kind, name, what string, fits func(*unstructured.Unstructured) bool) {
	t.Helper()
	var last *unstructured.Unstructured
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("the Work of %s %s for %s: %v", kind, name, cluster, last.Object)
		}
	}()
	eventually(t, fmt.Sprintf("the Work of %s %s for %s: %s", kind, name, cluster, what), func(context.Context) bool {
		last = s.work(t, cluster, kind, name)
		return fits(last)
	})
}

// awaitTold waits for an Event about an object of the space.
func (s *space) awaitTold(t testing.TB, reason, about string) {
	t.Helper()
	eventually(t, fmt.Sprintf("event %s about %s", reason, about), func(ctx context.Context) bool {
		list, err := s.client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.InvolvedObject.Name == about })
	})
}

// awaitPlaced waits until a binding has these clusters, "name" or "name:replicas".
func (s *space) awaitPlaced(t testing.TB, binding string, want ...string) {
	t.Helper()
	s.awaits(t, onHub, aBinding, binding, fmt.Sprintf("placed on %v", want), func(o *unstructured.Unstructured) bool {
		return slices.Equal(placedOn(o), want)
	})
}

// placedOn are the clusters of a binding in order of name, with their replicas.
func placedOn(o *unstructured.Unstructured) []string {
	if o == nil {
		return nil
	}
	clusters, _, _ := unstructured.NestedSlice(o.Object, "spec", "clusters")
	var placed []string
	for _, c := range clusters {
		c, ok := c.(map[string]any)
		if !ok {
			continue
		}
		text := fmt.Sprint(c["name"])
		if c["replicas"] != nil {
			text += fmt.Sprint(":", c["replicas"])
		}
		placed = append(placed, text)
	}
	slices.Sort(placed)
	return placed
}
