package managedcluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/registration"
)

// State is how a managed cluster is, in one word.
type State string

// The states of a managed cluster.
const (
	// StateWaiting: the hub has not accepted it yet.
	StateWaiting State = "waiting"
	// StateDenied: somebody refused it, or the hub had accepted it and does so no more.
	StateDenied State = "denied"
	// StateJoining: accepted, and not heard yet.
	StateJoining State = "joining"
	// StateReady: its agent says that it is available.
	StateReady State = "ready"
	// StateFailed: its agent says that its API does not answer.
	StateFailed State = "failed"
	// StateUnknown: its agent has fallen silent.
	StateUnknown  State = "unknown"
	StateRemoving State = "removing"
)

// States are all states.
var States = []State{StateWaiting, StateDenied, StateJoining, StateReady, StateFailed, StateUnknown, StateRemoving}

// Row is one managed cluster as lists show it. What its agent said in it is plain
// text.
type Row struct {
	Name string `json:"name"`
	// Dialect is the one that the member was registered in; a Karmada member is
	// shown here too.
	Dialect string `json:"dialect" enums:"ocm,karmada"`
	State   State  `json:"state" enums:"waiting,denied,joining,ready,failed,unknown,removing"`
	// Reason and Message say why State is not ready, Since when it began.
	Reason  string     `json:"reason,omitempty" validate:"optional"`
	Message string     `json:"message,omitempty" validate:"optional"`
	Since   *time.Time `json:"since,omitempty" validate:"optional"`
	// Accepted is the hub's consent.
	Accepted bool `json:"accepted"`
	Joined   bool `json:"joined"`
	// Available is empty as long as nobody has said.
	Available         string   `json:"available" enums:"True,False,Unknown,"`
	URLs              []string `json:"urls"`
	Set               string   `json:"set"`
	KubernetesVersion string   `json:"kubernetesVersion,omitempty" validate:"optional"`
	// CPU is in millicores, Memory in bytes: what pods may use.
	CPU       *int64            `json:"cpu,omitempty" validate:"optional"`
	Memory    *int64            `json:"memory,omitempty" validate:"optional"`
	Labels    map[string]string `json:"labels"`
	Taints    []Taint           `json:"taints"`
	Works     WorkCounts        `json:"works"`
	CreatedAt time.Time         `json:"createdAt"`
	Removing  bool              `json:"removing"`
	// Blocking names what a removal waits for.
	Blocking        []string `json:"blocking,omitempty" validate:"optional"`
	ResourceVersion string   `json:"resourceVersion"`
}

// Taint keeps placements away from a cluster.
type Taint struct {
	Key       string     `json:"key"`
	Value     string     `json:"value,omitempty" validate:"optional"`
	Effect    string     `json:"effect" enums:"NoSelect,PreferNoSelect,NoSelectIfNew"`
	TimeAdded *time.Time `json:"timeAdded,omitempty" validate:"optional"`
	// System tells that the hub sets it, and takes it away by itself.
	System bool `json:"system"`
}

// WorkCounts counts the ManifestWorks of a cluster. One that is not applied and
// has not failed is on its way.
type WorkCounts struct {
	Total     int `json:"total"`
	Applied   int `json:"applied"`
	Available int `json:"available"`
	Failed    int `json:"failed"`
}

// Condition is one condition of a managed cluster.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status" enums:"True,False,Unknown"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Claim is something that a cluster says of itself.
type Claim struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Detail is a managed cluster with what only its own page shows.
type Detail struct {
	Row
	Conditions []Condition `json:"conditions"`
	Claims     []Claim     `json:"claims"`
	// Capacity and Allocatable are quantities as Kubernetes writes them.
	Capacity    map[string]string `json:"capacity"`
	Allocatable map[string]string `json:"allocatable"`
	// LeaseSeconds is how often the agent is to renew its lease; the hub gives it up
	// after five times as long.
	LeaseSeconds int32 `json:"leaseSeconds"`
	// Lease is absent if the hub has made none: nobody renews one for a Karmada
	// member.
	Lease *Lease `json:"lease,omitempty" validate:"optional"`
	// CertificateRequests are the agent's, newest first.
	CertificateRequests []CertificateRequest `json:"certificateRequests"`
	// ManagedNamespaces are those that the cluster's sets ask for in it.
	ManagedNamespaces []ManagedNamespace `json:"managedNamespaces"`
}

// Lease is the heartbeat of an agent.
type Lease struct {
	RenewedAt time.Time `json:"renewedAt"`
	// ExpiresAt is when the hub gives the agent up, unless it renews.
	ExpiresAt time.Time `json:"expiresAt"`
}

// CertificateRequest is one request of an agent for a certificate, the other of
// the two consents.
type CertificateRequest struct {
	Name      string    `json:"name"`
	State     string    `json:"state" enums:"pending,approved,issued,denied,failed"`
	Requester string    `json:"requester"`
	CreatedAt time.Time `json:"createdAt"`
	// DecidedAt and DecidedBy are of the newest decision; who made it is known from
	// the audit only, and Reason is what was written beside it.
	DecidedAt *time.Time `json:"decidedAt,omitempty" validate:"optional"`
	Reason    string     `json:"reason,omitempty" validate:"optional"`
}

// ManagedNamespace is a namespace that a set asks for in its clusters.
type ManagedNamespace struct {
	Name  string `json:"name"`
	Set   string `json:"set"`
	State string `json:"state" enums:"True,False,Unknown"`
}

// systemTaints are set by the hub alone; a change of taints leaves them.
var systemTaints = []string{ocmv1.UnavailableTaint, ocmv1.UnreachableTaint}

// rowOf is a ManagedCluster as a row, without its works.
func rowOf(object *ocmv1.ManagedCluster) Row {
	row := Row{
		Name: object.Name, Dialect: registration.OriginOCM, Accepted: object.Spec.HubAcceptsClient, URLs: []string{}, Set: object.Labels[ocmv1.ClusterSetLabel],
		KubernetesVersion: registration.PlainText(object.Status.Version.Kubernetes), Labels: maps.Clone(object.Labels), Taints: []Taint{},
		CreatedAt: object.CreationTimestamp.UTC(), Removing: object.DeletionTimestamp != nil, ResourceVersion: object.ResourceVersion,
	}
	if registration.Mirrored(object) {
		row.Dialect = registration.OriginKarmada
	}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	for _, config := range object.Spec.ManagedClusterClientConfigs {
		row.URLs = append(row.URLs, registration.PlainText(config.URL))
	}
	for i := range object.Spec.Taints {
		taint := &object.Spec.Taints[i]
		row.Taints = append(row.Taints, Taint{
			Key: taint.Key, Value: registration.PlainText(taint.Value), Effect: string(taint.Effect), TimeAdded: timeOf(&taint.TimeAdded), System: slices.Contains(systemTaints, taint.Key),
		})
	}
	if cpu, ok := object.Status.Allocatable[corev1.ResourceCPU]; ok {
		row.CPU = amount(cpu.MilliValue())
	}
	if memory, ok := object.Status.Allocatable[corev1.ResourceMemory]; ok {
		row.Memory = amount(memory.Value())
	}
	row.Joined = meta.IsStatusConditionTrue(object.Status.Conditions, ocmv1.ConditionJoined)
	if available := meta.FindStatusCondition(object.Status.Conditions, ocmv1.ConditionAvailable); available != nil {
		row.Available = string(available.Status)
	}
	row.judge(object)
	return row
}

func amount(n int64) *int64 { return &n }

func timeOf(at *metav1.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	utc := at.UTC()
	return &utc
}

// judge says in one word how the cluster is, and why.
func (r *Row) judge(object *ocmv1.ManagedCluster) {
	by := func(state State, kind string, reason, message string) {
		r.State, r.Reason, r.Message = state, reason, message
		if condition := meta.FindStatusCondition(object.Status.Conditions, kind); condition != nil {
			r.Reason, r.Message, r.Since = registration.PlainText(condition.Reason), registration.PlainText(condition.Message), timeOf(&condition.LastTransitionTime)
		}
	}
	accepted := meta.FindStatusCondition(object.Status.Conditions, ocmv1.ConditionHubAccepted)
	switch {
	case r.Removing:
		by(StateRemoving, ocmv1.ConditionDeleting, "Deleting", "What the hub keeps in the cluster is taken out of it.")
		r.Since = timeOf(object.DeletionTimestamp)
	case !r.Accepted && accepted != nil:
		by(StateDenied, ocmv1.ConditionHubAccepted, "", "")
		if accepted.Status == metav1.ConditionTrue { // withdrawn a moment ago
			r.Since = nil
			by(StateDenied, ocmv1.ConditionHubDenied, ocmv1.ReasonDenied, "The hub withdraws its acceptance.")
		}
		if object.Annotations[consent.AnnotationDeniedAt] != "" {
			r.Message += "\n" + deniedInRoom(object)
		}
	case !r.Accepted && object.Annotations[consent.AnnotationDeniedAt] != "":
		r.State, r.Reason, r.Message = StateDenied, ocmv1.ReasonDenied, deniedInRoom(object)
		if at, err := time.Parse(time.RFC3339, object.Annotations[consent.AnnotationDeniedAt]); err == nil {
			r.Since = &at
		}
	case !r.Accepted:
		r.State, r.Reason, r.Message, r.Since = StateWaiting, "NotAccepted", "The hub has not accepted the cluster yet.", timeOf(&object.CreationTimestamp)
	case accepted != nil && accepted.Status == metav1.ConditionFalse && accepted.Reason == ocmv1.ReasonAcceptError:
		by(StateFailed, ocmv1.ConditionHubAccepted, "", "")
	case r.Available == string(metav1.ConditionTrue):
		by(StateReady, ocmv1.ConditionAvailable, "", "")
	case r.Available == string(metav1.ConditionFalse):
		by(StateFailed, ocmv1.ConditionAvailable, "", "")
	case r.Available == string(metav1.ConditionUnknown):
		by(StateUnknown, ocmv1.ConditionAvailable, "", "")
	case r.Joined:
		by(StateJoining, ocmv1.ConditionJoined, "", "")
	default:
		by(StateJoining, ocmv1.ConditionHubAccepted, "", "")
		r.Reason, r.Message = "NoStatusYet", "The agent has not reported yet." // the acceptance is not what it waits for
	}
}

// deniedInRoom says who refused a cluster in the waiting room, and why.
func deniedInRoom(object *ocmv1.ManagedCluster) string {
	said := "The cluster was denied in the waiting room"
	if who := object.Annotations[consent.AnnotationDeniedBy]; who != "" {
		said += " by " + who
	}
	if why := object.Annotations[consent.AnnotationDeniedReason]; why != "" {
		return registration.PlainText(said + ": " + why)
	}
	return registration.PlainText(said + ".")
}

// count adds a ManifestWork to the counts.
func (w *WorkCounts) count(work *ocmworkv1.ManifestWork) {
	w.Total++
	applied := work.CurrentCondition(ocmworkv1.ConditionApplied)
	if applied != nil && applied.Status == metav1.ConditionTrue {
		w.Applied++
	}
	if applied != nil && applied.Status == metav1.ConditionFalse {
		w.Failed++
	}
	if available := work.CurrentCondition(ocmworkv1.ConditionAvailable); available != nil && available.Status == metav1.ConditionTrue {
		w.Available++
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

func quantities(list corev1.ResourceList) map[string]string {
	shown := map[string]string{}
	for name, quantity := range list {
		shown[registration.PlainText(string(name))] = quantity.String()
	}
	return shown
}

// detailOf is a ManagedCluster as its page shows it, without what other objects
// tell.
func detailOf(object *ocmv1.ManagedCluster) Detail {
	detail := Detail{
		Row: rowOf(object), Conditions: conditionsOf(object.Status.Conditions), Claims: []Claim{}, CertificateRequests: []CertificateRequest{},
		Capacity: quantities(object.Status.Capacity), Allocatable: quantities(object.Status.Allocatable), LeaseSeconds: object.Spec.LeaseDurationSeconds,
		ManagedNamespaces: []ManagedNamespace{},
	}
	if detail.LeaseSeconds == 0 {
		detail.LeaseSeconds = ocmv1.DefaultLeaseDurationSeconds
	}
	for _, claim := range object.Status.ClusterClaims {
		detail.Claims = append(detail.Claims, Claim{Name: registration.PlainText(claim.Name), Value: registration.PlainText(claim.Value)})
	}
	for i := range object.Status.ManagedNamespaces {
		namespace := &object.Status.ManagedNamespaces[i]
		state := string(metav1.ConditionUnknown)
		if condition := meta.FindStatusCondition(namespace.Conditions, ocmv1.ConditionNamespaceAvailable); condition != nil {
			state = string(condition.Status)
		}
		detail.ManagedNamespaces = append(detail.ManagedNamespaces, ManagedNamespace{Name: namespace.Name, Set: namespace.ClusterSet, State: state})
	}
	return detail
}
