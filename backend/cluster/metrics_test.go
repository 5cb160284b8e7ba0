package cluster_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/kube"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	ready := []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue}}
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(
		&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Status: clusterv1alpha1.ClusterStatus{
			Conditions: ready, NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 2},
			ResourceSummary: &clusterv1alpha1.ResourceSummary{
				Allocatable: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
				Allocated:   corev1.ResourceList{"pods": resource.MustParse("7")},
			},
		}},
		&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, // joining: nothing but its state is known
	).Build()
	want := `
# HELP cluster_cpu_allocatable_number CPU that the cluster's nodes offer, in cores.
# TYPE cluster_cpu_allocatable_number gauge
cluster_cpu_allocatable_number{member_cluster="m1"} 1.5
# HELP cluster_memory_allocatable_bytes Memory that the cluster's nodes offer, in bytes.
# TYPE cluster_memory_allocatable_bytes gauge
cluster_memory_allocatable_bytes{member_cluster="m1"} 1.073741824e+09
# HELP cluster_pod_allocated_number Pods on the cluster's nodes.
# TYPE cluster_pod_allocated_number gauge
cluster_pod_allocated_number{member_cluster="m1"} 7
# HELP cluster_ready_node_number Ready nodes of the cluster.
# TYPE cluster_ready_node_number gauge
cluster_ready_node_number{member_cluster="m1"} 2
# HELP cluster_ready_state Whether the cluster is ready: 1 or 0.
# TYPE cluster_ready_state gauge
cluster_ready_state{member_cluster="m1"} 1
cluster_ready_state{member_cluster="m2"} 0
# HELP karmada_cluster_ready_state Whether the cluster is ready: 1 or 0.
# TYPE karmada_cluster_ready_state gauge
karmada_cluster_ready_state{member_cluster="m1"} 1
karmada_cluster_ready_state{member_cluster="m2"} 0
`
	names := []string{"cluster_cpu_allocatable_number", "cluster_memory_allocatable_bytes", "cluster_pod_allocated_number",
		"cluster_ready_node_number", "cluster_ready_state", "karmada_cluster_ready_state"}
	if err := testutil.CollectAndCompare(cluster.NewMetrics(hub), strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
