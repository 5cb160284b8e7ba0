package cluster

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// gauge is one figure of a cluster (contract section 14).
type gauge struct {
	name, help string
	value      func(c *clusterv1alpha1.Cluster) (float64, bool)
}

var gauges = []gauge{
	{"cluster_ready_state", "Whether the cluster is ready: 1 or 0.", func(c *clusterv1alpha1.Cluster) (float64, bool) {
		if meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
			return 1, true
		}
		return 0, true
	}},
	{"cluster_node_number", "Nodes of the cluster.", nodes(func(s *clusterv1alpha1.NodeSummary) int32 { return s.TotalNum })},
	{"cluster_ready_node_number", "Ready nodes of the cluster.", nodes(func(s *clusterv1alpha1.NodeSummary) int32 { return s.ReadyNum })},
	{"cluster_memory_allocatable_bytes", "Memory that the cluster's nodes offer, in bytes.", amount(allocatable, corev1.ResourceMemory)},
	{"cluster_cpu_allocatable_number", "CPU that the cluster's nodes offer, in cores.", amount(allocatable, corev1.ResourceCPU)},
	{"cluster_pod_allocatable_number", "Pods that the cluster's nodes take.", amount(allocatable, corev1.ResourcePods)},
	{"cluster_memory_allocated_bytes", "Memory that pods on the cluster's nodes ask for, in bytes.", amount(allocated, corev1.ResourceMemory)},
	{"cluster_cpu_allocated_number", "CPU that pods on the cluster's nodes ask for, in cores.", amount(allocated, corev1.ResourceCPU)},
	{"cluster_pod_allocated_number", "Pods on the cluster's nodes.", amount(allocated, corev1.ResourcePods)},
}

// namePrefixes are the spellings under which dashboards look for the figures:
// as the field's code emits them, and as its documentation names them.
var namePrefixes = []string{"", "karmada_"}

func nodes(count func(*clusterv1alpha1.NodeSummary) int32) func(*clusterv1alpha1.Cluster) (float64, bool) {
	return func(c *clusterv1alpha1.Cluster) (float64, bool) {
		if c.Status.NodeSummary == nil {
			return 0, false
		}
		return float64(count(c.Status.NodeSummary)), true
	}
}

func allocatable(s *clusterv1alpha1.ResourceSummary) corev1.ResourceList { return s.Allocatable }
func allocated(s *clusterv1alpha1.ResourceSummary) corev1.ResourceList   { return s.Allocated }

func amount(list func(*clusterv1alpha1.ResourceSummary) corev1.ResourceList, name corev1.ResourceName) func(*clusterv1alpha1.Cluster) (float64, bool) {
	return func(c *clusterv1alpha1.Cluster) (float64, bool) {
		if c.Status.ResourceSummary == nil {
			return 0, false
		}
		quantity := list(c.Status.ResourceSummary)[name]
		return quantity.AsApproximateFloat64(), true
	}
}

// Metrics tells the figures of all clusters as they are when somebody asks:
// nothing is kept, so that those of a cluster go with it.
type Metrics struct {
	clusters     client.Reader
	descriptions [][]*prometheus.Desc // by gauge, then by prefix
}

// NewMetrics returns the figures of the clusters that a cache holds.
func NewMetrics(clusters client.Reader) *Metrics {
	m := &Metrics{clusters: clusters}
	for _, g := range gauges {
		var spellings []*prometheus.Desc
		for _, prefix := range namePrefixes {
			spellings = append(spellings, prometheus.NewDesc(prefix+g.name, g.help, []string{"member_cluster"}, nil))
		}
		m.descriptions = append(m.descriptions, spellings)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, spellings := range m.descriptions {
		for _, description := range spellings {
			out <- description
		}
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	var list clusterv1alpha1.ClusterList
	if err := m.clusters.List(context.Background(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return // the cache is not filled yet
	}
	for i := range list.Items {
		for g := range gauges {
			value, known := gauges[g].value(&list.Items[i])
			if !known {
				continue
			}
			for _, description := range m.descriptions[g] {
				out <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, list.Items[i].Name)
			}
		}
	}
}
