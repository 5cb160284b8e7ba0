package cluster

import (
	"fmt"
	"muster.dev/muster/backend/liveness"
	"time"
)

// State is how a cluster is, in one word.
type State string

// The states of a cluster, in the order of how much they ask for attention.
const (
	StateRemoving State = "removing"
	StateFailed   State = "failed"
	StateUnknown  State = "unknown"
	StateJoining  State = "joining"
	StateDegraded State = "degraded"
	StateReady    State = "ready"
)

// States are all states.
var States = []State{StateReady, StateJoining, StateDegraded, StateUnknown, StateFailed, StateRemoving}

// Cluster is one member as the REST API shows it. Everything in it that the
// member said is plain text.
type Cluster struct {
	Name string `json:"name"`
	// ID is the UID of the member's kube-system namespace.
	ID   string `json:"id"`
	Mode string `json:"mode" enums:"Push,Pull"`
	// Dialect is the one that the member was registered in.
	Dialect string `json:"dialect" enums:"karmada,ocm"`
	// Agent is "muster" for our agent, "karmada" for the unmodified one, "ocm" for
	// that of an OCM member, empty for a cluster that the hub calls.
	Agent string `json:"agent" enums:"muster,karmada,ocm,"`
	State State  `json:"state" enums:"ready,joining,degraded,unknown,failed,removing"`
	// Reason and Message say why State is not ready.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Since is when State began.
	Since       *time.Time        `json:"since,omitempty" validate:"optional"`
	Version     string            `json:"version"`
	Provider    string            `json:"provider"`
	Region      string            `json:"region"`
	Zones       []string          `json:"zones"`
	APIEndpoint string            `json:"apiEndpoint"`
	ProxyURL    string            `json:"proxyURL,omitempty" validate:"optional"`
	Labels      map[string]string `json:"labels"`
	Taints      []Taint           `json:"taints"`
	Cordoned    bool              `json:"cordoned"`
	Nodes       *Nodes            `json:"nodes,omitempty" validate:"optional"`
	// CPU is in millicores, Memory in bytes, Pods a count.
	CPU             *Usage              `json:"cpu,omitempty" validate:"optional"`
	Memory          *Usage              `json:"memory,omitempty" validate:"optional"`
	Pods            *Usage              `json:"pods,omitempty" validate:"optional"`
	Conditions      []Condition         `json:"conditions"`
	CreatedAt       time.Time           `json:"createdAt"`
	ResourceVersion string              `json:"resourceVersion"`
	Link            *liveness.LinkState `json:"link,omitempty" validate:"optional"`
	Removal         *Removal            `json:"removal,omitempty" validate:"optional"`
}

// Taint keeps workloads away.
type Taint struct {
	Key       string     `json:"key"`
	Value     string     `json:"value"`
	Effect    string     `json:"effect" enums:"NoSchedule,NoExecute"`
	TimeAdded *time.Time `json:"timeAdded,omitempty" validate:"optional"`
}

// Nodes counts a member's nodes.
type Nodes struct {
	Ready int32 `json:"ready"`
	Total int32 `json:"total"`
}

// Usage is what pods may use of a resource and what they have asked for.
type Usage struct {
	Allocatable int64 `json:"allocatable"`
	Allocated   int64 `json:"allocated"`
}

// Condition is one condition of a cluster.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status" enums:"True,False,Unknown"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Removal says that a cluster is going, and what it waits for.
type Removal struct {
	StartedAt  time.Time `json:"startedAt"`
	WaitingFor string    `json:"waitingFor"`
}

// Detail is a cluster with what only its own page shows.
type Detail struct {
	Cluster
	APIEnablements []APIEnablement `json:"apiEnablements"`
	Works          WorkCounts      `json:"works"`
}

// APIEnablement is one group and version that a member serves.
type APIEnablement struct {
	GroupVersion string        `json:"groupVersion"`
	Resources    []APIResource `json:"resources"`
}

// APIResource is one resource that a member serves.
type APIResource struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// WorkCounts counts what the hub keeps in a member.
type WorkCounts struct {
	Total   int `json:"total"`
	Applied int `json:"applied"`
	Failed  int `json:"failed"`
	Pending int `json:"pending"`
}

// Work is one thing that the hub keeps in a member.
type Work struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Kind and Target are of the object in the member; Target has its namespace
	// before a slash.
	Kind    string `json:"kind"`
	Target  string `json:"target"`
	Applied string `json:"applied" enums:"True,False,Unknown"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Health is Healthy, Unhealthy or Unknown.
	Health    string    `json:"health" enums:"Healthy,Unhealthy,Unknown"`
	CreatedAt time.Time `json:"createdAt"`
}

// facts are what a cluster's state is judged by.
type facts struct {
	removingSince *time.Time
	removing      Condition // what the controller says a removal waits for
	ready         *Condition
	complete      *Condition
	nodes         *Nodes
	createdAt     time.Time
}

// judgement is a state and why it is so.
type judgement struct {
	state           State
	reason, message string
	since           *time.Time
}

// judge decides how a cluster is. Not ready beats incomplete: what is old is
// told before what is missing.
func (f facts) judge() judgement {
	switch {
	case f.removingSince != nil:
		return judgement{StateRemoving, f.removing.Reason, f.removing.Message, f.removingSince}
	case f.ready == nil:
		created := f.createdAt
		return judgement{StateJoining, "NoStatusYet", "The cluster has not reported yet.", &created}
	case f.ready.Status == "Unknown":
		return f.ready.judged(StateUnknown)
	case f.ready.Status != "True":
		return f.ready.judged(StateFailed)
	case f.complete != nil && f.complete.Status == "False":
		return f.complete.judged(StateDegraded)
	case f.nodes != nil && f.nodes.Ready < f.nodes.Total:
		return judgement{state: StateDegraded, reason: "NodesNotReady", message: nodesMessage(*f.nodes)}
	}
	return judgement{state: StateReady, since: &f.ready.LastTransitionTime}
}

func (c *Condition) judged(state State) judgement {
	return judgement{state, c.Reason, c.Message, &c.LastTransitionTime}
}

func nodesMessage(nodes Nodes) string {
	if nodes.Total-nodes.Ready == 1 {
		return fmt.Sprintf("1 node of %d is not ready.", nodes.Total)
	}
	return fmt.Sprintf("%d nodes of %d are not ready.", nodes.Total-nodes.Ready, nodes.Total)
}
