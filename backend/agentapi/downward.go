package agentapi

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Welcome is the hub's answer to a hello it accepts.
type Welcome struct {
	// Protocol is the number both sides speak from here on.
	Protocol   int    `json:"protocol"`
	HubVersion string `json:"hubVersion"`
	// Cluster and ClusterUID are what the agent is known as.
	Cluster    string    `json:"cluster"`
	ClusterUID types.UID `json:"clusterUID"`
	// Session counts the sessions of the hub process; a higher one supersedes a
	// lower one of the same cluster.
	Session uint64 `json:"session"`
	// Epoch names the hub's store.
	Epoch string `json:"epoch"`
	// Resumed says that only what is newer than hello.resume follows. Otherwise
	// all Works follow, and those that do not are to be forgotten at synced.
	Resumed bool `json:"resumed,omitempty"`
	// HeartbeatSeconds and DeadlineSeconds set the pace of the session.
	HeartbeatSeconds int `json:"heartbeatSeconds"`
	DeadlineSeconds  int `json:"deadlineSeconds"`
	// ResourceModels are the Cluster's, which the status counts nodes by.
	ResourceModels []clusterv1alpha1.ResourceModel `json:"resourceModels,omitempty"`
}

// Type implements Frame.
func (*Welcome) Type() Type { return TypeWelcome }

// Validate implements Frame.
func (w *Welcome) Validate() error {
	if w.Protocol < 1 || w.Cluster == "" || w.Epoch == "" {
		return errors.New("protocol, cluster and epoch are required")
	}
	if w.HeartbeatSeconds < 1 || w.DeadlineSeconds <= w.HeartbeatSeconds {
		return errors.New("the deadline must be longer than the heartbeat")
	}
	return nil
}

// Config tells a connected agent what changed of what Welcome said.
type Config struct {
	ResourceModels []clusterv1alpha1.ResourceModel `json:"resourceModels"`
}

// Type implements Frame.
func (*Config) Type() Type { return TypeConfig }

// Validate implements Frame.
func (*Config) Validate() error { return nil }

// Op says what an agent is to do with a Work.
type Op string

const (
	// OpApply: bring the member to what the Work says, keep it there, and report.
	OpApply Op = "apply"
	// OpRemove: the Work is being deleted; take its objects out of the member
	// and ack with removed.
	OpRemove Op = "remove"
	// OpForget: the Work is gone from the hub without the agent's doing; stop
	// looking after its objects and leave them.
	OpForget Op = "forget"
)

// Work delivers one Work.
type Work struct {
	Op       Op        `json:"op"`
	Name     string    `json:"name"`
	UID      types.UID `json:"uid"`
	Revision uint64    `json:"revision"`
	// Work is the object, encoded once by the hub. It is absent for forget.
	Work json.RawMessage `json:"work,omitempty"`
}

// NewWork returns the delivery of a Work: apply, or remove if it is being
// deleted. Fields the agent has no use for are left out.
func NewWork(work *workv1alpha1.Work, revision uint64) (*Work, error) {
	slim := *work
	slim.ManagedFields = nil
	slim.OwnerReferences = nil
	slim.Status.ManifestStatuses = nil // the agent knows better
	raw, err := json.Marshal(&slim)
	if err != nil {
		return nil, fmt.Errorf("encode work %s: %w", work.Name, err)
	}
	f := &Work{Op: OpApply, Name: work.Name, UID: work.UID, Revision: revision, Work: raw}
	if work.DeletionTimestamp != nil {
		f.Op = OpRemove
	}
	return f, nil
}

// Object decodes the Work. It must not be called for forget.
func (w *Work) Object() (*workv1alpha1.Work, error) {
	work := new(workv1alpha1.Work)
	if err := json.Unmarshal(w.Work, work); err != nil {
		return nil, fmt.Errorf("decode work %s: %w", w.Name, err)
	}
	if work.Name != w.Name || work.UID != w.UID {
		return nil, fmt.Errorf("decode work %s: the object is another one", w.Name)
	}
	return work, nil
}

// Type implements Frame.
func (*Work) Type() Type { return TypeWork }

// Validate implements Frame.
func (w *Work) Validate() error {
	if w.Name == "" || w.UID == "" {
		return errors.New("name and uid are required")
	}
	switch w.Op {
	case OpApply, OpRemove:
		if len(w.Work) == 0 {
			return errors.New("work is required")
		}
	case OpForget:
		if len(w.Work) != 0 {
			return errors.New("forget carries no work")
		}
	default:
		return errors.New("unknown op")
	}
	return nil
}

// Synced says that all changes up to Revision have been sent.
type Synced struct {
	Revision uint64 `json:"revision"`
	// Digest is set in the first one of a session: it covers all Works the hub
	// has for the agent. See Digest.
	Digest string `json:"digest,omitempty"`
}

// Type implements Frame.
func (*Synced) Type() Type { return TypeSynced }

// Validate implements Frame.
func (s *Synced) Validate() error {
	if len(s.Digest) > 64 {
		return errors.New("digest is too long")
	}
	return nil
}

// Digest condenses a set of Works, in any order, to a short text. Two sets that
// differ have, for all practical purposes, different digests.
func Digest(uids []types.UID) string {
	var sum uint64
	for _, uid := range uids {
		hash := sha256.Sum256([]byte(uid))
		sum ^= binary.BigEndian.Uint64(hash[:8])
	}
	return fmt.Sprintf("%d-%016x", len(uids), sum)
}

// Confirmed says that the hub has stored all acks up to Sequence.
type Confirmed struct {
	Sequence uint64 `json:"sequence"`
}

// Type implements Frame.
func (*Confirmed) Type() Type { return TypeConfirmed }

// Validate implements Frame.
func (*Confirmed) Validate() error { return nil }

// Refused says why the hub closes the link, in words for the agent's operator.
type Refused struct {
	// Code is one of the failure codes of the product (MU-1xx) or a Code constant
	// of this package.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Fix says what an operator can do.
	Fix string `json:"fix,omitempty"`
	// RetrySeconds is how long the agent should wait before it tries again; 0
	// leaves it to its usual backoff.
	RetrySeconds int `json:"retrySeconds,omitempty"`
}

// Type implements Frame.
func (*Refused) Type() Type { return TypeRefused }

// Validate implements Frame.
func (r *Refused) Validate() error {
	if r.Code == "" || r.Message == "" || r.RetrySeconds < 0 {
		return errors.New("code and message are required")
	}
	return nil
}

// Removed says that the agent's cluster was removed from the hub. The agent
// stops writing to the member and does not come back until it is registered
// again.
type Removed struct {
	Message string `json:"message"`
}

// Type implements Frame.
func (*Removed) Type() Type { return TypeRemoved }

// Validate implements Frame.
func (*Removed) Validate() error { return nil }
