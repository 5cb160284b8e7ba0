package scheduling_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/scheduling"
)

// option changes a cluster of a test.
type option func(*clusterv1alpha1.Cluster)

func cluster(name string, options ...option) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1, Labels: map[string]string{"name": name}},
		Status: clusterv1alpha1.ClusterStatus{APIEnablements: []clusterv1alpha1.APIEnablement{
			{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}, {Name: "statefulsets", Kind: "StatefulSet"}}},
			{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}}},
		}},
	}
	for _, change := range options {
		change(c)
	}
	return c
}

func inRegion(region string) option {
	return func(c *clusterv1alpha1.Cluster) { c.Spec.Region = region }
}

func inZone(zone string) option {
	return func(c *clusterv1alpha1.Cluster) { c.Spec.Zones = []string{zone} }
}

func labelled(key, value string) option {
	return func(c *clusterv1alpha1.Cluster) { c.Labels[key] = value }
}

func tainted(key string, effect corev1.TaintEffect) option {
	return func(c *clusterv1alpha1.Cluster) {
		c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	}
}

func terminating(c *clusterv1alpha1.Cluster) {
	now := metav1.Now()
	c.DeletionTimestamp = &now
}

// otherDialect makes the cluster the mirror of an OCM member, which does not tell
// what it serves.
func otherDialect(c *clusterv1alpha1.Cluster) {
	c.Annotations, c.Status.APIEnablements = map[string]string{registration.AnnotationOrigin: registration.OriginOCM}, nil
	tainted(registration.TaintOtherDialect, corev1.TaintEffectNoSchedule)(c)
}

// without takes a kind's group out of what the member serves.
func without(groupVersion string) option {
	return func(c *clusterv1alpha1.Cluster) {
		var left []clusterv1alpha1.APIEnablement
		for _, e := range c.Status.APIEnablements {
			if e.GroupVersion != groupVersion {
				left = append(left, e)
			}
		}
		c.Status.APIEnablements = left
	}
}

// room gives the cluster room for a number of pods.
func room(pods int64) option {
	return func(c *clusterv1alpha1.Cluster) {
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
		}}
	}
}

func snapshot(clusters ...*clusterv1alpha1.Cluster) *scheduling.Snapshot {
	return scheduling.NewSnapshot(clusters)
}

// deployment is what a binding of a Deployment asks for. Ties go to the first name.
func deployment(replicas int32, placement *policyv1alpha1.Placement, now ...workv1alpha2.TargetCluster) *workv1alpha2.ResourceBindingSpec {
	return &workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "nginx", UID: "c"},
		Replicas: replicas, Placement: placement, Clusters: now,
	}
}

func configMap(placement *policyv1alpha1.Placement, now ...workv1alpha2.TargetCluster) *workv1alpha2.ResourceBindingSpec {
	return &workv1alpha2.ResourceBindingSpec{
		Resource:  workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "settings", UID: "c"},
		Placement: placement, Clusters: now,
	}
}

func target(name string, replicas int32) workv1alpha2.TargetCluster {
	return workv1alpha2.TargetCluster{Name: name, Replicas: replicas}
}

func names(list ...string) *policyv1alpha1.ClusterAffinity {
	return &policyv1alpha1.ClusterAffinity{ClusterNames: list}
}

func duplicated() *policyv1alpha1.ReplicaSchedulingStrategy {
	return &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDuplicated}
}

func aggregated() *policyv1alpha1.ReplicaSchedulingStrategy {
	return &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceAggregated,
	}
}

func dynamic() *policyv1alpha1.ReplicaSchedulingStrategy {
	s := static()
	s.WeightPreference = &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
	return s
}

// static divides by weights, given as "member1=1 member2=3".
func static(weights ...string) *policyv1alpha1.ReplicaSchedulingStrategy {
	s := &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
	}
	for _, weight := range weights {
		name, number, _ := strings.Cut(weight, "=")
		rule := policyv1alpha1.StaticClusterWeight{TargetCluster: *names(name)}
		if _, err := fmt.Sscan(number, &rule.Weight); err != nil {
			panic(err)
		}
		if s.WeightPreference == nil {
			s.WeightPreference = &policyv1alpha1.ClusterPreferences{}
		}
		s.WeightPreference.StaticWeightList = append(s.WeightPreference.StaticWeightList, rule)
	}
	return s
}

func spreadBy(field policyv1alpha1.SpreadFieldValue, least, most int) policyv1alpha1.SpreadConstraint {
	return policyv1alpha1.SpreadConstraint{SpreadByField: field, MinGroups: least, MaxGroups: most}
}

// result is a decision in the form of an Event: "member1:1 member2:1", or the
// failure's reason and message.
func result(d scheduling.Decision) string {
	if d.Failure != nil {
		return d.Failure.Reason + ": " + d.Failure.Message
	}
	parts := make([]string, 0, len(d.Clusters))
	for _, c := range d.Clusters {
		if c.Replicas == 0 {
			parts = append(parts, c.Name)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s:%d", c.Name, c.Replicas))
	}
	return strings.Join(parts, " ")
}

func why(d scheduling.Decision, name string) string {
	for _, e := range d.Excluded {
		if e.Cluster == name {
			return e.Filter + ": " + e.Reason
		}
	}
	return ""
}

// complete fails unless every cluster is chosen or excluded, and none both.
func complete(t *testing.T, d scheduling.Decision, s *scheduling.Snapshot) {
	t.Helper()
	seen := map[string]int{}
	for _, c := range d.Clusters {
		seen[c.Name]++
	}
	for _, e := range d.Excluded {
		if e.Filter == "" || e.Reason == "" {
			t.Errorf("%s is excluded without a reason: %+v", e.Cluster, e)
		}
		seen[e.Cluster]++
	}
	for _, c := range s.Clusters() {
		if _, fits := d.Available[c.Name]; d.Failure != nil && fits {
			continue
		}
		if seen[c.Name] != 1 {
			t.Errorf("%s is told about %d times", c.Name, seen[c.Name])
		}
	}
}

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
