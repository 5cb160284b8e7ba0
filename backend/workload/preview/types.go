package preview

import (
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/manifest"
)

// Draft is a policy to preview.
type Draft struct {
	// YAML is the policy, of any of the four kinds.
	YAML string `json:"yaml"`
	// Templates are the objects to look at; empty: those that it matches.
	Templates []fact.ObjectRef `json:"templates,omitempty" validate:"optional"`
	// Limit bounds the objects to look at, 1 to 50; 0 is 10.
	Limit int `json:"limit,omitempty" validate:"optional"`
}

// Changed says what becomes of a cluster, in one word.
type Changed string

// What becomes of a cluster.
const (
	ChangedNew   Changed = "new"
	ChangedKept  Changed = "kept"
	ChangedMore  Changed = "more"
	ChangedFewer Changed = "fewer"
)

// Cluster is a cluster that an object would go to.
type Cluster struct {
	Name     string `json:"name"`
	Replicas *int32 `json:"replicas,omitempty" validate:"optional"`
	// Now is how many replicas it has now; absent if it has none or is new.
	Now    *int32  `json:"now,omitempty" validate:"optional"`
	Change Changed `json:"change" enums:"new,kept,more,fewer"`
}

// Leave is a cluster that an object would leave.
type Leave struct {
	Name     string `json:"name"`
	Replicas *int32 `json:"replicas,omitempty" validate:"optional"`
}

// Exclusion is a cluster that is left out, and why.
type Exclusion struct {
	Name   string `json:"name"`
	Filter string `json:"filter"`
	Reason string `json:"reason"`
}

// Failure says why there would be no placement.
type Failure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Available is how many replicas the clusters that fit could run together.
	Available *int64 `json:"available,omitempty" validate:"optional"`
}

// Override is what overrides would change for one cluster.
type Override struct {
	Cluster string            `json:"cluster"`
	Changes []manifest.Change `json:"changes"`
	// Error says why the cluster would not get it.
	Error string `json:"error,omitempty" validate:"optional"`
}

// Item is what a policy would do with one object.
type Item struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty" validate:"optional"`
	Name       string `json:"name"`
	// Current is the policy that holds it now.
	Current *fact.PolicyRef `json:"current,omitempty" validate:"optional"`
	Takes   bool            `json:"takes"`
	// Why says why it would take it or not; WhyCode and WhyParams say it for
	// translation.
	Why       string            `json:"why"`
	WhyCode   fact.Code         `json:"whyCode"`
	WhyParams map[string]string `json:"whyParams,omitempty" validate:"optional"`
	Replicas  *int32            `json:"replicas,omitempty" validate:"optional"`
	Chosen    []Cluster         `json:"chosen"`
	Leaves    []Leave           `json:"leaves"`
	Excluded  []Exclusion       `json:"excluded"`
	Failure   *Failure          `json:"failure,omitempty" validate:"optional"`
	// Overrides are those of the clusters that it goes to now, for an override
	// policy.
	Overrides []Override `json:"overrides,omitempty" validate:"optional"`
}

// Templates are the objects that a policy matches.
type Templates struct {
	Matched int `json:"matched"`
	// Hidden is how many of them are of kinds that the actor may not list.
	Hidden int    `json:"hidden"`
	Items  []Item `json:"items"`
}

// Preview is what a policy would do.
type Preview struct {
	Valid         bool            `json:"valid"`
	Problems      []draft.Problem `json:"problems"`
	Templates     Templates       `json:"templates"`
	ClustersTotal int             `json:"clustersTotal"`
	TookMillis    int64           `json:"tookMillis"`
}
