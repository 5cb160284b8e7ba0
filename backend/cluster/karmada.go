package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// systemTaints are set by the hub alone; a change of taints leaves them.
var systemTaints = []string{clusterv1alpha1.TaintClusterNotReady, clusterv1alpha1.TaintClusterUnreachable}

// fromObject is a Cluster object as a row.
func fromObject(object *clusterv1alpha1.Cluster) Cluster {
	row := Cluster{
		Name: object.Name, ID: object.Spec.ID, Mode: string(object.Spec.SyncMode), Dialect: registration.OriginKarmada, Agent: agentOf(object),
		Version: registration.PlainText(object.Status.KubernetesVersion), Provider: object.Spec.Provider, Region: object.Spec.Region, Zones: zonesOf(object),
		APIEndpoint: object.Spec.APIEndpoint, ProxyURL: reach.RedactURL(object.Spec.ProxyURL), Labels: maps.Clone(object.Labels),
		Taints: []Taint{}, Conditions: []Condition{}, CreatedAt: object.CreationTimestamp.UTC(), ResourceVersion: object.ResourceVersion,
	}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	for i := range object.Spec.Taints {
		taint := &object.Spec.Taints[i]
		row.Taints = append(row.Taints, Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect), TimeAdded: timeOf(taint.TimeAdded)})
	}
	row.Cordoned = cordoned(object.Spec.Taints)
	if registration.Mirrored(object) {
		row.Dialect = registration.OriginOCM // what its pods have asked for is not known
	} else {
		row.capacity(&object.Status)
	}
	known := facts{removingSince: timeOf(object.DeletionTimestamp), nodes: row.Nodes, createdAt: row.CreatedAt}
	for i := range object.Status.Conditions {
		condition := conditionOf(&object.Status.Conditions[i])
		row.Conditions = append(row.Conditions, condition)
		switch condition.Type {
		case clusterv1alpha1.ClusterConditionReady:
			known.ready = &condition
		case clusterv1alpha1.ClusterConditionCompleteAPIEnablements:
			known.complete = &condition
		case ConditionRemoving:
			known.removing = condition
		}
	}
	verdict := known.judge()
	row.State, row.Reason, row.Message, row.Since = verdict.state, verdict.reason, verdict.message, verdict.since
	if known.removingSince != nil {
		row.Removal = &Removal{StartedAt: *known.removingSince, WaitingFor: known.removing.Message}
	}
	return row
}

func agentOf(object *clusterv1alpha1.Cluster) string {
	switch {
	case object.Spec.SyncMode != clusterv1alpha1.Pull:
		return ""
	case registration.HasOwnAgent(object):
		return registration.AgentMuster
	case registration.Mirrored(object):
		return registration.OriginOCM
	}
	return registration.OriginKarmada
}

func zonesOf(object *clusterv1alpha1.Cluster) []string {
	zones := slices.Clone(object.Spec.Zones)
	if len(zones) == 0 && object.Spec.Zone != "" {
		zones = []string{object.Spec.Zone}
	}
	if zones == nil {
		zones = []string{}
	}
	return zones
}

func cordoned(taints []corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == clusterv1alpha1.TaintClusterUnschedulable })
}

func timeOf(at *metav1.Time) *time.Time {
	if at == nil {
		return nil
	}
	utc := at.UTC()
	return &utc
}

func conditionOf(c *metav1.Condition) Condition {
	return Condition{
		Type: registration.PlainText(c.Type), Status: string(c.Status), Reason: registration.PlainText(c.Reason), Message: registration.PlainText(c.Message),
		LastTransitionTime: c.LastTransitionTime.UTC(),
	}
}

// capacity fills nodes and resources, of which a member may report none.
func (c *Cluster) capacity(status *clusterv1alpha1.ClusterStatus) {
	if status.NodeSummary != nil {
		c.Nodes = &Nodes{Ready: status.NodeSummary.ReadyNum, Total: status.NodeSummary.TotalNum}
	}
	if status.ResourceSummary == nil {
		return
	}
	may, asked := status.ResourceSummary.Allocatable, status.ResourceSummary.Allocated
	if _, ok := may[corev1.ResourceCPU]; ok {
		c.CPU = &Usage{Allocatable: may.Cpu().MilliValue(), Allocated: asked.Cpu().MilliValue()}
	}
	if _, ok := may[corev1.ResourceMemory]; ok {
		c.Memory = &Usage{Allocatable: may.Memory().Value(), Allocated: asked.Memory().Value()}
	}
	if _, ok := may[corev1.ResourcePods]; ok {
		c.Pods = &Usage{Allocatable: may.Pods().Value(), Allocated: asked.Pods().Value()}
	}
}

// enablementsOf lists what a member serves.
func enablementsOf(object *clusterv1alpha1.Cluster) []APIEnablement {
	enablements := make([]APIEnablement, 0, len(object.Status.APIEnablements))
	for _, group := range object.Status.APIEnablements {
		enablement := APIEnablement{GroupVersion: registration.PlainText(group.GroupVersion), Resources: make([]APIResource, 0, len(group.Resources))}
		for _, resource := range group.Resources {
			enablement.Resources = append(enablement.Resources, APIResource{Name: registration.PlainText(resource.Name), Kind: registration.PlainText(resource.Kind)})
		}
		enablements = append(enablements, enablement)
	}
	return enablements
}

// workFromObject is a Work object as a row, without its manifests.
func workFromObject(object *workv1alpha1.Work) Work {
	row := Work{Name: object.Name, Namespace: object.Namespace, Applied: "Unknown", Health: string(workv1alpha1.ResourceUnknown), CreatedAt: object.CreationTimestamp.UTC()}
	row.Kind, row.Target = targetOf(object)
	for i := range object.Status.Conditions {
		if condition := &object.Status.Conditions[i]; condition.Type == workv1alpha1.WorkApplied {
			row.Applied, row.Reason, row.Message = string(condition.Status), registration.PlainText(condition.Reason), registration.PlainText(condition.Message)
		}
	}
	for _, status := range object.Status.ManifestStatuses {
		if status.Health != "" {
			row.Health = string(status.Health)
		}
	}
	return row
}

// targetOf reads kind and name of a Work's first manifest.
func targetOf(object *workv1alpha1.Work) (kind, target string) {
	if len(object.Spec.Workload.Manifests) == 0 {
		return "", ""
	}
	var manifest metav1.PartialObjectMetadata
	if err := json.Unmarshal(object.Spec.Workload.Manifests[0].Raw, &manifest); err != nil {
		return "", "" // the API server lets only objects in
	}
	if manifest.Namespace != "" {
		return manifest.Kind, manifest.Namespace + "/" + manifest.Name
	}
	return manifest.Kind, manifest.Name
}

// count adds a Work to the counts.
func (w *WorkCounts) count(object *workv1alpha1.Work) {
	w.Total++
	for i := range object.Status.Conditions {
		condition := &object.Status.Conditions[i]
		if condition.Type != workv1alpha1.WorkApplied {
			continue
		}
		switch condition.Status {
		case metav1.ConditionTrue:
			w.Applied++
			return
		case metav1.ConditionFalse:
			w.Failed++
			return
		}
	}
	w.Pending++
}
