package propagation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
)

func testNamespaces(t *testing.T, f *fixture) {
	name := func(namespace string) string { return propagation.WorkName("", namespace, "Namespace") }
	for namespace, labels := range map[string]map[string]string{
		"shop": {"team": "a"}, "alone": {"namespace.karmada.io/skip-auto-propagation": "true"},
		"kube-things": nil, "theirs": {"open-cluster-management.io/cluster-name": "theirs"},
	} {
		f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}})
	}
	f.awaitWork(t, "m1", name("shop"))
	f.Await(t, "the namespace in the member", func(ctx context.Context) bool {
		found, err := f.member.Client.CoreV1().Namespaces().Get(ctx, "shop", metav1.GetOptions{})
		return err == nil && found.Labels["team"] == "a"
	})
	// Clusters that had no place for Works get them once there is one.
	f.space(t, "m2")
	work := f.awaitWork(t, "m2", name("shop"))
	if owner := work.OwnerReferences; len(owner) != 1 || owner[0].Kind != "Namespace" || owner[0].Name != "shop" || work.Spec.SuspendDispatching != nil {
		t.Errorf("%+v", work)
	}
	f.space(t, "m3")
	f.awaitWork(t, "m3", name("shop"))

	policy := &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: metav1.ObjectMeta{Name: "mark"}, Spec: policyv1alpha1.OverrideSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Namespace", Name: "shop"}},
		OverrideRules: []policyv1alpha1.RuleWithCluster{{TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}},
			Overriders: policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: policyv1alpha1.OverriderOpAdd, Value: map[string]string{"site": "two"}}}}}},
	}}
	f.Create(t, policy)
	f.Await(t, "the override", func(ctx context.Context) bool {
		work := f.work(ctx, "m2", name("shop"))
		return manifestOf(t, work).GetLabels()["site"] == "two" && work.Annotations[policyv1alpha1.AppliedClusterOverridesAnnotation] != ""
	})
	if err := f.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the override", func(ctx context.Context) bool {
		work := f.work(ctx, "m2", name("shop"))
		return manifestOf(t, work).GetLabels()["site"] == "" && work.Annotations[policyv1alpha1.AppliedClusterOverridesAnnotation] == ""
	})
	if manifestOf(t, f.work(t.Context(), "m3", name("shop"))).GetLabels()["site"] != "" {
		t.Error("the override reached another cluster")
	}
	for _, namespace := range []string{"alone", "kube-things", "theirs", "default", "karmada-system", "karmada-es-m1"} {
		if f.work(t.Context(), "m1", name(namespace)) != nil {
			t.Errorf("namespace %s was sent", namespace)
		}
	}
}

// bind makes the binding of a template, as the detector and the scheduler do.
func (f *fixture) bind(t *testing.T, o client.Object, kind, apiVersion string, spec workv1alpha2.ResourceBindingSpec) client.ObjectKey {
	t.Helper()
	f.Create(t, o)
	spec.Resource = workv1alpha2.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: template.BindingName(o.GetName(), kind)}
	if key.Namespace == "" {
		f.Create(t, &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Labels: map[string]string{workv1alpha2.ClusterResourceBindingPermanentIDLabel: "id-" + key.Name},
			Finalizers: []string{workv1alpha2.ClusterResourceBindingControllerFinalizer}}, Spec: spec})
	} else {
		f.Create(t, &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id-" + key.Name},
			Finalizers: []string{workv1alpha2.BindingControllerFinalizer}}, Spec: spec})
	}
	return key
}

func (f *fixture) binding(ctx context.Context, key client.ObjectKey) workv1alpha2.Binding {
	if key.Namespace == "" {
		var b workv1alpha2.ClusterResourceBinding
		if f.Client.Get(ctx, key, &b) != nil {
			return nil
		}
		return &b
	}
	var b workv1alpha2.ResourceBinding
	if f.Client.Get(ctx, key, &b) != nil {
		return nil
	}
	return &b
}

// change changes the spec of a ResourceBinding.
func (f *fixture) change(t *testing.T, key client.ObjectKey, how func(*workv1alpha2.ResourceBindingSpec)) {
	t.Helper()
	f.Await(t, "the change of "+key.Name, func(ctx context.Context) bool {
		b, ok := f.binding(ctx, key).(*workv1alpha2.ResourceBinding)
		if !ok {
			return false
		}
		how(&b.Spec)
		return f.Client.Update(ctx, b) == nil
	})
}

func (f *fixture) awaitFullyApplied(t *testing.T, key client.ObjectKey, status metav1.ConditionStatus, message string) workv1alpha2.Binding {
	t.Helper()
	var b workv1alpha2.Binding
	f.Await(t, "FullyApplied "+string(status)+" on "+key.Name, func(ctx context.Context) bool {
		if b = f.binding(ctx, key); b == nil {
			return false
		}
		c := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.FullyApplied)
		return c != nil && c.Status == status && strings.Contains(c.Message, message)
	})
	return b
}

func unmarshal(text string, into any) error { return yaml.UnmarshalStrict([]byte(text), into) }

func on(clusters ...string) []workv1alpha2.TargetCluster {
	var targets []workv1alpha2.TargetCluster
	for _, name := range clusters {
		targets = append(targets, workv1alpha2.TargetCluster{Name: name})
	}
	return targets
}

func settings(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"key": "one"}}
}

func configWork(name string) string { return propagation.WorkName("default", name, "ConfigMap") }

func testBindings(t *testing.T, f *fixture) {
	for _, name := range []string{"m1", "m2", "m3"} {
		f.space(t, name)
	}
	for name, test := range map[string]func(*testing.T, *fixture){
		"delivery": testDelivery, "overrides": testOverrides, "clusters": testClusters, "leaving at once": testLeaving,
		"deletion": testDeletion, "workload": testWorkload, "cluster scope": testClusterScope, "writes": testWrites,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

func testDelivery(t *testing.T, f *fixture) {
	name := configWork("settings")
	o := settings("settings")
	key := f.bind(t, o, "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m1", "m2")})
	inMember := func(value string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			found, err := f.member.Client.CoreV1().ConfigMaps("default").Get(ctx, "settings", metav1.GetOptions{})
			return err == nil && found.Data["key"] == value
		}
	}
	t.Logf("delivered in %s", f.Await(t, "the object in the member", inMember("one")))
	f.answer(t, "m2", name, "")
	b := f.awaitFullyApplied(t, key, metav1.ConditionTrue, "")
	if items := b.BindingStatus().AggregatedStatus; len(items) != 2 || items[0].ClusterName != "m1" || !items[0].Applied || items[0].Health != "Healthy" || items[1].ClusterName != "m2" {
		t.Errorf("%+v", items)
	}

	// Nothing is written where nothing changed.
	before := f.work(t.Context(), "m2", name)
	o.Finalizers = []string{"example.com/hold"} // not told in Works; a ConfigMap has no other writers here
	if err := f.Client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f.change(t, key, func(spec *workv1alpha2.ResourceBindingSpec) {
		spec.Resource.ResourceVersion, spec.PropagateDeps = o.ResourceVersion, true
	})
	o.Finalizers, o.Data["key"] = nil, "two"
	if err := f.Client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the change in the member", inMember("two"))
	f.Await(t, "the change for the agent", func(ctx context.Context) bool { return f.work(ctx, "m2", name).Generation != before.Generation })
	if after := f.work(t.Context(), "m2", name); after.Generation != before.Generation+1 {
		t.Errorf("generation %d after %d: a work was written that had not changed", after.Generation, before.Generation)
	}

	// What a client deletes stays away until the binding changes.
	if err := f.Client.Delete(t.Context(), f.work(t.Context(), "m2", name)); err != nil {
		t.Fatal(err)
	}
	f.release(t, "m2", name)
	f.awaitFullyApplied(t, key, metav1.ConditionFalse, "1 of 2 clusters have it; missing: m2")
	if f.work(t.Context(), "m2", name) != nil {
		t.Error("the work was made again")
	}
	f.change(t, key, func(spec *workv1alpha2.ResourceBindingSpec) {
		spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"m2"}}}}
	})
	work := f.awaitWork(t, "m2", name)
	if !ptr.Deref(work.Spec.SuspendDispatching, false) || ptr.Deref(f.work(t.Context(), "m1", name).Spec.SuspendDispatching, true) {
		t.Error("suspension is not where it was asked for")
	}
}

func testOverrides(t *testing.T, f *fixture) {
	name := configWork("overridden")
	key := f.bind(t, settings("overridden"), "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m2", "m3")})
	f.awaitWork(t, "m2", name)
	f.awaitWork(t, "m3", name)
	value := func(ctx context.Context, cluster string) string {
		text, _, _ := unstructured.NestedString(manifestOf(t, f.work(ctx, cluster, name)).Object, "data", "key")
		return text
	}
	policy := &policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "values"}}
	if err := unmarshal(`{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: overridden}], overrideRules: [{targetCluster: {clusterNames: [m3]},
		overriders: {plaintext: [{path: /data/key, operator: replace, value: three}]}}]}`, &policy.Spec); err != nil {
		t.Fatal(err)
	}
	f.Create(t, policy)
	f.Await(t, "the override", func(ctx context.Context) bool { return value(ctx, "m3") == "three" })
	if value(t.Context(), "m2") != "one" || f.work(t.Context(), "m3", name).Annotations[policyv1alpha1.AppliedOverridesAnnotation] == "" {
		t.Error("the override is where it should not be, or is not noted")
	}

	// A policy that cannot be applied in one cluster leaves the other alone, and is named.
	f.answer(t, "m2", name, "")
	f.answer(t, "m3", name, "")
	f.awaitFullyApplied(t, key, metav1.ConditionTrue, "")
	f.Await(t, "the broken policy", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(policy), policy) != nil {
			return false
		}
		if err := unmarshal(`[{targetCluster: {clusterNames: [m3]}, overriders: {plaintext: [{path: /none/key, operator: replace, value: x}]}},
			{targetCluster: {clusterNames: [m2]}, overriders: {plaintext: [{path: /data/key, operator: replace, value: two}]}}]`, &policy.Spec.OverrideRules); err != nil {
			t.Fatal(err)
		}
		return f.Client.Update(ctx, policy) == nil
	})
	f.Await(t, "the good part", func(ctx context.Context) bool { return value(ctx, "m2") == "two" })
	f.Await(t, "an event", func(ctx context.Context) bool {
		found, err := f.Member.Client.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		about := map[string]bool{}
		for _, e := range found.Items {
			if e.Reason == "ApplyOverridePolicyFailed" && e.Regarding.Name == "overridden" || e.Reason == "SyncWorkFailed" && e.Regarding.Name == key.Name {
				about[e.Reason] = strings.Contains(e.Note, "values")
			}
		}
		return about["ApplyOverridePolicyFailed"] && about["SyncWorkFailed"]
	})
	if value(t.Context(), "m3") != "three" {
		t.Error("the cluster at fault lost what it had")
	}
	if err := f.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the policy", func(ctx context.Context) bool { return value(ctx, "m2") == "one" && value(ctx, "m3") == "one" })

	// An object that has another name in a cluster has another Work there, and not two.
	rename := &policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rename"}}
	if err := unmarshal(`{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: overridden}], overrideRules: [{targetCluster: {clusterNames: [m3]},
		overriders: {plaintext: [{path: /metadata/name, operator: replace, value: renamed}]}}]}`, &rename.Spec); err != nil {
		t.Fatal(err)
	}
	f.Create(t, rename)
	f.awaitWork(t, "m3", configWork("renamed"))
	f.Await(t, "the end of the work by the old name", func(ctx context.Context) bool {
		old := f.work(ctx, "m3", name)
		return old == nil || old.DeletionTimestamp != nil
	})
	if old := f.work(t.Context(), "m2", name); old == nil || old.DeletionTimestamp != nil {
		t.Error("the other cluster lost its work")
	}
}

func testClusters(t *testing.T, f *fixture) {
	name := configWork("moving")
	key := f.bind(t, settings("moving"), "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m2", "m4"),
		RequiredBy: []workv1alpha2.BindingSnapshot{{Namespace: "default", Name: "parent", Clusters: on("m3")}}})
	f.awaitWork(t, "m2", name)
	f.awaitWork(t, "m3", name)
	// A cluster that comes later, and its execution space even later.
	f.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m4"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}})
	f.space(t, "m4")
	f.awaitWork(t, "m4", name)
	f.change(t, key, func(spec *workv1alpha2.ResourceBindingSpec) {
		spec.Clusters = on("m4")
		spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m2", Reason: "TaintUntolerated", Producer: "TaintManager", PurgeMode: policyv1alpha1.PurgeModeGracefully}}
		spec.RequiredBy = nil
	})
	f.awaitNoWork(t, "m3", name)
	if work := f.work(t.Context(), "m2", name); work == nil || work.DeletionTimestamp != nil {
		t.Error("a cluster that is left gracefully lost its copy")
	}
	f.change(t, key, func(spec *workv1alpha2.ResourceBindingSpec) { spec.GracefulEvictionTasks = nil })
	f.awaitNoWork(t, "m2", name)
	for _, cluster := range []string{"m2", "m3"} {
		f.release(t, cluster, name)
	}
}

func testLeaving(t *testing.T, f *fixture) {
	name := configWork("single")
	key := f.bind(t, settings("single"), "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m2")})
	f.awaitWork(t, "m2", name)
	f.change(t, key, func(spec *workv1alpha2.ResourceBindingSpec) {
		spec.Clusters = on("m3")
		spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m2", Reason: "TaintUntolerated", Producer: "TaintManager", PurgeMode: policyv1alpha1.PurgeModeDirectly}}
	})
	f.awaitNoWork(t, "m2", name)
	// By the time another binding is served, this one would have been, too.
	f.bind(t, settings("witness"), "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m3")})
	f.awaitWork(t, "m3", configWork("witness"))
	if f.work(t.Context(), "m3", name) != nil {
		t.Error("the new copy came before the old one had gone")
	}
	f.release(t, "m2", name)
	f.awaitWork(t, "m3", name)
}

func testDeletion(t *testing.T, f *fixture) {
	name := configWork("short")
	key := f.bind(t, settings("short"), "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m1", "m2")})
	f.awaitWork(t, "m2", name)
	f.Await(t, "the object", func(ctx context.Context) bool {
		_, err := f.member.Client.CoreV1().ConfigMaps("default").Get(ctx, "short", metav1.GetOptions{})
		return err == nil
	})
	if err := f.Client.Delete(t.Context(), &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the binding", func(ctx context.Context) bool { return f.binding(ctx, key) == nil })
	f.awaitNoWork(t, "m2", name)
	f.Await(t, "the end of the object", func(ctx context.Context) bool {
		_, err := f.member.Client.CoreV1().ConfigMaps("default").Get(ctx, "short", metav1.GetOptions{})
		return client.IgnoreNotFound(err) == nil && err != nil
	})
	// A new binding of the name waits for the old Work, and then gets its own.
	f.Create(t, &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "another"}},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "short"}, Clusters: on("m2")}})
	f.release(t, "m2", name)
	f.Await(t, "the new work", func(ctx context.Context) bool {
		work := f.work(ctx, "m2", name)
		return work != nil && work.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] == "another"
	})
}

func testWorkload(t *testing.T, f *fixture) {
	const kept = "kubectl.kubernetes.io/last-applied-configuration"
	name := propagation.WorkName("default", "db", "StatefulSet")
	labels := map[string]string{"app": "db"}
	// The test's hub runs controllers of Deployments, and none of StatefulSets.
	o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", Annotations: map[string]string{kept: "{}"}}, Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db"}}}}}}
	key := f.bind(t, o, "StatefulSet", "apps/v1", workv1alpha2.ResourceBindingSpec{Replicas: 3, Clusters: []workv1alpha2.TargetCluster{{Name: "m2", Replicas: 2}, {Name: "m3", Replicas: 1}},
		Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}}})
	replicas := func(cluster string) int64 {
		n, _, _ := unstructured.NestedInt64(manifestOf(t, f.awaitWork(t, cluster, name)).Object, "spec", "replicas")
		return n
	}
	if replicas("m2") != 2 || replicas("m3") != 1 {
		t.Errorf("%d and %d replicas", replicas("m2"), replicas("m3"))
	}
	status := func(n, ready string) string {
		return `{"replicas":` + n + `,"readyReplicas":` + ready + `,"updatedReplicas":` + n + `,"availableReplicas":` + ready + `,"generation":1,"resourceTemplateGeneration":1}`
	}
	var sum appsv1.StatefulSet
	awaitReady := func(n int32) {
		f.Await(t, "the sum on the hub", func(ctx context.Context) bool {
			return f.Client.Get(ctx, client.ObjectKeyFromObject(o), &sum) == nil && sum.Status.ReadyReplicas == n
		})
	}
	f.answer(t, "m2", name, status("2", "2"))
	f.answer(t, "m3", name, status("1", "1"))
	f.awaitFullyApplied(t, key, metav1.ConditionTrue, "")
	awaitReady(3)
	if sum.Annotations[kept] != "{}" || sum.Generation != 1 {
		t.Errorf("telling the status changed the template: %+v", sum.ObjectMeta)
	}
	f.answer(t, "m3", name, status("1", "0"))
	awaitReady(2)

	// Scaling is one change of each Work, however many steps it takes on the hub.
	f.Await(t, "the scaling", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(o), &sum) != nil {
			return false
		}
		sum.Spec.Replicas = ptr.To[int32](5)
		return f.Client.Update(ctx, &sum) == nil
	})
	f.change(t, key, func(spec *workv1alpha2.ResourceBindingSpec) {
		spec.Replicas, spec.Resource.ResourceVersion = 5, sum.ResourceVersion
		spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m2", Replicas: 3}, {Name: "m3", Replicas: 2}}
	})
	f.Await(t, "the scaled works", func(context.Context) bool { return replicas("m2") == 3 && replicas("m3") == 2 })
	if work := f.work(t.Context(), "m2", name); work.Generation != 2 {
		t.Errorf("generation %d", work.Generation)
	}
}

func testClusterScope(t *testing.T, f *fixture) {
	o := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "app:reader"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	key := f.bind(t, o, "ClusterRole", "rbac.authorization.k8s.io/v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m1"), ConflictResolution: policyv1alpha1.ConflictOverwrite})
	name := propagation.WorkName("", "app:reader", "ClusterRole")
	work := f.awaitWork(t, "m1", name)
	if work.Annotations[workv1alpha2.ClusterResourceBindingNameAnnotation] != key.Name || work.Annotations[workv1alpha1.ConflictResolutionAnnotation] != "overwrite" {
		t.Errorf("%v", work.Annotations)
	}
	f.awaitFullyApplied(t, key, metav1.ConditionTrue, "")
	if err := f.Client.Delete(t.Context(), &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the binding", func(ctx context.Context) bool { return f.binding(ctx, key) == nil && f.work(ctx, "m1", name) == nil })
}

func testQuotas(t *testing.T, f *fixture) {
	name := propagation.WorkName("shop", "limits", "ResourceQuota")
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
	quota := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "limits"}, Spec: policyv1alpha1.FederatedResourceQuotaSpec{
		Overall: cpu("10"), StaticAssignments: []policyv1alpha1.StaticClusterAssignment{{ClusterName: "m2", Hard: cpu("4")}, {ClusterName: "m3", Hard: cpu("6")}}}}
	f.Create(t, quota)
	manifest := manifestOf(t, f.awaitWork(t, "m2", name))
	if hard, _, _ := unstructured.NestedString(manifest.Object, "spec", "hard", "cpu"); hard != "4" || manifest.GetKind() != "ResourceQuota" || manifest.GetNamespace() != "shop" {
		t.Errorf("%v", manifest.Object)
	}
	f.answer(t, "m2", name, `{"hard":{"cpu":"4"},"used":{"cpu":"1500m","pods":"2"}}`)
	f.answer(t, "m3", name, `{"hard":{"cpu":"6"},"used":{"cpu":"1"}}`)
	key := client.ObjectKeyFromObject(quota)
	f.Await(t, "the sum", func(ctx context.Context) bool {
		if f.Client.Get(ctx, key, quota) != nil || len(quota.Status.AggregatedStatus) != 2 {
			return false
		}
		used := quota.Status.OverallUsed[corev1.ResourceCPU]
		return used.Cmp(resource.MustParse("2500m")) == 0 && len(quota.Status.OverallUsed) == 1 && quota.Status.AggregatedStatus[0].ClusterName == "m2"
	})
	f.Await(t, "the smaller quota", func(ctx context.Context) bool {
		if f.Client.Get(ctx, key, quota) != nil {
			return false
		}
		quota.Spec.StaticAssignments = quota.Spec.StaticAssignments[:1]
		return f.Client.Update(ctx, quota) == nil
	})
	f.awaitNoWork(t, "m3", name)
	f.Await(t, "the smaller sum", func(ctx context.Context) bool {
		return f.Client.Get(ctx, key, quota) == nil && len(quota.Status.AggregatedStatus) == 1
	})
	if err := f.Client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	f.awaitNoWork(t, "m2", name)
}

// testWrites counts the versions of bindings and Works: a delivery is one write of
// the Work beside the agent's own, and a burst of answers is one write on the
// binding.
func testWrites(t *testing.T, f *fixture) {
	const many = 30
	versions := f.countVersions(t, "counted-")
	var keys []client.ObjectKey
	for i := range many {
		name := fmt.Sprintf("counted-%d", i)
		keys = append(keys, f.bind(t, settings(name), "ConfigMap", "v1", workv1alpha2.ResourceBindingSpec{Clusters: on("m2", "m3")}))
	}
	for i := range many {
		for _, cluster := range []string{"m2", "m3"} {
			f.answer(t, cluster, configWork(fmt.Sprintf("counted-%d", i)), "")
		}
	}
	for _, key := range keys {
		f.awaitFullyApplied(t, key, metav1.ConditionTrue, "")
	}
	bindings, works := versions()
	t.Logf("%d versions of %d bindings, %d versions of %d works", bindings, many, works, 2*many)
	if works > 4*many {
		t.Errorf("%d writes of %d works", works, 2*many)
	}
	if bindings > 3*many { // created and told: in one step, or in two where one agent answers well before the other
		t.Errorf("%d writes of %d bindings", bindings, many)
	}
}

// countVersions counts the versions of ResourceBindings and Works whose names
// begin with a prefix, until the function it returns is called.
func (f *fixture) countVersions(t *testing.T, prefix string) func() (bindings, works int) {
	t.Helper()
	watching, err := client.NewWithWatch(f.Config(), client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	count := func(list client.ObjectList) func() int {
		events, err := watching.Watch(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		done, n := make(chan struct{}), 0
		go func() {
			defer close(done)
			for e := range events.ResultChan() {
				if o, ok := e.Object.(client.Object); ok && e.Type != watch.Deleted && strings.HasPrefix(o.GetName(), prefix) {
					n++
				}
			}
		}()
		return func() int {
			events.Stop()
			<-done
			return n
		}
	}
	bindings, works := count(&workv1alpha2.ResourceBindingList{}), count(&workv1alpha1.WorkList{})
	return func() (int, int) { return bindings(), works() }
}
