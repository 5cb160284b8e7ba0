package agentapi

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Hello is an agent's first frame. What it says about the cluster becomes the
// Cluster's spec; the cluster's name is in the certificate.
type Hello struct {
	// Protocol is the newest protocol number the agent speaks, MinProtocol the
	// oldest.
	Protocol    int `json:"protocol"`
	MinProtocol int `json:"minProtocol"`
	// AgentVersion is the release of the agent.
	AgentVersion string `json:"agentVersion"`
	// Instance is random for each start of an agent process. It tells a
	// reconnecting agent from a second one with the same identity.
	Instance string `json:"instance"`
	// ClusterID is the UID of the member's namespace kube-system.
	ClusterID string `json:"clusterID"`
	// ClusterUID is the UID of the Cluster object this agent was welcomed as
	// before, empty on the first contact. An agent whose Cluster is gone is told
	// so instead of bringing it back.
	ClusterUID types.UID `json:"clusterUID,omitempty"`
	// ClusterNamespace is the hub namespace for the cluster's credentials.
	ClusterNamespace string   `json:"clusterNamespace,omitempty"`
	Provider         string   `json:"provider,omitempty"`
	Region           string   `json:"region,omitempty"`
	Zones            []string `json:"zones,omitempty"`
	// APIEndpoint is the URL of the member's API server, as its own operators
	// know it. The hub may not be able to reach it.
	APIEndpoint string `json:"apiEndpoint,omitempty"`
	// ProxyURL is the forward proxy through which the member can be reached.
	ProxyURL string `json:"proxyURL,omitempty"`
	// Resume is set by an agent that still holds the Works of an earlier session.
	Resume *Resume `json:"resume,omitempty"`
}

// Resume says up to where an agent has seen the hub's store.
type Resume struct {
	Epoch    string `json:"epoch"`
	Revision uint64 `json:"revision"`
}

// Type implements Frame.
func (*Hello) Type() Type { return TypeHello }

// Validate implements Frame.
func (h *Hello) Validate() error {
	if h.Protocol < 1 || h.MinProtocol < 1 || h.MinProtocol > h.Protocol {
		return errors.New("protocol range is empty")
	}
	if h.ClusterID == "" || h.Instance == "" {
		return errors.New("clusterID and instance are required")
	}
	if len(h.Zones) > 64 {
		return errors.New("more than 64 zones")
	}
	short := []string{h.AgentVersion, h.Instance, h.ClusterID, string(h.ClusterUID), h.ClusterNamespace, h.Provider, h.Region}
	for _, s := range append(short, h.Zones...) {
		if len(s) > 253 {
			return errors.New("a name is longer than 253 bytes")
		}
	}
	if len(h.APIEndpoint) > 2048 || len(h.ProxyURL) > 2048 {
		return errors.New("an address is longer than 2048 bytes")
	}
	if h.Resume != nil && (h.Resume.Epoch == "" || len(h.Resume.Epoch) > 253) {
		return errors.New("resume has no valid epoch")
	}
	return nil
}

// Beat says that the agent is alive.
type Beat struct {
	// Sequence counts the beats of a session from 1.
	Sequence uint64 `json:"sequence"`
}

// Type implements Frame.
func (*Beat) Type() Type { return TypeBeat }

// Validate implements Frame.
func (*Beat) Validate() error { return nil }

// Ack reports what became of a Work: its status as the agent sees it, or that it
// has been removed from the member.
type Ack struct {
	// Sequence counts the acks of an agent process from 1. A later ack of the
	// same Work replaces an earlier one.
	Sequence uint64 `json:"sequence"`
	// Name and UID name the Work in the agent's execution namespace.
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Revision is that of the delivery the ack is about.
	Revision uint64 `json:"revision"`
	// Removed says that the member holds nothing of the Work any more that it
	// should not. The statuses are empty then.
	Removed bool `json:"removed,omitempty"`
	// Conditions are Applied and Dispatching. Their observedGeneration is the
	// generation of the Work; their times are ignored, since the hub does not
	// trust the agent's clock.
	Conditions       []metav1.Condition            `json:"conditions,omitempty"`
	ManifestStatuses []workv1alpha1.ManifestStatus `json:"manifestStatuses,omitempty"`
}

// Type implements Frame.
func (*Ack) Type() Type { return TypeAck }

// Validate implements Frame.
func (a *Ack) Validate() error {
	if a.Name == "" || len(a.Name) > 253 || a.UID == "" || len(a.UID) > 128 {
		return errors.New("name and uid are required")
	}
	if a.Sequence == 0 {
		return errors.New("sequence starts at 1")
	}
	if a.Removed && (len(a.Conditions) > 0 || len(a.ManifestStatuses) > 0) {
		return errors.New("a removed Work has no status")
	}
	if len(a.ManifestStatuses) > 1000 {
		return errors.New("more than 1000 manifest statuses")
	}
	for i := range a.ManifestStatuses {
		if err := validateManifestStatus(&a.ManifestStatuses[i]); err != nil {
			return fmt.Errorf("manifestStatuses[%d]: %w", i, err)
		}
	}
	return validateConditions(a.Conditions)
}

func validateManifestStatus(s *workv1alpha1.ManifestStatus) error {
	if s.Identifier.Ordinal < 0 || s.Identifier.Version == "" || s.Identifier.Kind == "" || s.Identifier.Name == "" {
		return errors.New("identifier is incomplete")
	}
	switch s.Health {
	case "", workv1alpha1.ResourceHealthy, workv1alpha1.ResourceUnhealthy, workv1alpha1.ResourceUnknown:
		return nil
	}
	return errors.New("unknown health")
}

func validateConditions(conditions []metav1.Condition) error {
	if len(conditions) > 64 {
		return errors.New("more than 64 conditions")
	}
	for i := range conditions {
		c := &conditions[i]
		switch c.Status {
		case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
		default:
			return fmt.Errorf("conditions[%d]: unknown status", i)
		}
		if c.Type == "" || len(c.Type) > 316 || c.Reason == "" || len(c.Reason) > 1024 || len(c.Message) > 32768 || c.ObservedGeneration < 0 {
			return fmt.Errorf("conditions[%d]: type, reason or message is out of bounds", i)
		}
	}
	return nil
}

// Level grades a Log frame.
type Level string

// The levels of Log frames.
const (
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Log is a line for the hub's operators, such as why the agent cannot rotate its
// certificate. It holds no secrets.
type Log struct {
	Level   Level  `json:"level"`
	Message string `json:"message"`
}

// Type implements Frame.
func (*Log) Type() Type { return TypeLog }

// Validate implements Frame.
func (l *Log) Validate() error {
	if l.Level != LevelInfo && l.Level != LevelWarn && l.Level != LevelError {
		return errors.New("unknown level")
	}
	if l.Message == "" || len(l.Message) > 4096 {
		return errors.New("message is empty or longer than 4096 bytes")
	}
	return nil
}
