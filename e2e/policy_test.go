package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

var (
	bindingsResource = workv1alpha2.GroupVersion.WithResource("resourcebindings")
)

// space is a namespace of its own on a fleet that several tests share.
type space struct {
	*fleet
	namespace string
	witnesses atomic.Int32
}

// space makes a namespace and waits until the first two members have it, as they
// get every namespace without being asked (contract section 8.4).
func (f *fleet) space(t *testing.T, name string) *space {
	t.Helper()
	f.on(t, "create", "namespace", name)
	for cluster, m := range map[string]*controlplanetest.Member{pushName: f.push, pullName: f.pull} {
		eventually(t, "namespace "+name+" in "+cluster, func(ctx context.Context) bool {
			_, err := m.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return err == nil
		})
	}
	return &space{fleet: f, namespace: name}
}

// on runs kubectl on the hub in the space.
func (s *space) on(t testing.TB, args ...string) string {
	t.Helper()
	return kubectl(t, s.Kubeconfig, append([]string{"-n", s.namespace}, args...)...)
}

// policy applies a PropagationPolicy of the space; spec is in YAML's flow form.
func (s *space) policy(t testing.TB, name, spec string) {
	t.Helper()
	s.apply(t, fmt.Sprintf("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s, namespace: %s}, spec: %s}", name, s.namespace, spec))
}

func (s *space) configMap(t testing.TB, name string, data ...string) {
	t.Helper()
	args := []string{"create", "configmap", name}
	for _, pair := range data {
		args = append(args, "--from-literal="+pair)
	}
	s.on(t, args...)
}

// member reads a ConfigMap of the space in a member; nil when there is none.
func (s *space) member(t testing.TB, m *controlplanetest.Member, name string) *corev1.ConfigMap {
	t.Helper()
	object, err := m.Client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// awaitIn waits until exactly these clusters have a ConfigMap of ours: those that
// are not to have it still have none when what was asked for later is there.
func (s *space) awaitIn(t testing.TB, name string, clusters ...string) {
	t.Helper()
	ours := func(m *controlplanetest.Member) bool {
		object := s.member(t, m, name)
		return object != nil && object.Labels["karmada.io/managed"] == "true"
	}
	var others []string
	for cluster, m := range s.members() {
		want := slices.Contains(clusters, cluster)
		eventually(t, fmt.Sprintf("configmap %s in %s: %v", name, cluster, want), func(context.Context) bool { return want == ours(m) })
		if !want {
			others = append(others, cluster)
		}
	}
	if len(clusters) == 0 || len(others) == 0 {
		return // it was there and went, or it is everywhere
	}
	s.witness(t)
	for _, cluster := range others {
		if ours(s.members()[cluster]) {
			t.Errorf("configmap %s came to %s, which is not to have it", name, cluster)
		}
	}
}

// awaitBinding waits until the binding of a ConfigMap fits.
func (s *space) awaitBinding(t testing.TB, name, what string, fits func(*unstructured.Unstructured) bool) {
	t.Helper()
	awaitObject(t, s.dynamic, s.namespace, name+"-configmap", what, fits)
}

func awaitObject(t testing.TB, client dynamic.Interface, namespace, name, what string, fits func(*unstructured.Unstructured) bool) {
	t.Helper()
	var last *unstructured.Unstructured
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("binding %s: %v", name, last.Object)
		}
	}()
	eventually(t, "binding "+name+": "+what, func(ctx context.Context) bool {
		object, err := client.Resource(bindingsResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		last = object
		return fits(object)
	})
}

func condition(o *unstructured.Unstructured, kind string) (status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return fmt.Sprint(c["status"]), fmt.Sprint(c["reason"]), fmt.Sprint(c["message"])
		}
	}
	return "", "", ""
}

func heldBy(policy string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()["propagationpolicy.karmada.io/name"] == policy
	}
}

const (
	toBoth   = "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}"
	toFirst  = "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}], placement: {clusterAffinity: {clusterNames: [cluster1]}}}"
	toSecond = "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}], placement: {clusterAffinity: {clusterNames: [cluster2]}}}"
)

// TestPolicies holds the rules of contract sections 8, 9 and 11 against two
// members, one of each kind. The subtests share the fleet, not a namespace.
func TestPolicies(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	cases := map[string]func(*testing.T, *space){
		"everywhere":         testEverywhere,
		"selector-edit":      testSelectorEdit,
		"placement-edit":     testPlacementEdit,
		"policy-deleted":     testPolicyDeleted,
		"choice":             testChoice,
		"lazy":               testLazy,
		"suspended":          testSuspended,
		"conflict":           testConflict,
		"preserved":          testPreserved,
		"dependencies":       testDependencies,
		"no-fit":             testNoFit,
		"divided":            testDivided,
		"drift":              testDrift,
		"recreated":          testRecreated,
		"deletion-protected": testDeletionProtected,
		"custom-resource":    testCustomResource,
	}
	for _, more := range []map[string]func(*testing.T, *space){templateCases, overrideCases, workCases, memberCases, admissionCases, keepCases, reachCases} {
		maps.Copy(cases, more)
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, f.space(t, name))
		})
	}
}

func testEverywhere(t *testing.T, s *space) {
	s.policy(t, "all", toBoth)
	s.configMap(t, "settings", "color=blue")
	s.awaitIn(t, "settings", pushName, pullName)
	s.awaitBinding(t, "settings", "fully applied", func(o *unstructured.Unstructured) bool {
		status, reason, _ := condition(o, "FullyApplied")
		return status == "True" && reason == "FullyAppliedSuccess"
	})
	s.on(t, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"color":"red"}}`)
	for cluster, m := range s.members() {
		eventually(t, "the change in "+cluster, func(context.Context) bool { return s.member(t, m, "settings").Data["color"] == "red" })
	}
	for cluster, m := range s.members() {
		eventually(t, "the CA bundle of "+cluster, func(context.Context) bool { return s.member(t, m, "kube-root-ca.crt") != nil })
		if s.member(t, m, "kube-root-ca.crt").Labels["karmada.io/managed"] != "" {
			t.Error("the members' own CA bundle was replaced by the hub's")
		}
	}
	s.on(t, "delete", "configmap", "settings")
	s.awaitIn(t, "settings")
}

func testSelectorEdit(t *testing.T, s *space) {
	s.policy(t, "some", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {go: there}}}]}")
	s.configMap(t, "settings")
	s.configMap(t, "other")
	s.on(t, "label", "configmap", "settings", "go=there")
	s.awaitIn(t, "settings", pushName, pullName)
	s.policy(t, "some", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: other}]}")
	s.awaitIn(t, "other", pushName, pullName)
	eventually(t, "the claim on settings is gone", func(context.Context) bool {
		return !strings.Contains(s.on(t, "get", "configmap", "settings", "-o", "yaml"), "propagationpolicy.karmada.io/name")
	})
	s.awaitIn(t, "settings", pushName, pullName) // it stays where it is
}

func testPlacementEdit(t *testing.T, s *space) {
	s.policy(t, "one", toFirst)
	s.configMap(t, "settings")
	s.awaitIn(t, "settings", pushName)
	s.policy(t, "one", toSecond)
	s.awaitIn(t, "settings", pullName)
}

func testPolicyDeleted(t *testing.T, s *space) {
	s.policy(t, "first", toFirst)
	s.configMap(t, "settings")
	s.awaitIn(t, "settings", pushName)
	s.on(t, "delete", "propagationpolicy", "first")
	s.awaitBinding(t, "settings", "released", heldBy(""))
	s.awaitIn(t, "settings", pushName)
	s.policy(t, "second", toSecond)
	s.awaitBinding(t, "settings", "held by the second", heldBy("second"))
	s.awaitIn(t, "settings", pullName)
}

// testChoice: priority, then the closer selector, then the name; and a policy of
// the namespace before one of all namespaces.
func testChoice(t *testing.T, s *space) {
	everything := fmt.Sprintf("{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: "+
		"{priority: 100, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %[1]s}]}}", s.namespace)
	s.apply(t, everything)
	defer s.on(t, "delete", "clusterpropagationpolicy", s.namespace)
	s.policy(t, "a-kind", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}")
	s.policy(t, "z-name", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: close}]}")
	s.policy(t, "m-high", "{priority: 5, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {high: 'yes'}}}]}")
	s.policy(t, "b-kind", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}")
	s.policy(t, "witness", "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: witness}]}")
	s.on(t, "create", "deployment", "witness", "--image=web")
	awaitObject(t, s.dynamic, s.namespace, "witness-deployment", "there: all policies are known", heldBy("witness"))
	s.configMap(t, "close")
	s.configMap(t, "plain")
	s.apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: high, namespace: %s, labels: {high: 'yes'}}}", s.namespace))
	for name, holder := range map[string]string{"close": "z-name", "plain": "a-kind", "high": "m-high"} {
		s.awaitBinding(t, name, "held by "+holder, heldBy(holder))
	}
}

func testLazy(t *testing.T, s *space) {
	lazy := func(clusters string) string {
		return fmt.Sprintf("{activationPreference: Lazy, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}], placement: {clusterAffinity: {clusterNames: [%s]}}}", clusters)
	}
	s.configMap(t, "settings")
	s.policy(t, "lazy", lazy("cluster1"))
	s.configMap(t, "witness")
	s.policy(t, "eager", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: witness}]}")
	s.awaitIn(t, "witness", pushName, pullName) // so much later
	s.on(t, "annotate", "configmap", "settings", "touched=once")
	s.awaitIn(t, "settings", pushName)
	s.policy(t, "lazy", lazy("cluster2"))
	s.policy(t, "eager", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: witness}], placement: {clusterAffinity: {clusterNames: [cluster2]}}}")
	s.awaitIn(t, "witness", pullName) // so the change before is known, too
	s.awaitIn(t, "settings", pushName)
	s.on(t, "annotate", "configmap", "settings", "touched=twice", "--overwrite")
	s.awaitIn(t, "settings", pullName)
}

func testSuspended(t *testing.T, s *space) {
	spec := func(suspension string) string {
		return "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], suspension: " + suspension + "}"
	}
	s.policy(t, "some", spec("{dispatchingOnClusters: {clusterNames: [cluster2]}}"))
	s.configMap(t, "settings")
	s.awaitIn(t, "settings", pushName)
	s.policy(t, "some", spec("{dispatching: false}"))
	s.awaitIn(t, "settings", pushName, pullName)
}

func testConflict(t *testing.T, s *space) {
	for _, m := range s.members() {
		own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"owner": "member"}}
		if _, err := m.Client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.policy(t, "all", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}]}")
	s.configMap(t, "settings", "owner=hub")
	s.awaitBinding(t, "settings", "refused by both, with what to do", func(o *unstructured.Unstructured) bool {
		items, _, _ := unstructured.NestedSlice(o.Object, "status", "aggregatedStatus")
		refused := 0
		for _, item := range items {
			if message := fmt.Sprint(item.(map[string]any)["appliedMessage"]); strings.Contains(message, "conflict-resolution") {
				refused++
			}
		}
		return refused == 2
	})
	if owner := s.member(t, s.push, "settings").Data["owner"]; owner != "member" {
		t.Errorf("the member's object was overwritten by %s", owner)
	}
	s.policy(t, "all", "{conflictResolution: Overwrite, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}]}")
	s.awaitIn(t, "settings", pushName, pullName)
	if owner := s.member(t, s.pull, "settings").Data["owner"]; owner != "hub" {
		t.Errorf("the member's object still is %s's", owner)
	}
}

func testPreserved(t *testing.T, s *space) {
	s.policy(t, "all", "{preserveResourcesOnDeletion: true, resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}")
	s.configMap(t, "settings", "color=blue")
	s.awaitIn(t, "settings", pushName, pullName)
	s.on(t, "delete", "configmap", "settings")
	s.awaitIn(t, "settings") // none of ours any more
	for cluster, m := range s.members() {
		if s.member(t, m, "settings") == nil {
			t.Errorf("%s lost the object", cluster)
		}
	}
}

func testDependencies(t *testing.T, s *space) {
	s.configMap(t, "settings")
	s.apply(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: %s}, spec: {selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}]}]}}}}`, s.namespace))
	s.policy(t, "web", "{propagateDeps: true, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}], placement: {clusterAffinity: {clusterNames: [cluster2]}}}")
	s.awaitIn(t, "settings", pullName)
	s.on(t, "delete", "deployment", "web")
	s.awaitIn(t, "settings")
	s.awaitBinding(t, "settings", "stays, without parents", func(o *unstructured.Unstructured) bool {
		parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "requiredBy")
		return len(parents) == 0
	})
}

func testNoFit(t *testing.T, s *space) {
	s.policy(t, "nowhere", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {clusterAffinity: {clusterNames: [atlantis]}}}")
	s.configMap(t, "settings")
	s.awaitBinding(t, "settings", "no cluster fits", func(o *unstructured.Unstructured) bool {
		status, reason, message := condition(o, "Scheduled")
		return status == "False" && reason == "NoClusterFit" && strings.Contains(message, "0/2 clusters are available")
	})
}

func testDivided(t *testing.T, s *space) {
	s.policy(t, "split", `{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {replicaScheduling: {replicaSchedulingType: Divided,
		replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [cluster1]}, weight: 1}, {targetCluster: {clusterNames: [cluster2]}, weight: 3}]}}}}`)
	s.on(t, "create", "deployment", "web", "--image=web", "--replicas=9")
	for cluster, want := range map[string]int32{pushName: 2, pullName: 7} {
		m := s.members()[cluster]
		eventually(t, fmt.Sprintf("%d replicas in %s", want, cluster), func(ctx context.Context) bool {
			d, err := m.Client.AppsV1().Deployments(s.namespace).Get(ctx, "web", metav1.GetOptions{})
			return err == nil && *d.Spec.Replicas == want
		})
	}
}

func testDrift(t *testing.T, s *space) {
	s.policy(t, "all", toBoth)
	s.configMap(t, "settings", "color=blue")
	s.awaitIn(t, "settings", pushName, pullName)
	begun, drifted := time.Now().Truncate(time.Second), map[string]bool{}
	s.awaitEffect(t, "all", begun, drifted)
	for cluster, m := range s.members() {
		s.mend(t, cluster, aConfigMap, "settings", "{data: {color: pink}}")
		eventually(t, "drift in "+cluster+" is repaired", func(context.Context) bool { return s.member(t, m, "settings").Data["color"] == "blue" })
		drifted[cluster] = true
		s.awaitEffect(t, "all", begun, drifted)
		if err := m.Client.CoreV1().ConfigMaps(s.namespace).Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitIn(t, "settings", pushName, pullName)
}

// awaitEffect waits until REST says of a policy for one object that both clusters
// have it, and in which of them it was changed and set back since a time.
func (s *space) awaitEffect(t *testing.T, policy string, since time.Time, drifted map[string]bool) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("REST says of the effect: %s", last)
		}
	}()
	rest := admin(t, s.hub)
	eventually(t, fmt.Sprintf("drift in %v is told", drifted), func(ctx context.Context) bool {
		answer, err := rest.Do(ctx, http.MethodGet, "/api/v1/policies/propagationpolicies/"+s.namespace+"/"+policy+"/effect", nil)
		if err != nil {
			return false
		}
		var effect struct {
			Counts map[string]int `json:"counts"`
			Items  struct {
				Items []struct {
					Clusters []struct {
						Name      string     `json:"name"`
						DriftedAt *time.Time `json:"driftedAt"`
					} `json:"clusters"`
				} `json:"items"`
			} `json:"items"`
		}
		last = string(answer.Body)
		if answer.Status != http.StatusOK || answer.Into(&effect) != nil || len(effect.Items.Items) != 1 {
			return false
		}
		for _, cluster := range effect.Items.Items[0].Clusters {
			told := cluster.DriftedAt != nil && !cluster.DriftedAt.Before(since) && !cluster.DriftedAt.After(time.Now())
			if told != drifted[cluster.Name] || !told && cluster.DriftedAt != nil {
				return false
			}
		}
		return effect.Counts["applied"] == len(s.members()) && effect.Counts["drifted"] == len(drifted)
	})
}

// testRecreated: a template deleted and made again at once is another object.
func testRecreated(t *testing.T, s *space) {
	s.policy(t, "all", toBoth)
	for _, color := range []string{"blue", "red", "green"} {
		s.configMap(t, "settings", "color="+color)
		for cluster, m := range s.members() {
			eventually(t, color+" in "+cluster, func(context.Context) bool {
				object := s.member(t, m, "settings")
				return object != nil && object.Data["color"] == color
			})
		}
		s.on(t, "delete", "configmap", "settings")
	}
	s.awaitIn(t, "settings")
}

func testDeletionProtected(t *testing.T, s *space) {
	s.configMap(t, "settings")
	s.on(t, "label", "configmap", "settings", "resourcetemplate.karmada.io/deletion-protected=Always")
	if r := run(t, "kube", "kubectl", "--kubeconfig", s.Kubeconfig, "-n", s.namespace, "delete", "configmap", "settings"); r.code == 0 || !strings.Contains(r.stderr, "deletion-protected") {
		t.Errorf("delete: status %d\n%s", r.code, r.stderr)
	}
	s.on(t, "label", "configmap", "settings", "resourcetemplate.karmada.io/deletion-protected-")
	s.on(t, "delete", "configmap", "settings")
}

// testCustomResource: a kind that the hub learns while it runs.
func testCustomResource(t *testing.T, s *space) {
	s.apply(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: parcels.post.example}, spec: {group: post.example, scope: Namespaced,
		names: {kind: Parcel, plural: parcels}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	s.apply(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: parcels}, spec: {resourceSelectors: [
		{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: parcels.post.example}]}}`)
	s.on(t, "wait", "crd/parcels.post.example", "--for=condition=Established")
	s.policy(t, "parcels", "{resourceSelectors: [{apiVersion: post.example/v1, kind: Parcel}]}")
	parcel := fmt.Sprintf("{apiVersion: post.example/v1, kind: Parcel, metadata: {name: p, namespace: %s}, weight: 3}", s.namespace)
	eventually(t, "a parcel on the hub, which tells of the kind a moment after it has it", func(context.Context) bool {
		return runWith(t, parcel, "kube", "kubectl", "--kubeconfig", s.Kubeconfig, "apply", "-f", "-").code == 0
	})
	parcels := groupVersion("post.example/v1").WithResource("parcels")
	for cluster, m := range s.members() {
		client := clientFor(t, loadConfig(t, m.Kubeconfig))
		eventually(t, "the parcel in "+cluster, func(ctx context.Context) bool {
			object, err := client.Resource(parcels).Namespace(s.namespace).Get(ctx, "p", metav1.GetOptions{})
			return err == nil && fmt.Sprint(object.Object["weight"]) == "3"
		})
	}
}
