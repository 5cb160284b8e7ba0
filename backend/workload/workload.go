package workload

import (
	"time"

	"muster.dev/muster/backend/workload/fact"
)

// State is how a workload is, in one word.
type State string

// The states of a workload, in the order of how much they ask for attention.
const (
	// StateFailed: a cluster refused it, or the hub cannot propagate it as it is now.
	StateFailed State = "failed"
	// StateUnscheduled: no clusters were found for it.
	StateUnscheduled State = "unscheduled"
	// StatePending: a cluster has not got it yet.
	StatePending State = "pending"
	// StateProgressing: every cluster has it, but one is not healthy yet.
	StateProgressing State = "progressing"
	// StateOK: every cluster has it and is healthy.
	StateOK State = "ok"
	// StateUnmanaged: no policy holds it.
	StateUnmanaged State = "unmanaged"
)

// States are all states, those first that ask for attention.
var States = []State{StateFailed, StateUnscheduled, StatePending, StateProgressing, StateOK, StateUnmanaged}

// Placed is how a workload is in one cluster, in one word.
type Placed string

// The states of a workload in one cluster.
const (
	PlacedOK          Placed = "ok"
	PlacedProgressing Placed = "progressing"
	PlacedFailed      Placed = "failed"
	PlacedPending     Placed = "pending"
	PlacedSuspended   Placed = "suspended"
)

// What members report about an object.
const (
	HealthHealthy   = "Healthy"
	HealthUnhealthy = "Unhealthy"
	HealthUnknown   = "Unknown"
)

// Replicas counts replicas over all clusters.
type Replicas struct {
	Wanted int32 `json:"wanted"`
	Ready  int32 `json:"ready"`
}

// PlacedCluster is how a workload is in one cluster.
type PlacedCluster struct {
	Name string `json:"name"`
	// Replicas is how many the cluster was given.
	Replicas *int32 `json:"replicas,omitempty" validate:"optional"`
	// Ready is how many of them the cluster reports as ready.
	Ready   *int32 `json:"ready,omitempty" validate:"optional"`
	Applied bool   `json:"applied"`
	Health  string `json:"health" enums:"Healthy,Unhealthy,Unknown"`
	State   Placed `json:"state" enums:"ok,progressing,failed,pending,suspended"`
	Message string `json:"message,omitempty" validate:"optional"`
}

// Row is one workload as lists show it.
type Row struct {
	// ID is group/version/kind/namespace/name, as in paths: "core" for the group
	// without a name, "-" for no namespace.
	ID         string          `json:"id"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty" validate:"optional"`
	Name       string          `json:"name"`
	Policy     *fact.PolicyRef `json:"policy,omitempty" validate:"optional"`
	Binding    *fact.ObjectRef `json:"binding,omitempty" validate:"optional"`
	// Images are those of the template's containers, each once.
	Images   []string        `json:"images"`
	Replicas *Replicas       `json:"replicas,omitempty" validate:"optional"`
	Clusters []PlacedCluster `json:"clusters"`
	State    State           `json:"state" enums:"ok,progressing,failed,pending,unscheduled,unmanaged"`
	// Reason says why State is not ok; Code and Params say it for translation.
	Reason          string            `json:"reason,omitempty" validate:"optional"`
	ReasonCode      fact.Code         `json:"reasonCode,omitempty" validate:"optional"`
	ReasonParams    map[string]string `json:"reasonParams,omitempty" validate:"optional"`
	CreatedAt       time.Time         `json:"createdAt"`
	ResourceVersion string            `json:"resourceVersion"`
}

// Condition is one condition of a binding.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status" enums:"True,False,Unknown"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Event is what a component said about a workload or its binding.
type Event struct {
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
	At      time.Time `json:"at"`
	// About is the object, as Kind/name.
	About string `json:"about"`
}

// Detail is one workload as its own page shows it.
type Detail struct {
	Row Row `json:"row"`
	// YAML is the template, without what servers add.
	YAML         string      `json:"yaml"`
	Scheduled    *Condition  `json:"scheduled,omitempty" validate:"optional"`
	FullyApplied *Condition  `json:"fullyApplied,omitempty" validate:"optional"`
	Facts        []fact.Fact `json:"facts"`
	Topology     Topology    `json:"topology"`
	Events       []Event     `json:"events"`
	// Epoch and Seq say which live message the answer already holds.
	Epoch string `json:"epoch,omitempty" validate:"optional"`
	Seq   uint64 `json:"seq,omitempty" validate:"optional"`
}

// NodeKind is what a node of a topology stands for.
type NodeKind string

// The kinds of nodes, in the order of propagation.
const (
	NodePolicy   NodeKind = "policy"
	NodeTemplate NodeKind = "template"
	NodeBinding  NodeKind = "binding"
	NodeWork     NodeKind = "work"
	NodeObject   NodeKind = "object"
	NodePods     NodeKind = "pods"
)

// NodeState is how a node is, in one word.
type NodeState string

// The states of a node.
const (
	NodeOK          NodeState = "ok"
	NodeProgressing NodeState = "progressing"
	NodeFailed      NodeState = "failed"
	NodePending     NodeState = "pending"
	NodeMissing     NodeState = "missing"
)

// Node is one hop of a topology.
type Node struct {
	// ID is the kind, with the cluster behind a slash where there is one per
	// cluster.
	ID      string          `json:"id"`
	Kind    NodeKind        `json:"kind" enums:"policy,template,binding,work,object,pods"`
	Label   string          `json:"label"`
	Cluster string          `json:"cluster,omitempty" validate:"optional"`
	State   NodeState       `json:"state" enums:"ok,progressing,failed,pending,missing"`
	Reason  string          `json:"reason,omitempty" validate:"optional"`
	Ref     *fact.ObjectRef `json:"ref,omitempty" validate:"optional"`
	// Detail holds short facts to show beside the node.
	Detail map[string]string `json:"detail,omitempty" validate:"optional"`
}

// Edge leads from one hop to the next.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Topology is the way of a workload from its policy to its pods.
type Topology struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	// Broken is the first hop that does not work.
	Broken string `json:"broken,omitempty" validate:"optional"`
}
