package registry

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// clusterKind holds the rules of contract sections 1.1 and 1.2. There is no rule for the status: members report what they like about
// themselves. now stamps taints.
func clusterKind(now func() time.Time) kind[clusterv1alpha1.Cluster, clusterv1alpha1.ClusterSpec, clusterv1alpha1.ClusterStatus] {
	return kind[clusterv1alpha1.Cluster, clusterv1alpha1.ClusterSpec, clusterv1alpha1.ClusterStatus]{
		groupVersion:  clusterv1alpha1.GroupVersion,
		unconditional: true,
		parts: func(c *clusterv1alpha1.Cluster) (*metav1.ObjectMeta, *clusterv1alpha1.ClusterSpec, *clusterv1alpha1.ClusterStatus) {
			return &c.ObjectMeta, &c.Spec, &c.Status
		},
		prepare:      prepareCluster,
		validateName: validateClusterName,
		validateSpec: validateClusterSpec,
		canonicalize: func(c *clusterv1alpha1.Cluster) { canonicalizeCluster(c, now) },
	}
}

// prepareCluster fills in the default resource models on creation only: who empties them later means it.
func prepareCluster(cluster, old *clusterv1alpha1.Cluster) {
	switch {
	case len(cluster.Spec.ResourceModels) > 0:
		standardizeModels(cluster.Spec.ResourceModels)
	case old == nil:
		cluster.Spec.ResourceModels = defaultModels()
	}
	if old != nil {
		keepTaintTimes(cluster.Spec.Taints, old.Spec.Taints)
	}
}

// keepTaintTimes copies timeAdded from the stored taints to the same taints that came without it, so that a client which writes the
// whole list does not restart their clocks.
func keepTaintTimes(taints, old []corev1.Taint) {
	for i := range taints {
		for j := range old {
			if taints[i].TimeAdded == nil && taints[i].MatchTaint(&old[j]) && taints[i].Value == old[j].Value {
				taints[i].TimeAdded = old[j].TimeAdded
			}
		}
	}
}

// canonicalizeCluster stamps NoExecute taints and moves the former zone field to zones.
func canonicalizeCluster(cluster *clusterv1alpha1.Cluster, now func() time.Time) {
	for i := range cluster.Spec.Taints {
		taint := &cluster.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectNoExecute && taint.TimeAdded == nil {
			stamp := metav1.NewTime(now())
			taint.TimeAdded = &stamp
		}
	}
	if cluster.Spec.Zone != "" && len(cluster.Spec.Zones) == 0 {
		cluster.Spec.Zones = []string{cluster.Spec.Zone}
		cluster.Spec.Zone = ""
	}
}

// standardizeModels sorts the models and opens the first and the last grade to the ends of the scale.
func standardizeModels(models []clusterv1alpha1.ResourceModel) {
	slices.SortStableFunc(models, func(a, b clusterv1alpha1.ResourceModel) int {
		switch {
		case a.Grade < b.Grade:
			return -1
		case a.Grade > b.Grade:
			return 1
		}
		return 0
	})
	first, last := models[0].Ranges, models[len(models)-1].Ranges
	for i := range first {
		first[i].Min.Set(0)
	}
	for i := range last {
		last[i].Max.Set(math.MaxInt64)
	}
}

const gibibyte = 1 << 30

// defaultModels returns the nine grades of contract section 2.1.1: cores and gibibytes double from grade to grade.
func defaultModels() []clusterv1alpha1.ResourceModel {
	cores := []int64{0, 1, 2, 4, 8, 16, 32, 64, 128, math.MaxInt64}
	memory := []int64{0, 4, 16, 32, 64, 128, 256, 512, 1024}
	bytes := func(i int) resource.Quantity {
		if i == len(memory) {
			return *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
		}
		return *resource.NewQuantity(memory[i]*gibibyte, resource.BinarySI)
	}
	models := make([]clusterv1alpha1.ResourceModel, 0, len(memory))
	for i := range memory {
		models = append(models, clusterv1alpha1.ResourceModel{Grade: uint(i), Ranges: []clusterv1alpha1.ResourceModelRange{
			{Name: corev1.ResourceCPU, Min: *resource.NewQuantity(cores[i], resource.DecimalSI), Max: *resource.NewQuantity(cores[i+1], resource.DecimalSI)},
			{Name: corev1.ResourceMemory, Min: bytes(i), Max: bytes(i + 1)},
		}})
	}
	return models
}
