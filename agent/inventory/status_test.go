package inventory_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"muster.dev/muster/agent/inventory"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func node(name string, ready corev1.ConditionStatus, allocatable corev1.ResourceList) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: allocatable}}
	if ready != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	}
	return n
}

func pod(node string, phase corev1.PodPhase, requests ...corev1.ResourceList) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	for _, r := range requests {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: r}})
	}
	return p
}

func models() []clusterv1alpha1.ResourceModel {
	bounds := func(grade uint, cpuMin, cpuMax, memoryMin, memoryMax string) clusterv1alpha1.ResourceModel {
		return clusterv1alpha1.ResourceModel{Grade: grade, Ranges: []clusterv1alpha1.ResourceModelRange{
			{Name: "cpu", Min: resource.MustParse(cpuMin), Max: resource.MustParse(cpuMax)},
			{Name: "memory", Min: resource.MustParse(memoryMin), Max: resource.MustParse(memoryMax)}}}
	}
	return []clusterv1alpha1.ResourceModel{
		bounds(0, "0", "1", "0", "4Gi"), bounds(1, "1", "2", "4Gi", "16Gi"),
		bounds(2, "2", "4", "16Gi", "32Gi"), bounds(3, "4", "64", "32Gi", "1Ti"),
	}
}

func counts(perGrade ...int) []clusterv1alpha1.AllocatableModeling {
	var m []clusterv1alpha1.AllocatableModeling
	for grade, count := range perGrade {
		m = append(m, clusterv1alpha1.AllocatableModeling{Grade: uint(grade), Count: count})
	}
	return m
}

func TestAPIEnablements(t *testing.T) {
	got := inventory.APIEnablements([]*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}, {Name: "pods/log", Kind: "Pod"}, {Name: "configmaps", Kind: "ConfigMap"}}},
		nil,
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}, {Name: "deployments/scale", Kind: "Scale"}}},
		{GroupVersion: "authentication.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "tokenreviews", Kind: "TokenReview"}}},
	})
	want := []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
		{GroupVersion: "authentication.k8s.io/v1", Resources: []clusterv1alpha1.APIResource{{Name: "tokenreviews", Kind: "TokenReview"}}},
		{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}, {Name: "pods", Kind: "Pod"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompleteCondition(t *testing.T) {
	some := []clusterv1alpha1.APIEnablement{{GroupVersion: "v1"}}
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("503"), {Group: "a.io", Version: "v1"}: errors.New("503")}}
	for _, c := range []struct {
		name    string
		list    []clusterv1alpha1.APIEnablement
		err     error
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"complete", some, nil, "True", "Complete", "All API groups of the cluster answered."},
		{"partial", some, failed, "False", "Partial", "Some API groups do not answer: a.io/v1, metrics.k8s.io/v1beta1."},
		{"empty", nil, errors.New("refused"), "False", "Empty", "The cluster's API list could not be read."},
		{"nothing at all", nil, nil, "False", "Empty", "The cluster's API list could not be read."},
	} {
		got := inventory.CompleteCondition(c.list, c.err)
		if got.Type != "CompleteAPIEnablements" || got.Status != c.status || got.Reason != c.reason || got.Message != c.message {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
}

func TestNodeSummary(t *testing.T) {
	got := inventory.NodeSummary([]*corev1.Node{node("a", "True", nil), node("b", "False", nil), node("c", "Unknown", nil), node("d", "", nil)})
	if got.TotalNum != 4 || got.ReadyNum != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestResourceSummary(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []*corev1.Node
		pods  []*corev1.Pod
		want  clusterv1alpha1.ResourceSummary
	}{
		{name: "nothing", want: clusterv1alpha1.ResourceSummary{AllocatableModelings: counts(0, 0, 0, 0)}},
		{
			name:  "the recorded member: 4 cores and 16Gi are grade 2 by memory",
			nodes: []*corev1.Node{node("n", "True", list("cpu", "4", "memory", "16Gi", "ephemeral-storage", "100Gi", "pods", "110"))},
			pods:  []*corev1.Pod{pod("n", "Running", nil)},
			want: clusterv1alpha1.ResourceSummary{
				Allocatable:          list("cpu", "4", "memory", "16Gi", "ephemeral-storage", "100Gi", "pods", "110"),
				Allocated:            list("pods", "1"),
				AllocatableModelings: counts(0, 0, 1, 0)},
		},
		{
			name: "pods by phase and node; nodes not ready count too",
			nodes: []*corev1.Node{
				node("a", "True", list("cpu", "8", "memory", "64Gi", "pods", "10")),
				node("b", "False", list("cpu", "2", "memory", "8Gi", "pods", "10"))},
			pods: []*corev1.Pod{
				pod("a", "Running", list("cpu", "1", "memory", "1Gi"), list("cpu", "500m")),
				pod("a", "Succeeded", list("cpu", "7")),
				pod("a", "Failed", list("cpu", "7")),
				pod("b", "Pending", list("cpu", "1500m", "example.com/gpu", "1")),
				pod("", "Pending", list("cpu", "3", "memory", "2Gi")),
				pod("", "Failed", list("cpu", "9")),
			},
			want: clusterv1alpha1.ResourceSummary{
				Allocatable: list("cpu", "10", "memory", "72Gi", "pods", "20"),
				Allocating:  list("cpu", "3", "memory", "2Gi", "pods", "1"),
				Allocated:   list("cpu", "3", "memory", "1Gi", "example.com/gpu", "1", "pods", "2"),
				// a has 6.5 cores and 63Gi left: grade 3. b has 0.5 and 8Gi: grade 0.
				AllocatableModelings: counts(1, 0, 0, 1)},
		},
		{
			name: "a node without a free slot counts nowhere, the next one does",
			nodes: []*corev1.Node{
				node("full", "True", list("cpu", "8", "memory", "64Gi", "pods", "1")),
				node("free", "True", list("cpu", "1", "memory", "4Gi", "pods", "1"))},
			pods: []*corev1.Pod{pod("full", "Running")},
			want: clusterv1alpha1.ResourceSummary{
				Allocatable: list("cpu", "9", "memory", "68Gi", "pods", "2"), Allocated: list("pods", "1"),
				AllocatableModelings: counts(0, 1, 0, 0)},
		},
		{
			name:  "overcommitted",
			nodes: []*corev1.Node{node("n", "True", list("cpu", "1", "memory", "4Gi", "pods", "5"))},
			pods:  []*corev1.Pod{pod("n", "Running", list("cpu", "2"))},
			want: clusterv1alpha1.ResourceSummary{
				Allocatable: list("cpu", "1", "memory", "4Gi", "pods", "5"), Allocated: list("cpu", "2", "pods", "1"),
				AllocatableModelings: counts(0, 0, 0, 0)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := inventory.ResourceSummary(c.nodes, c.pods, models())
			if !equality.Semantic.DeepEqual(*got, c.want) {
				t.Error(cmp.Diff(c.want, *got))
			}
		})
	}
}

func TestRequestsCountSidecarsAndOverhead(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := pod("", "Pending", list("cpu", "1"))
	p.Spec.Overhead = list("cpu", "100m")
	p.Spec.InitContainers = []corev1.Container{
		{Resources: corev1.ResourceRequirements{Requests: list("cpu", "500m")}, RestartPolicy: &always},
		{Resources: corev1.ResourceRequirements{Requests: list("cpu", "1200m")}},
	}
	got := inventory.Requests(p)
	if want := list("cpu", "1800m"); !equality.Semantic.DeepEqual(got, want) { // max(1+0.5, 0.5+1.2) + 0.1
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadyCondition(t *testing.T) {
	for _, c := range []struct {
		code   int
		err    error
		status metav1.ConditionStatus
		reason string
	}{
		{200, nil, "True", "ClusterReady"},
		{500, errors.New("x"), "False", "ClusterNotReady"},
		{401, errors.New("x"), "False", "ClusterNotReady"},
		{0, errors.New("dial tcp: connection refused"), "False", "ClusterNotReachable"},
		{0, nil, "False", "ClusterNotReachable"},
	} {
		got := inventory.ReadyCondition(c.code, c.err)
		if got.Type != "Ready" || got.Status != c.status || got.Reason != c.reason || got.Message == "" {
			t.Errorf("%d, %v: got %+v", c.code, c.err, got)
		}
	}
}
