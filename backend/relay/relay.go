package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/apis"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/backend/registration"
)

const (
	// LabelRelayed marks a ManifestWork that carries a Work, with the value "true".
	LabelRelayed = manifestwork.LabelRelayed
	// annotationDigest on it tells which spec it was last given: the API fills in
	// defaults and writes manifests in its own way.
	annotationDigest = "muster.dev/relayed-digest"
)

// counted are the fields of a status that are asked of an agent: those that the
// hub adds up over members.
var counted = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}:  {"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas", "observedGeneration"},
	{Group: "apps", Kind: "StatefulSet"}: {"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "currentReplicas", "observedGeneration"},
	{Group: "apps", Kind: "DaemonSet"}:   {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable", "observedGeneration"},
	{Group: "batch", Kind: "Job"}:        {"active", "succeeded", "failed"},
}

const (
	// fieldGeneration and fieldTemplate are of the member's object and of the hub
	// object that it was made from.
	fieldGeneration = "generation"
	fieldTemplate   = "resourceTemplateGeneration"
)

// about is what names the object of a Work.
type about struct {
	metav1.PartialObjectMetadata
	resource string
}

func (a *about) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(a.APIVersion, a.Kind)
}

// aboutWork reads what names the object of a Work; mapper tells its resource.
func aboutWork(work *workv1alpha1.Work, mapper meta.RESTMapper) (*about, error) {
	if len(work.Spec.Workload.Manifests) != 1 {
		return nil, fmt.Errorf("a Work of %d manifests cannot be carried, only of one", len(work.Spec.Workload.Manifests))
	}
	a := &about{}
	if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &a.PartialObjectMetadata); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	kind := a.groupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", kind.Kind, err)
	}
	a.resource = mapping.Resource.Resource
	return a, nil
}

// tooLarge says of a ManifestWork that no hub takes how large it is, and what to do
// about it; "" of all others.
func tooLarge(carrier *ocmworkv1.ManifestWork) string {
	size := 0
	for i := range carrier.Spec.Workload.Manifests {
		size += len(carrier.Spec.Workload.Manifests[i].Raw)
	}
	if size <= manifestwork.MaxManifestBytes {
		return ""
	}
	return fmt.Sprintf("the object takes %d bytes, and %d are the limit of a ManifestWork: split it, or have the policy leave out clusters of Open Cluster Management", size, manifestwork.MaxManifestBytes)
}

// outgoing is the ManifestWork that carries a Work.
func outgoing(cluster string, work *workv1alpha1.Work, a *about) (*ocmworkv1.ManifestWork, error) {
	made := packed(cluster, work, a)
	text, err := json.Marshal(made.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode manifest work %s/%s: %w", cluster, work.Name, err)
	}
	digest := sha256.Sum256(text)
	made.Annotations = map[string]string{annotationDigest: hex.EncodeToString(digest[:16])}
	return made, nil
}

func packed(cluster string, work *workv1alpha1.Work, a *about) *ocmworkv1.ManifestWork {
	made := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: work.Name, Labels: map[string]string{LabelRelayed: apis.LabelTrue}}}
	made.Spec.DeleteOption = &ocmworkv1.DeleteOption{PropagationPolicy: ocmworkv1.DeleteForeground}
	if space := a.Namespace; space != "" && space != metav1.NamespaceDefault {
		made.Spec.Workload.Manifests = append(made.Spec.Workload.Manifests, namespaceManifest(space))
		named := ocmworkv1.ResourceIdentifier{Resource: "namespaces", Name: space}
		made.Spec.ManifestConfigs = append(made.Spec.ManifestConfigs, ocmworkv1.ManifestConfigOption{
			ResourceIdentifier: named, UpdateStrategy: &ocmworkv1.UpdateStrategy{Type: ocmworkv1.UpdateStrategyCreateOnly},
		})
		made.Spec.DeleteOption = &ocmworkv1.DeleteOption{PropagationPolicy: ocmworkv1.DeleteSelectivelyOrphan, SelectivelyOrphan: &ocmworkv1.SelectivelyOrphan{
			OrphaningRules: []ocmworkv1.OrphaningRule{{Resource: named.Resource, Name: named.Name}},
		}}
	}
	if work.Spec.PreserveResourcesOnDeletion != nil && *work.Spec.PreserveResourcesOnDeletion {
		made.Spec.DeleteOption = &ocmworkv1.DeleteOption{PropagationPolicy: ocmworkv1.DeleteOrphan}
	}
	kind := a.groupVersionKind()
	carried := ocmworkv1.Manifest{}
	carried.Raw = work.Spec.Workload.Manifests[0].Raw
	made.Spec.Workload.Manifests = append(made.Spec.Workload.Manifests, carried)
	config := ocmworkv1.ManifestConfigOption{
		ResourceIdentifier: ocmworkv1.ResourceIdentifier{Group: kind.Group, Resource: a.resource, Namespace: a.Namespace, Name: a.Name},
		UpdateStrategy: &ocmworkv1.UpdateStrategy{Type: ocmworkv1.UpdateStrategyServerSideApply, ServerSideApply: &ocmworkv1.ServerSideApplyConfig{
			Force: true, FieldManager: ocmworkv1.DefaultFieldManager,
		}},
	}
	if fields := counted[kind.GroupKind()]; len(fields) > 0 {
		config.FeedbackRules = []ocmworkv1.FeedbackRule{{Type: ocmworkv1.JSONPaths, JSONPaths: pathsOf(fields)}}
	}
	made.Spec.ManifestConfigs = append(made.Spec.ManifestConfigs, config)
	return made
}

func namespaceManifest(name string) ocmworkv1.Manifest {
	var manifest ocmworkv1.Manifest
	manifest.Raw, _ = json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}) // strings can be encoded
	return manifest
}

func pathsOf(fields []string) []ocmworkv1.JSONPath {
	paths := []ocmworkv1.JSONPath{
		{Name: fieldGeneration, Path: ".metadata.generation"},
		{Name: fieldTemplate, Path: ".metadata.annotations." + strings.ReplaceAll(apis.TemplateGenerationAnnotation, ".", `\.`)},
	}
	for _, field := range fields {
		paths = append(paths, ocmworkv1.JSONPath{Name: field, Path: ".status." + field})
	}
	return paths
}

// incoming is a Work's status by what the agent says of the ManifestWork.
func incoming(work *workv1alpha1.Work, carrier *ocmworkv1.ManifestWork, a *about) workv1alpha1.WorkStatus {
	status := *work.Status.DeepCopy()
	say := func(condition metav1.Condition) {
		condition.ObservedGeneration = work.Generation
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	say(metav1.Condition{Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonDispatching, Message: "The Work is carried to the cluster by ManifestWork " + carrier.Namespace + "/" + carrier.Name + "."})
	ordinal := int32(len(carrier.Spec.Workload.Manifests) - 1)
	applied := meta.FindStatusCondition(carrier.Status.Conditions, ocmworkv1.ConditionApplied)
	if applied == nil || applied.ObservedGeneration < carrier.Generation {
		return status // the agent has not seen what the Work says now
	}
	told := manifestOf(carrier, ordinal)
	if applied.Status != metav1.ConditionTrue {
		message := applied.Message
		for i := range carrier.Status.ResourceStatus.Manifests {
			if one := meta.FindStatusCondition(carrier.Status.ResourceStatus.Manifests[i].Conditions, ocmworkv1.ConditionApplied); one != nil && one.Status == metav1.ConditionFalse {
				message = one.Message
			}
		}
		say(metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonAppliedFailed, Message: registration.PlainText(message)})
		return status
	}
	say(metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAppliedSuccessful, Message: "The cluster's agent has applied the manifest."})
	if told != nil {
		status.ManifestStatuses = []workv1alpha1.ManifestStatus{reported(told, a)}
	}
	return status
}

func manifestOf(carrier *ocmworkv1.ManifestWork, ordinal int32) *ocmworkv1.ManifestCondition {
	for i := range carrier.Status.ResourceStatus.Manifests {
		if carrier.Status.ResourceStatus.Manifests[i].ResourceMeta.Ordinal == ordinal {
			return &carrier.Status.ResourceStatus.Manifests[i]
		}
	}
	return nil
}

// reported is what an agent says of the object, in the hub's words.
func reported(told *ocmworkv1.ManifestCondition, a *about) workv1alpha1.ManifestStatus {
	kind := a.groupVersionKind()
	status := workv1alpha1.ManifestStatus{
		Identifier: workv1alpha1.ResourceIdentifier{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Resource: a.resource, Namespace: a.Namespace, Name: a.Name},
		Health:     workv1alpha1.ResourceUnknown,
	}
	fields := map[string]any{}
	for i := range told.StatusFeedbacks.Values {
		value := &told.StatusFeedbacks.Values[i]
		switch {
		case value.Value.Integer != nil:
			fields[value.Name] = *value.Value.Integer
		case value.Value.String != nil && value.Name == fieldTemplate:
			if generation, err := strconv.ParseInt(*value.Value.String, 10, 64); err == nil {
				fields[value.Name] = generation
			}
		}
	}
	if len(fields) > 0 {
		if raw, err := json.Marshal(fields); err == nil {
			status.Status = &runtime.RawExtension{Raw: raw}
		}
	}
	available := meta.FindStatusCondition(told.Conditions, ocmworkv1.ConditionAvailable)
	switch {
	case available == nil || available.Status == metav1.ConditionUnknown:
	case available.Status == metav1.ConditionFalse || !settled(kind.GroupKind(), fields):
		status.Health = workv1alpha1.ResourceUnhealthy
	default:
		status.Health = workv1alpha1.ResourceHealthy
	}
	return status
}

// settled says whether an object that counts replicas has all of them: to the
// field's agents an object is available once it exists.
func settled(kind schema.GroupKind, fields map[string]any) bool {
	number := func(name string) int64 { n, _ := fields[name].(int64); return n }
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return number("observedGeneration") >= number(fieldGeneration) && number("updatedReplicas") >= number("replicas") && number("availableReplicas") >= number("updatedReplicas")
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return number("observedGeneration") >= number(fieldGeneration) && number("updatedNumberScheduled") >= number("desiredNumberScheduled") && number("numberAvailable") >= number("updatedNumberScheduled")
	}
	return true
}

// refusedStatus is a Work's status when it cannot be carried.
func refusedStatus(work *workv1alpha1.Work, why string) workv1alpha1.WorkStatus {
	status := *work.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonAppliedFailed, Message: registration.PlainText(why), ObservedGeneration: work.Generation,
	})
	return status
}

// suspendedStatus is a Work's status while it is not to be sent.
func suspendedStatus(work *workv1alpha1.Work) workv1alpha1.WorkStatus {
	status := *work.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonSuspendDispatching,
		Message: "Work dispatching is in a suspended state.", ObservedGeneration: work.Generation,
	})
	return status
}
