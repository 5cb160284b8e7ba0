package manifestwork

import (
	"encoding/json"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/apis"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
	"muster.dev/muster/backend/registration"
)

// Row is one ManifestWork as lists show it.
type Row struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	// Applied and Available are those of the whole work, empty as long as the agent
	// has said nothing.
	Applied   string `json:"applied" enums:"True,False,Unknown,"`
	Available string `json:"available" enums:"True,False,Unknown,"`
	// Reason and Message say why the work is not well.
	Reason  string `json:"reason,omitempty" validate:"optional"`
	Message string `json:"message,omitempty" validate:"optional"`
	// Manifests counts the objects that the work carries, and how they are.
	Manifests ManifestCounts `json:"manifests"`
	// Owner is the ManifestWorkReplicaSet that made the work, as namespace.name.
	Owner string `json:"owner,omitempty" validate:"optional"`
	// Relayed: the hub made it of the Work of this name, because a policy chose the cluster.
	Relayed   bool      `json:"relayed"`
	Removing  bool      `json:"removing"`
	CreatedAt time.Time `json:"createdAt"`
}

// ManifestCounts counts the manifests of a work. One that is neither applied nor
// failed is on its way.
type ManifestCounts struct {
	Total     int `json:"total"`
	Applied   int `json:"applied"`
	Available int `json:"available"`
	Failed    int `json:"failed"`
}

// Detail is a ManifestWork with what only its own page shows.
type Detail struct {
	Row
	// DeletePolicy says what becomes of the objects in the cluster when the work goes.
	DeletePolicy string `json:"deletePolicy" enums:"Foreground,Orphan,SelectivelyOrphan"`
	// Executor is the service account in the cluster that the agent acts as; empty: itself.
	Executor   string      `json:"executor,omitempty" validate:"optional"`
	Conditions []Condition `json:"conditions"`
	Objects    []Object    `json:"objects"`
}

// Condition is one condition of a work or of a manifest.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status" enums:"True,False,Unknown"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Object is one manifest of a work, and what the agent says of it.
type Object struct {
	Ordinal    int         `json:"ordinal"`
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Namespace  string      `json:"namespace,omitempty" validate:"optional"`
	Name       string      `json:"name"`
	Conditions []Condition `json:"conditions"`
	Feedback   []Feedback  `json:"feedback"`
}

// Feedback is one value that the agent read from the object in the cluster.
type Feedback struct {
	Name string `json:"name"`
	Type string `json:"type" enums:"Integer,String,Boolean,JsonRaw"`
	// Value is plain text.
	Value string `json:"value"`
}

// LabelRelayed marks a ManifestWork that carries a Work, with the value "true".
const LabelRelayed = "muster.dev/relayed"

// ownerLabel names the ManifestWorkReplicaSet of a work, as namespace.name.
const ownerLabel = ocmworkv1alpha1.ReplicaSetLabel

// rowOf is a ManifestWork as a row.
func rowOf(work *ocmworkv1.ManifestWork) Row {
	row := Row{
		Name: work.Name, Cluster: work.Namespace, Owner: work.Labels[ownerLabel], Relayed: work.Labels[LabelRelayed] == apis.LabelTrue,
		Removing: work.DeletionTimestamp != nil, CreatedAt: work.CreationTimestamp.UTC(),
	}
	row.Manifests.Total = len(work.Spec.Workload.Manifests)
	upToDate := work.CurrentCondition(ocmworkv1.ConditionApplied) != nil // then no manifest needs to be read for its name
	for i, told := range toldOf(work) {
		if told != nil && (upToDate || sameName(told, nameOf(work.Spec.Workload.Manifests[i].Raw))) {
			row.Manifests.count(told.Conditions)
		}
	}
	for _, kind := range []string{ocmworkv1.ConditionAvailable, ocmworkv1.ConditionApplied} { // what is not applied matters more
		condition := work.CurrentCondition(kind)
		if condition == nil {
			continue // what was said of the manifests before counts no more
		}
		if kind == ocmworkv1.ConditionApplied {
			row.Applied = string(condition.Status)
		} else {
			row.Available = string(condition.Status)
		}
		if condition.Status != metav1.ConditionTrue {
			row.Reason, row.Message = registration.PlainText(condition.Reason), registration.PlainText(condition.Message)
		}
	}
	return row
}

func (c *ManifestCounts) count(conditions []metav1.Condition) {
	applied := meta.FindStatusCondition(conditions, ocmworkv1.ConditionApplied)
	switch {
	case applied == nil:
	case applied.Status == metav1.ConditionTrue:
		c.Applied++
	case applied.Status == metav1.ConditionFalse:
		c.Failed++
	}
	if meta.IsStatusConditionTrue(conditions, ocmworkv1.ConditionAvailable) {
		c.Available++
	}
}

func conditionsOf(conditions []metav1.Condition) []Condition {
	shown := make([]Condition, 0, len(conditions))
	for i := range conditions {
		c := &conditions[i]
		shown = append(shown, Condition{
			Type: registration.PlainText(c.Type), Status: string(c.Status), Reason: registration.PlainText(c.Reason), Message: registration.PlainText(c.Message),
			LastTransitionTime: c.LastTransitionTime.UTC(),
		})
	}
	return shown
}

// detailOf is a ManifestWork as its page shows it. Of the manifests only what
// names them is shown: they may hold Secrets.
func detailOf(work *ocmworkv1.ManifestWork) Detail {
	detail := Detail{Row: rowOf(work), DeletePolicy: string(ocmworkv1.DeleteForeground), Conditions: conditionsOf(work.Status.Conditions), Objects: []Object{}}
	if option := work.Spec.DeleteOption; option != nil && option.PropagationPolicy != "" {
		detail.DeletePolicy = string(option.PropagationPolicy)
	}
	if executor := work.Spec.Executor; executor != nil && executor.Subject.ServiceAccount != nil {
		detail.Executor = executor.Subject.ServiceAccount.Namespace + "/" + executor.Subject.ServiceAccount.Name
	}
	for i, told := range toldOf(work) {
		detail.Objects = append(detail.Objects, objectOf(i, work.Spec.Workload.Manifests[i].Raw, told))
	}
	return detail
}

// toldOf is what the agent says of each manifest of a work, nil where it has said nothing.
func toldOf(work *ocmworkv1.ManifestWork) []*ocmworkv1.ManifestCondition {
	told := make([]*ocmworkv1.ManifestCondition, len(work.Spec.Workload.Manifests))
	for i := range work.Status.ResourceStatus.Manifests {
		manifest := &work.Status.ResourceStatus.Manifests[i]
		if ordinal := int(manifest.ResourceMeta.Ordinal); ordinal >= 0 && ordinal < len(told) {
			told[ordinal] = manifest
		}
	}
	return told
}

// nameOf is all of a manifest that may be shown.
func nameOf(raw []byte) metav1.PartialObjectMetadata {
	var manifest metav1.PartialObjectMetadata
	if json.Unmarshal(raw, &manifest) != nil {
		return metav1.PartialObjectMetadata{}
	}
	return manifest
}

// sameName tells that an agent speaks of this manifest, not of one that was in its place before.
func sameName(told *ocmworkv1.ManifestCondition, manifest metav1.PartialObjectMetadata) bool {
	return told.ResourceMeta.Name == "" || told.ResourceMeta.Name == manifest.Name
}

func objectOf(ordinal int, raw []byte, told *ocmworkv1.ManifestCondition) Object {
	object := Object{Ordinal: ordinal, Conditions: []Condition{}, Feedback: []Feedback{}}
	manifest := nameOf(raw)
	object.APIVersion, object.Kind, object.Namespace, object.Name = manifest.APIVersion, manifest.Kind, manifest.Namespace, manifest.Name
	if told == nil || !sameName(told, manifest) {
		return object // the agent still speaks of the manifests before
	}
	object.Conditions = conditionsOf(told.Conditions)
	for i := range told.StatusFeedbacks.Values {
		object.Feedback = append(object.Feedback, feedbackOf(&told.StatusFeedbacks.Values[i]))
	}
	return object
}

func feedbackOf(value *ocmworkv1.FeedbackValue) Feedback {
	feedback := Feedback{Name: registration.PlainText(value.Name), Type: string(value.Value.Type)}
	switch {
	case value.Value.Integer != nil:
		feedback.Value = strconv.FormatInt(*value.Value.Integer, 10)
	case value.Value.Boolean != nil:
		feedback.Value = strconv.FormatBool(*value.Value.Boolean)
	case value.Value.String != nil:
		feedback.Value = registration.PlainText(*value.Value.String)
	case value.Value.JSONRaw != nil:
		feedback.Value = registration.PlainText(*value.Value.JSONRaw)
	}
	return feedback
}
