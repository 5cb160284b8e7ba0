package workload

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/workload/fact"
)

// report is what members tell about the replicas of an object (contract section
// 11.5); each kind fills in some of it.
type report struct {
	Replicas               *int32 `json:"replicas"`
	ReadyReplicas          *int32 `json:"readyReplicas"`
	AvailableReplicas      *int32 `json:"availableReplicas"`
	UpdatedReplicas        *int32 `json:"updatedReplicas"`
	DesiredNumberScheduled *int32 `json:"desiredNumberScheduled"`
	NumberReady            *int32 `json:"numberReady"`
	Active                 *int32 `json:"active"`
	Succeeded              *int32 `json:"succeeded"`
	Failed                 *int32 `json:"failed"`
}

// ready is how many replicas work; a Job's work when they run or are done.
func (r report) ready(kind string) (n int32, told bool) {
	switch kind {
	case "DaemonSet":
		return value(r.NumberReady), r.NumberReady != nil
	case "Job":
		return value(r.Active) + value(r.Succeeded), r.Active != nil || r.Succeeded != nil
	}
	return value(r.ReadyReplicas), r.ReadyReplicas != nil
}

// wanted is how many replicas the member itself wants, where the hub does not
// say: a DaemonSet's depend on its nodes.
func (r report) wanted(kind string) (n int32, told bool) {
	if kind == "DaemonSet" {
		return value(r.DesiredNumberScheduled), r.DesiredNumberScheduled != nil
	}
	return value(r.Replicas), r.Replicas != nil
}

// numbers are the report's counts by name, for people.
func (r report) numbers() map[string]string {
	named := map[string]string{}
	for name, count := range map[string]*int32{
		"replicas": r.Replicas, "readyReplicas": r.ReadyReplicas, "availableReplicas": r.AvailableReplicas, "updatedReplicas": r.UpdatedReplicas,
		"desiredNumberScheduled": r.DesiredNumberScheduled, "numberReady": r.NumberReady,
		"active": r.Active, "succeeded": r.Succeeded, "failed": r.Failed,
	} {
		if count != nil {
			named[name] = fact.Number(*count)
		}
	}
	return named
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// refusal says why a cluster does not take an object.
func refusal(cluster, message string) fact.Fact {
	// The way out of a conflict is an annotation, which the message of whoever
	// met the conflict names (contract section 11.4).
	if strings.Contains(message, workv1alpha1.ConflictResolutionAnnotation) {
		return fact.Say(fact.LevelError, fact.CodeWorkConflict, "cluster", cluster, "message", message)
	}
	if message == "" {
		message = "the object could not be applied"
	}
	return fact.Say(fact.LevelError, fact.CodeWorkFailed, "cluster", cluster, "message", message)
}

// podSpecs are where kinds keep what their pods are made of.
var podSpecs = [][]string{{"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}, {"spec"}}

// imagesOf are the images of an object's containers, each once, in their order.
func imagesOf(object *unstructured.Unstructured) []string {
	images := []string{}
	if object == nil {
		return images
	}
	known := map[string]bool{}
	for _, path := range podSpecs {
		spec, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		fields, ok := spec.(map[string]any)
		if !found || err != nil || !ok {
			continue
		}
		for _, list := range []string{"containers", "initContainers"} {
			containers, _ := fields[list].([]any)
			for _, container := range containers {
				described, _ := container.(map[string]any)
				image, _ := described["image"].(string)
				if image != "" && !known[image] {
					known[image] = true
					images = append(images, image)
				}
			}
		}
	}
	return images
}

// replicasOf is how many replicas an object asks for, if its kind can.
func replicasOf(object *unstructured.Unstructured) (n int32, has bool) {
	if object == nil {
		return 0, false
	}
	path := []string{"spec", "replicas"}
	if object.GetKind() == "Job" {
		path = []string{"spec", "parallelism"}
	}
	found, has, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil || !has {
		return 0, false
	}
	switch asked := found.(type) {
	case int64:
		return int32(asked), true //nolint:gosec // the API keeps it in range
	case float64:
		return int32(asked), true
	}
	return 0, false
}
