package relay_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/relay"
)

const (
	member = "edge-1"
	web    = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","annotations":{"resourcetemplate.karmada.io/generation":"3"}},"spec":{"replicas":2}}`
)

// startRelay starts a hub with the controller and a member of the other dialect.
func startRelay(t *testing.T) *kubetest.Hub {
	t.Helper()
	hub := kubetest.StartHub(t)
	data, err := os.ReadFile("../../deploy/crds/ocm-hub/work.open-cluster-management.io_manifestworks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, definition); err != nil {
		t.Fatal(err)
	}
	hub.Create(t, definition)
	hub.Await(t, "works are served", func(ctx context.Context) bool { return hub.Client.List(ctx, &ocmworkv1.ManifestWorkList{}) == nil })
	for _, namespace := range []string{member, apis.ExecutionSpace(member), apis.ExecutionSpace("member1")} {
		hub.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	hub.Create(t, &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: member, Annotations: map[string]string{registration.AnnotationOrigin: registration.OriginOCM}},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
	})
	hub.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push}})
	manager, err := kube.NewManager(hub.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := relay.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	hub.Run(t, manager)
	return hub
}

func newWork(cluster, name, manifest string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: apis.ExecutionSpace(cluster), Name: name, Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}}}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{}}
	work.Spec.Workload.Manifests[0].Raw = []byte(manifest)
	return work
}

// TestRelay uses one API server for all that follows.
func TestRelay(t *testing.T) {
	t.Parallel()
	hub := startRelay(t)
	t.Run("life of a Work", func(t *testing.T) { testLife(t, hub) })
	t.Run("refusals", func(t *testing.T) { testRefusals(t, hub) })
	t.Run("orphans", func(t *testing.T) { testOrphans(t, hub) })
}

func testLife(t *testing.T, hub *kubetest.Hub) {
	work := newWork(member, "web", web)
	hub.Create(t, newWork("member1", "web", web)) // of a Karmada member: not ours
	hub.Create(t, work)
	carrier := &ocmworkv1.ManifestWork{}
	key := client.ObjectKey{Namespace: member, Name: "web"}
	hub.Await(t, "the work to be carried", func(ctx context.Context) bool { return hub.Client.Get(ctx, key, carrier) == nil })
	if len(carrier.Spec.Workload.Manifests) != 2 || carrier.Spec.DeleteOption.PropagationPolicy != ocmworkv1.DeleteSelectivelyOrphan ||
		carrier.Spec.ManifestConfigs[1].UpdateStrategy.Type != ocmworkv1.UpdateStrategyServerSideApply || carrier.Spec.ManifestConfigs[1].ResourceIdentifier.Resource != "deployments" {
		t.Errorf("the carrier is %+v", carrier.Spec)
	}
	say(t, hub, carrier, metav1.ConditionTrue, 1)
	awaitStatus(t, hub, work, "half of it runs", metav1.ConditionTrue, workv1alpha1.ResourceUnhealthy)
	say(t, hub, carrier, metav1.ConditionTrue, 2)
	awaitStatus(t, hub, work, "all of it runs", metav1.ConditionTrue, workv1alpha1.ResourceHealthy)
	var told map[string]any
	if err := json.Unmarshal(work.Status.ManifestStatuses[0].Status.Raw, &told); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"replicas": 2.0, "updatedReplicas": 2.0, "availableReplicas": 2.0, "observedGeneration": 1.0, "generation": 1.0, "resourceTemplateGeneration": 3.0}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	say(t, hub, carrier, metav1.ConditionFalse, 2)
	awaitStatus(t, hub, work, "trouble", metav1.ConditionFalse, workv1alpha1.ResourceHealthy)

	carrier.Finalizers = []string{ocmworkv1.ManifestWorkFinalizer} // as the agent does
	if err := hub.Client.Update(t.Context(), carrier); err != nil {
		t.Fatal(err)
	}
	if err := hub.Client.Delete(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	hub.Await(t, "the carrier to be withdrawn", func(ctx context.Context) bool {
		return hub.Client.Get(ctx, key, carrier) == nil && carrier.DeletionTimestamp != nil
	})
	if hub.Gone(t.Context(), client.ObjectKeyFromObject(work), &workv1alpha1.Work{}) {
		t.Error("the Work went before the member was cleaned")
	}
	carrier.Finalizers = nil
	if err := hub.Client.Update(t.Context(), carrier); err != nil {
		t.Fatal(err)
	}
	hub.Await(t, "the Work to go", func(ctx context.Context) bool {
		return hub.Gone(ctx, client.ObjectKeyFromObject(work), &workv1alpha1.Work{})
	})
	if !hub.Gone(t.Context(), client.ObjectKey{Namespace: "member1", Name: "web"}, &ocmworkv1.ManifestWork{}) {
		t.Error("the Work of a Karmada member was carried")
	}
}

// say reports as an agent would.
func say(t *testing.T, hub *kubetest.Hub, carrier *ocmworkv1.ManifestWork, applied metav1.ConditionStatus, running int64) {
	t.Helper()
	if err := hub.Client.Get(t.Context(), client.ObjectKeyFromObject(carrier), carrier); err != nil {
		t.Fatal(err)
	}
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Said", Message: "said", ObservedGeneration: carrier.Generation, LastTransitionTime: metav1.Now()}
	}
	text := "3"
	value := func(name string, n int64) ocmworkv1.FeedbackValue {
		return ocmworkv1.FeedbackValue{Name: name, Value: ocmworkv1.FieldValue{Type: ocmworkv1.ValueInteger, Integer: ptr.To(n)}}
	}
	carrier.Status.Conditions = nil
	meta.SetStatusCondition(&carrier.Status.Conditions, condition(ocmworkv1.ConditionApplied, applied))
	carrier.Status.ResourceStatus.Manifests = []ocmworkv1.ManifestCondition{
		{ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: 0, Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "shop"}, Conditions: []metav1.Condition{condition(ocmworkv1.ConditionApplied, metav1.ConditionTrue)}},
		{
			ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: 1, Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "web"},
			Conditions:   []metav1.Condition{condition(ocmworkv1.ConditionApplied, applied), condition(ocmworkv1.ConditionAvailable, metav1.ConditionTrue)},
			StatusFeedbacks: ocmworkv1.StatusFeedbackResult{Values: []ocmworkv1.FeedbackValue{
				value("replicas", 2), value("updatedReplicas", 2), value("availableReplicas", running), value("observedGeneration", 1), value("generation", 1),
				{Name: "resourceTemplateGeneration", Value: ocmworkv1.FieldValue{Type: ocmworkv1.ValueString, String: &text}},
			}},
		},
	}
	if err := hub.Client.Status().Update(t.Context(), carrier); err != nil {
		t.Fatal(err)
	}
}

func awaitStatus(t *testing.T, hub *kubetest.Hub, work *workv1alpha1.Work, what string, applied metav1.ConditionStatus, health workv1alpha1.ResourceHealth) {
	t.Helper()
	hub.Await(t, what, func(ctx context.Context) bool {
		return hub.Client.Get(ctx, client.ObjectKeyFromObject(work), work) == nil && meta.IsStatusConditionPresentAndEqual(work.Status.Conditions, workv1alpha1.WorkApplied, applied) &&
			len(work.Status.ManifestStatuses) == 1 && work.Status.ManifestStatuses[0].Health == health
	})
}

func testRefusals(t *testing.T, hub *kubetest.Hub) {
	foreign := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: member, Name: "taken"}}
	foreign.Spec.Workload.Manifests = []ocmworkv1.Manifest{{}}
	foreign.Spec.Workload.Manifests[0].Raw = []byte(web)
	hub.Create(t, foreign)
	large := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop"},"data":{"a":"` + strings.Repeat("a", 500<<10) + `"}}`
	for name, test := range map[string]struct{ manifest, why string }{
		"taken":   {web, "was not made for this Work"},
		"unknown": {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`, "Widget"},
		"large":   {large, "bytes, and 512000 are the limit of a ManifestWork: split it"},
	} {
		work := newWork(member, name, test.manifest)
		hub.Create(t, work)
		hub.Await(t, "word of why "+name+" is not carried", func(ctx context.Context) bool {
			return hub.Client.Get(ctx, client.ObjectKeyFromObject(work), work) == nil && meta.IsStatusConditionFalse(work.Status.Conditions, workv1alpha1.WorkApplied)
		})
		if said := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied).Message; !strings.Contains(said, test.why) {
			t.Errorf("%s is refused with %q, which does not say %q", name, said, test.why)
		}
	}
	if err := hub.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.Labels[relay.LabelRelayed] != "" {
		t.Errorf("somebody else's work: %v, %+v", err, foreign.Labels)
	}
}

// testOrphans lets go of objects that are to stay, and holds back what is suspended.
func testOrphans(t *testing.T, hub *kubetest.Hub) {
	kept, held := newWork(member, "kept", web), newWork(member, "held", web)
	kept.Spec.PreserveResourcesOnDeletion, held.Spec.SuspendDispatching = ptr.To(true), ptr.To(true)
	hub.Create(t, kept)
	hub.Create(t, held)
	carrier := &ocmworkv1.ManifestWork{}
	hub.Await(t, "the work whose objects stay", func(ctx context.Context) bool {
		return hub.Client.Get(ctx, client.ObjectKey{Namespace: member, Name: "kept"}, carrier) == nil
	})
	if carrier.Spec.DeleteOption.PropagationPolicy != ocmworkv1.DeleteOrphan {
		t.Errorf("its objects go: %+v", carrier.Spec.DeleteOption)
	}
	hub.Await(t, "word of what is held back", func(ctx context.Context) bool {
		return hub.Client.Get(ctx, client.ObjectKeyFromObject(held), held) == nil && meta.IsStatusConditionFalse(held.Status.Conditions, workv1alpha1.WorkDispatching)
	})
	if !hub.Gone(t.Context(), client.ObjectKey{Namespace: member, Name: "held"}, &ocmworkv1.ManifestWork{}) {
		t.Error("a suspended Work was carried")
	}
}
