package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// APIEnablements turns discovery's answer into the list a status carries:
// without subresources, group versions and resources sorted.
func APIEnablements(lists []*metav1.APIResourceList) []clusterv1alpha1.APIEnablement {
	enablements := make([]clusterv1alpha1.APIEnablement, 0, len(lists))
	for _, list := range lists {
		if list == nil {
			continue
		}
		var resources []clusterv1alpha1.APIResource
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				resources = append(resources, clusterv1alpha1.APIResource{Name: r.Name, Kind: r.Kind})
			}
		}
		slices.SortFunc(resources, func(a, b clusterv1alpha1.APIResource) int { return strings.Compare(a.Name, b.Name) })
		enablements = append(enablements, clusterv1alpha1.APIEnablement{GroupVersion: list.GroupVersion, Resources: resources})
	}
	slices.SortFunc(enablements, func(a, b clusterv1alpha1.APIEnablement) int {
		return strings.Compare(a.GroupVersion, b.GroupVersion)
	})
	return enablements
}

// CompleteCondition judges one discovery: complete, partial (an error with some
// result) or empty.
func CompleteCondition(enablements []clusterv1alpha1.APIEnablement, err error) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.ClusterConditionCompleteAPIEnablements, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonAPIEnablementsComplete,
		Message: "All API groups of the cluster answered."}
	switch {
	case len(enablements) == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, clusterv1alpha1.ReasonAPIEnablementsEmpty, "The cluster's API list could not be read."
	case err != nil:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonAPIEnablementsPartial
		c.Message = "Some API groups do not answer: " + strings.Join(failedGroups(err), ", ") + "."
	}
	return c
}

// NodeSummary counts nodes.
func NodeSummary(nodes []*corev1.Node) *clusterv1alpha1.NodeSummary {
	s := &clusterv1alpha1.NodeSummary{TotalNum: int32(len(nodes))}
	for _, n := range nodes {
		if nodeReady(n) {
			s.ReadyNum++
		}
	}
	return s
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ResourceSummary sums what nodes offer and pods ask for. Allocating counts pods
// that no node has yet, allocated those that one has; pods that have ended count
// as neither.
func ResourceSummary(nodes []*corev1.Node, pods []*corev1.Pod, models []clusterv1alpha1.ResourceModel) *clusterv1alpha1.ResourceSummary {
	s := &clusterv1alpha1.ResourceSummary{}
	for _, n := range nodes {
		s.Allocatable = add(s.Allocatable, n.Status.Allocatable)
	}
	byNode := make(map[string]corev1.ResourceList, len(nodes))
	for _, p := range pods {
		if ended(p) {
			continue
		}
		requests := add(Requests(p), onePod)
		if p.Spec.NodeName == "" {
			s.Allocating = add(s.Allocating, requests)
			continue
		}
		s.Allocated = add(s.Allocated, requests)
		byNode[p.Spec.NodeName] = add(byNode[p.Spec.NodeName], requests)
	}
	s.AllocatableModelings = Modelings(nodes, byNode, models)
	return s
}

// Modelings counts nodes by grade: what a node has left, measured against the
// models' lower bounds. A node belongs to the highest grade whose bounds it
// reaches in every resource. Nodes without a free pod slot count nowhere. The
// requests include the resource "pods".
func Modelings(nodes []*corev1.Node, requests map[string]corev1.ResourceList, models []clusterv1alpha1.ResourceModel) []clusterv1alpha1.AllocatableModeling {
	if len(models) == 0 {
		return nil
	}
	counts := make([]clusterv1alpha1.AllocatableModeling, len(models))
	for i, m := range models {
		counts[i].Grade = m.Grade
	}
	for _, n := range nodes {
		left := subtract(n.Status.Allocatable, requests[n.Name])
		if slots := left[corev1.ResourcePods]; slots.Sign() <= 0 {
			continue
		}
		if i := grade(left, models); i >= 0 {
			counts[i].Count++
		}
	}
	return counts
}

// grade returns the index of the highest model whose lower bounds are all
// reached, -1 if none is.
func grade(left corev1.ResourceList, models []clusterv1alpha1.ResourceModel) int {
	for i := len(models) - 1; i >= 0; i-- {
		if reaches(left, models[i].Ranges) {
			return i
		}
	}
	return -1
}

func reaches(left corev1.ResourceList, ranges []clusterv1alpha1.ResourceModelRange) bool {
	for _, r := range ranges {
		if value := left[r.Name]; value.Cmp(r.Min) < 0 {
			return false
		}
	}
	return true
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

var onePod = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}

// add adds b to a in place, making a if it is nil.
func add(a, b corev1.ResourceList) corev1.ResourceList {
	if a == nil && len(b) > 0 {
		a = make(corev1.ResourceList, len(b))
	}
	for name, value := range b {
		sum, ok := a[name]
		if !ok {
			a[name] = value.DeepCopy()
			continue
		}
		sum.Add(value)
		a[name] = sum
	}
	return a
}

func subtract(a, b corev1.ResourceList) corev1.ResourceList {
	left := make(corev1.ResourceList, len(a))
	for name, value := range a {
		left[name] = value.DeepCopy()
	}
	for name, value := range b {
		if rest, ok := left[name]; ok {
			rest.Sub(value)
			left[name] = rest
		}
	}
	return left
}
