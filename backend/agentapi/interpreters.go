package agentapi

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// ProtocolInterpreters is the first protocol number with Interpreters frames.
const ProtocolInterpreters = 2

// maxInterpreters bounds, in bytes, the objects of one Interpreters frame.
const maxInterpreters = MaxFromHub / 2

// Interpreters tells an agent how kinds are to be interpreted that are not native,
// or differently: all customizations and webhooks there are. It is sent first in
// a session, before any Work, and whenever they have changed. Lists of several
// frames may be replaced before their last one: First begins new ones.
type Interpreters struct {
	// Customizations and Webhooks are ResourceInterpreterCustomizations and
	// ResourceInterpreterWebhookConfigurations. As API objects, they may have
	// fields that the agent does not know.
	Customizations []json.RawMessage `json:"customizations"`
	Webhooks       []json.RawMessage `json:"webhooks"`
	// First says that this frame begins the lists.
	First bool `json:"first,omitempty"`
	// More says that the next frame of this type continues the lists.
	More bool `json:"more,omitempty"`
}

// Type implements Frame.
func (*Interpreters) Type() Type { return TypeInterpreters }

// Validate implements Frame.
func (f *Interpreters) Validate() error {
	if len(f.Customizations)+len(f.Webhooks) > 10000 {
		return errors.New("more than 10000 objects")
	}
	return nil
}

// NewInterpreters returns the frames for two lists: one, or more if they are
// long. An object that alone is too large for a frame is an error.
func NewInterpreters(customizations []configv1alpha1.ResourceInterpreterCustomization, webhooks []configv1alpha1.ResourceInterpreterWebhookConfiguration) ([]*Interpreters, error) {
	frame := newInterpreters()
	frame.First = true
	frames, size := []*Interpreters{frame}, 0
	add := func(object any, name string, list func(*Interpreters) *[]json.RawMessage) error {
		raw, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode interpreter %s: %w", name, err)
		}
		if len(raw) > maxInterpreters {
			return fmt.Errorf("interpreter %s has %d bytes, agents are sent at most %d", name, len(raw), maxInterpreters)
		}
		if size += len(raw); size > maxInterpreters {
			frame.More = true
			frame, size = newInterpreters(), len(raw)
			frames = append(frames, frame)
		}
		into := list(frame)
		*into = append(*into, raw)
		return nil
	}
	for i := range customizations {
		slim := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: customizations[i].Name}, Spec: customizations[i].Spec}
		if err := add(&slim, slim.Name, func(f *Interpreters) *[]json.RawMessage { return &f.Customizations }); err != nil {
			return nil, err
		}
	}
	for i := range webhooks {
		slim := configv1alpha1.ResourceInterpreterWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhooks[i].Name}, Webhooks: webhooks[i].Webhooks}
		if err := add(&slim, slim.Name, func(f *Interpreters) *[]json.RawMessage { return &f.Webhooks }); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

func newInterpreters() *Interpreters {
	return &Interpreters{Customizations: []json.RawMessage{}, Webhooks: []json.RawMessage{}}
}

// Objects decodes the lists.
func (f *Interpreters) Objects() ([]configv1alpha1.ResourceInterpreterCustomization, []configv1alpha1.ResourceInterpreterWebhookConfiguration, error) {
	customizations := make([]configv1alpha1.ResourceInterpreterCustomization, len(f.Customizations))
	for i, raw := range f.Customizations {
		if err := json.Unmarshal(raw, &customizations[i]); err != nil {
			return nil, nil, malformed(TypeInterpreters, fmt.Errorf("customizations[%d]: %w", i, err))
		}
	}
	webhooks := make([]configv1alpha1.ResourceInterpreterWebhookConfiguration, len(f.Webhooks))
	for i, raw := range f.Webhooks {
		if err := json.Unmarshal(raw, &webhooks[i]); err != nil {
			return nil, nil, malformed(TypeInterpreters, fmt.Errorf("webhooks[%d]: %w", i, err))
		}
	}
	return customizations, webhooks, nil
}
