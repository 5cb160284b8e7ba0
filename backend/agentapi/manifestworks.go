package agentapi

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ProtocolManifestWorks is the first protocol number with the frames of this file.
const ProtocolManifestWorks = 3

// MaxManifestPatches is how many patches of an agent may wait for their answers.
const MaxManifestPatches = 16

// ManifestOp says what a ManifestWork frame tells.
type ManifestOp string

const (
	// ManifestIs: the work is there, new or changed.
	ManifestIs ManifestOp = "is"
	// ManifestGone: the work is not there any more.
	ManifestGone ManifestOp = "gone"
	// ManifestAll: all works have been told since the welcome; what was not among
	// them is gone.
	ManifestAll ManifestOp = "all"
)

// ManifestWork tells a member that was registered here of its ManifestWorks, which
// the agent carries out as agents of Open Cluster Management do. A session begins
// with all of them; later frames tell of changes.
type ManifestWork struct {
	Op   ManifestOp `json:"op"`
	Name string     `json:"name,omitempty"`
	// Object is the ManifestWork. As an API object, it may have fields that the
	// agent does not know.
	Object json.RawMessage `json:"object,omitempty"`
}

// Type implements Frame.
func (*ManifestWork) Type() Type { return TypeManifestWork }

// Validate implements Frame.
func (f *ManifestWork) Validate() error {
	switch {
	case f.Op == ManifestAll && f.Name == "" && len(f.Object) == 0,
		f.Op == ManifestGone && f.Name != "" && len(f.Object) == 0,
		f.Op == ManifestIs && f.Name != "" && len(f.Object) > 0:
		return nil
	}
	return fmt.Errorf("operation %q with name %q is not one of is, gone, all with what belongs to it", clipped(string(f.Op)), clipped(f.Name))
}

// ManifestPatch is what the agent writes to a ManifestWork: its finalizers, or its
// status. An empty patch only reads. The hub answers with the same ID.
type ManifestPatch struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
	// Status says that the patch is of the status.
	Status bool `json:"status,omitempty"`
	// Patch is a JSON merge patch.
	Patch json.RawMessage `json:"patch,omitempty"`
}

// Type implements Frame.
func (*ManifestPatch) Type() Type { return TypeManifestPatch }

// Validate implements Frame. An agent may write no more of a work than this.
func (f *ManifestPatch) Validate() error {
	if f.ID == 0 || f.Name == "" {
		return errors.New("id and name are required")
	}
	if len(f.Patch) == 0 {
		return nil
	}
	var patch struct {
		Metadata *struct {
			UID             string   `json:"uid"`
			ResourceVersion string   `json:"resourceVersion"`
			Finalizers      []string `json:"finalizers"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	if err := strict(f.Patch, &patch); err != nil {
		return errors.New("the patch is of something else than finalizers or status")
	}
	if patch.Metadata == nil || patch.Metadata.UID == "" || patch.Metadata.ResourceVersion == "" {
		return errors.New("the patch does not say which version of the work it is for")
	}
	if f.Status != (len(patch.Status) > 0) {
		return errors.New("a patch is of the status, or of the finalizers")
	}
	return nil
}

// ManifestAnswer is what became of a ManifestPatch.
type ManifestAnswer struct {
	ID uint64 `json:"id"`
	// Code is the HTTP status, Message the reason if it is an error.
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
	// Object is the ManifestWork after the patch.
	Object json.RawMessage `json:"object,omitempty"`
}

// Type implements Frame.
func (*ManifestAnswer) Type() Type { return TypeManifestAnswer }

// Validate implements Frame.
func (f *ManifestAnswer) Validate() error {
	if f.ID == 0 || f.Code < 100 || f.Code > 599 {
		return errors.New("id and an HTTP status are required")
	}
	return nil
}

func clipped(text string) string {
	if len(text) > 40 {
		return text[:40]
	}
	return text
}
