package registry

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func clusterStrategy() strategy[clusterv1alpha1.Cluster, clusterv1alpha1.ClusterSpec, clusterv1alpha1.ClusterStatus] {
	return newStrategy(clusterKind(func() time.Time { return noon }))
}

func storedCluster() *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "1", ResourceVersion: "7", Generation: 3, Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"}},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull, ID: "x", ResourceModels: defaultModels()},
		Status:     clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3"},
	}
}

func TestClusterCreate(t *testing.T) {
	cluster := storedCluster()
	cluster.Spec.ResourceModels = nil
	clusterStrategy().PrepareForCreate(context.Background(), cluster)
	if cluster.Generation != 1 || cluster.Status.KubernetesVersion != "" {
		t.Errorf("generation %d, status %+v: want 1 and empty", cluster.Generation, cluster.Status)
	}
	var got [][]string
	for i, model := range cluster.Spec.ResourceModels {
		if model.Grade != uint(i) {
			t.Errorf("grade %d is at place %d", model.Grade, i)
		}
		cpu, memory := model.Ranges[0], model.Ranges[1]
		got = append(got, []string{string(cpu.Name), cpu.Min.String(), cpu.Max.String(), string(memory.Name), memory.Min.String(), memory.Max.String()})
	}
	top := "9223372036854775807"
	want := [][]string{ // as the recordings show it
		{"cpu", "0", "1", "memory", "0", "4Gi"}, {"cpu", "1", "2", "memory", "4Gi", "16Gi"}, {"cpu", "2", "4", "memory", "16Gi", "32Gi"},
		{"cpu", "4", "8", "memory", "32Gi", "64Gi"}, {"cpu", "8", "16", "memory", "64Gi", "128Gi"}, {"cpu", "16", "32", "memory", "128Gi", "256Gi"},
		{"cpu", "32", "64", "memory", "256Gi", "512Gi"}, {"cpu", "64", "128", "memory", "512Gi", "1Ti"}, {"cpu", "128", top, "memory", "1Ti", top},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("default models (-want +got):\n%s", diff)
	}
}

func TestClusterModelsAreStandardized(t *testing.T) {
	half := func(grade uint, lower, upper string) clusterv1alpha1.ResourceModel {
		return clusterv1alpha1.ResourceModel{Grade: grade, Ranges: []clusterv1alpha1.ResourceModelRange{{Name: "cpu", Min: resource.MustParse(lower), Max: resource.MustParse(upper)}}}
	}
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push,
		ResourceModels: []clusterv1alpha1.ResourceModel{half(2, "4", "8"), half(1, "2", "4")}}}
	clusterStrategy().PrepareForCreate(context.Background(), cluster)
	if errs := clusterStrategy().Validate(context.Background(), cluster); len(errs) > 0 {
		t.Errorf("standardized models are refused: %v", errs)
	}
	first, last := cluster.Spec.ResourceModels[0], cluster.Spec.ResourceModels[1]
	if first.Grade != 1 || first.Ranges[0].Min.String() != "0" || last.Ranges[0].Max.String() != "9223372036854775807" {
		t.Errorf("got %+v", cluster.Spec.ResourceModels)
	}
}

func TestClusterUpdate(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*clusterv1alpha1.Cluster)
		generation int64
	}{
		"nothing":                  {func(*clusterv1alpha1.Cluster) {}, 3},
		"labels":                   {func(c *clusterv1alpha1.Cluster) { c.Labels = nil }, 3},
		"same quantity":            {func(c *clusterv1alpha1.Cluster) { c.Spec.ResourceModels[0].Ranges[0].Max = resource.MustParse("1000m") }, 3},
		"spec":                     {func(c *clusterv1alpha1.Cluster) { c.Spec.Region = "eu" }, 4},
		"models emptied":           {func(c *clusterv1alpha1.Cluster) { c.Spec.ResourceModels = nil }, 4},
		"generation is not theirs": {func(c *clusterv1alpha1.Cluster) { c.Generation = 99 }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			old, updated := storedCluster(), storedCluster()
			updated.Status.KubernetesVersion = "v9"
			test.change(updated)
			clusterStrategy().PrepareForUpdate(context.Background(), updated, old)
			if updated.Generation != test.generation {
				t.Errorf("generation %d, want %d", updated.Generation, test.generation)
			}
			if updated.Status.KubernetesVersion != "v1.36.3" {
				t.Error("the update changed the status")
			}
			if name == "models emptied" && updated.Spec.ResourceModels != nil {
				t.Error("emptied models were filled in again")
			}
		})
	}
}

func TestClusterStatusUpdateChangesNothingElse(t *testing.T) {
	old, updated := storedCluster(), storedCluster()
	updated.Status.KubernetesVersion = "v1.37.0"
	updated.Spec = clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push, APIEndpoint: "https://evil.example"}
	updated.Labels, updated.Annotations, updated.Finalizers = map[string]string{"a": "evil"}, map[string]string{"x": "y"}, nil
	updated.OwnerReferences = []metav1.OwnerReference{{Name: "x"}}
	updated.ResourceVersion = "8"
	updated.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "agent"}}
	statusStrategyOf(clusterStrategy()).PrepareForUpdate(context.Background(), updated, old)

	want := storedCluster()
	want.Status.KubernetesVersion = "v1.37.0"
	want.ResourceVersion, want.ManagedFields = "8", []metav1.ManagedFieldsEntry{{Manager: "agent"}}
	if diff := cmp.Diff(want, updated); diff != "" {
		t.Errorf("status update (-want +got):\n%s", diff)
	}
}

func TestClusterCanonicalForm(t *testing.T) {
	before := metav1.NewTime(noon.Add(-time.Hour))
	cluster := storedCluster()
	cluster.Spec.Zone = "a"
	cluster.Spec.Taints = []corev1.Taint{
		{Key: "new", Effect: corev1.TaintEffectNoExecute}, {Key: "kept", Effect: corev1.TaintEffectNoExecute, TimeAdded: &before}, {Key: "other", Effect: corev1.TaintEffectNoSchedule},
	}
	clusterStrategy().Canonicalize(cluster)
	if cluster.Spec.Zone != "" || !cmp.Equal(cluster.Spec.Zones, []string{"a"}) {
		t.Errorf("zone %q zones %v", cluster.Spec.Zone, cluster.Spec.Zones)
	}
	taints := cluster.Spec.Taints
	if !taints[0].TimeAdded.Time.Equal(noon) || !taints[1].TimeAdded.Equal(&before) || taints[2].TimeAdded != nil {
		t.Errorf("taints %+v", taints)
	}

	// A client that writes the list back without times must not restart them.
	updated := cluster.DeepCopy()
	for i := range updated.Spec.Taints {
		updated.Spec.Taints[i].TimeAdded = nil
	}
	clusterStrategy().PrepareForUpdate(context.Background(), updated, cluster)
	if updated.Generation != cluster.Generation || !updated.Spec.Taints[1].TimeAdded.Equal(&before) {
		t.Errorf("generation %d taints %+v", updated.Generation, updated.Spec.Taints)
	}
}

func TestResetFields(t *testing.T) {
	main := clusterStrategy()
	status := statusStrategyOf(main)
	if got := main.GetResetFields()["cluster.karmada.io/v1alpha1"].String(); got != ".status" {
		t.Errorf("main resets %s", got)
	}
	if got := status.GetResetFields()["cluster.karmada.io/v1alpha1"].String(); got != ".metadata\n.spec" && got != ".spec\n.metadata" {
		t.Errorf("status resets %q", got)
	}
}

func TestWorkGenerationFollowsManifests(t *testing.T) {
	old, updated := exampleWork(manifest(`{"a":1}`)), exampleWork(manifest(`{"a":1}`))
	old.Generation = 1
	newStrategy(workKind()).PrepareForUpdate(context.Background(), updated, old)
	if updated.Generation != 1 {
		t.Errorf("equal manifests raised the generation to %d", updated.Generation)
	}
	updated.Spec.Workload.Manifests[0].Raw = []byte(`{"a":2}`)
	newStrategy(workKind()).PrepareForUpdate(context.Background(), updated, old)
	if updated.Generation != 2 {
		t.Errorf("changed manifests left the generation at %d", updated.Generation)
	}
}

func TestBindingDefaults(t *testing.T) {
	binding := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{
		Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{}},
		Failover:  &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{}, Cluster: &policyv1alpha1.ClusterFailoverBehavior{}},
	}}
	Scheme.Default(binding)
	spec := binding.Spec
	if spec.ConflictResolution != "Abort" || spec.Placement.ReplicaScheduling.ReplicaSchedulingType != "Divided" || spec.Failover.Cluster.PurgeMode != "Gracefully" ||
		spec.Failover.Application.PurgeMode != "Gracefully" || *spec.Failover.Application.DecisionConditions.TolerationSeconds != 300 {
		t.Errorf("defaults: %+v", spec)
	}
	bare := &workv1alpha2.ClusterResourceBinding{}
	Scheme.Default(bare)
	if bare.Spec.Placement != nil || bare.Spec.Failover != nil || bare.Spec.ConflictResolution != "Abort" {
		t.Errorf("defaults of an empty binding: %+v", bare.Spec)
	}
}

func statusStrategyOf[T, S, U any](main strategy[T, S, U]) statusStrategy[T, S, U] {
	return statusStrategy[T, S, U]{main}
}

func withConditions(work *workv1alpha1.Work, conditions ...metav1.Condition) *workv1alpha1.Work {
	work.Status.Conditions = conditions
	return work
}

func TestValidateWorksAndBindings(t *testing.T) {
	good := metav1.Condition{Type: "Applied", Status: "True", Reason: "AppliedSuccessful", LastTransitionTime: metav1.NewTime(noon)}
	object := manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	works, bindings := newStrategy(workKind()), newStrategy(resourceBindingKind())
	workStatus := statusStrategyOf(works)
	bindingStatus := statusStrategyOf(bindings)
	binding := func(change func(*workv1alpha2.ResourceBinding)) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "web-deployment"}, Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, ConflictResolution: "Abort"}}
		change(b)
		return b
	}
	named := func(name string) runtime.Object { w := exampleWork(object); w.Name = name; return w }
	for name, test := range map[string]struct {
		rules interface {
			Validate(context.Context, runtime.Object) field.ErrorList
			ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList
		}
		obj runtime.Object
		at  string
	}{
		"work":                  {works, exampleWork(object), ""},
		"empty work":            {works, exampleWork(), ""},
		"work name":             {works, named("A_b"), "metadata.name"},
		"manifest is no object": {works, exampleWork(object, manifest(`"x"`)), "spec.workload.manifests[1]"},
		"manifest is absent":    {works, exampleWork(workv1alpha1.Manifest{}), "spec.workload.manifests[0]"},
		"manifest without kind": {works, exampleWork(manifest(`{"apiVersion":"v1","metadata":{"name":"a"}}`)), "spec.workload.manifests[0].kind"},
		"manifest without name": {works, exampleWork(manifest(`{"apiVersion":"v1","kind":"ConfigMap"}`)), "spec.workload.manifests[0].metadata.name"},
		"work status":           {workStatus, withConditions(exampleWork(object), good), ""},
		"condition reason":      {workStatus, withConditions(exampleWork(object), metav1.Condition{Type: "Applied", Status: "True", LastTransitionTime: metav1.NewTime(noon)}), "status.conditions[0].reason"},
		"condition twice":       {workStatus, withConditions(exampleWork(object), good, good), "status.conditions[1].type"},
		"binding":               {bindings, binding(func(*workv1alpha2.ResourceBinding) {}), ""},
		"binding without name":  {bindings, binding(func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.Name = "" }), "spec.resource.name"},
		"conflict resolution":   {bindings, binding(func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = "Maybe" }), "spec.conflictResolution"},
		"eviction reason": {bindings, binding(func(b *workv1alpha2.ResourceBinding) {
			b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m1", Producer: "x", Reason: "123456789012345678901234567890123"}}
		}), "spec.gracefulEvictionTasks[0].reason"},
		"static weight": {bindings, binding(func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{WeightPreference: &policyv1alpha1.ClusterPreferences{
				StaticWeightList: []policyv1alpha1.StaticClusterWeight{{}}}}}
		}), "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight"},
		"aggregated health": {bindingStatus, binding(func(b *workv1alpha2.ResourceBinding) {
			b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Health: "Fine"}}
		}), "status.aggregatedStatus[0].health"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := test.rules.ValidateUpdate(context.Background(), test.obj, test.obj)
			if test.at == "metadata.name" {
				errs = test.rules.Validate(context.Background(), test.obj)
			}
			if test.at == "" && len(errs) > 0 {
				t.Fatalf("valid, but got %v", errs)
			}
			if test.at != "" && (len(errs) != 1 || errs[0].Field != test.at) {
				t.Errorf("want one error at %s, got %v", test.at, errs)
			}
		})
	}
}

// A binding is born scheduled, but only the hub itself may say so.
func TestBindingCreate(t *testing.T) {
	for name, kept := range map[string]bool{user.APIServerUser: true, "system:admin": false, "": false} {
		ctx := context.Background()
		if name != "" {
			ctx = request.WithUser(ctx, &user.DefaultInfo{Name: name})
		}
		b := &workv1alpha2.ResourceBinding{Status: workv1alpha2.ResourceBindingStatus{SchedulerObservedGeneration: 1}}
		newStrategy(resourceBindingKind()).PrepareForCreate(ctx, b)
		if got := b.Status.SchedulerObservedGeneration == 1; got != kept || b.Generation != 1 {
			t.Errorf("created by %q: status kept %v, generation %d", name, got, b.Generation)
		}
	}
}
