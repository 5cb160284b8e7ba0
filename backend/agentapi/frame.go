package agentapi

import (
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"
)

// Type names a kind of frame on the wire.
type Type string

// The frame types, agent to hub first.
const (
	TypeHello  Type = "hello"
	TypeBeat   Type = "beat"
	TypeStatus Type = "status"
	TypeAck    Type = "ack"
	TypeLog    Type = "log"
	// TypeManifestPatch exists from ProtocolManifestWorks on, as its two answers do.
	TypeManifestPatch Type = "manifestpatch"

	TypeWelcome Type = "welcome"
	TypeConfig  Type = "config"
	// TypeInterpreters exists from ProtocolInterpreters on.
	TypeInterpreters Type = "interpreters"
	TypeWork         Type = "work"
	TypeSynced       Type = "synced"
	TypeConfirmed    Type = "confirmed"
	TypeRefused      Type = "refused"
	TypeRemoved      Type = "removed"

	TypeManifestWork   Type = "manifestwork"
	TypeManifestAnswer Type = "manifestanswer"
)

// Sizes in bytes. A reader sets its connection's limit to MaxFromAgent or
// MaxFromHub, so that no more is ever buffered.
const (
	// MaxFromAgent bounds any frame an agent sends.
	MaxFromAgent = 2 << 20
	// MaxFromHub bounds any frame the hub sends. It leaves room for the largest
	// Work that etcd takes.
	MaxFromHub = 4 << 20
	// MaxAck bounds an ack. An agent whose reflected status is larger leaves the
	// status out and says so in a condition.
	MaxAck = 512 << 10
)

// maxBody holds the bound of each type's body.
var maxBody = map[Type]int{
	TypeHello:  16 << 10,
	TypeBeat:   256,
	TypeStatus: MaxFromAgent - envelope,
	TypeAck:    MaxAck,
	TypeLog:    8 << 10,

	TypeManifestPatch: MaxFromAgent - envelope,

	TypeWelcome:      256 << 10,
	TypeConfig:       256 << 10,
	TypeInterpreters: MaxFromHub - envelope,
	TypeWork:         MaxFromHub - envelope,
	TypeSynced:       1 << 10,
	TypeConfirmed:    256,
	TypeRefused:      8 << 10,
	TypeRemoved:      4 << 10,

	TypeManifestWork:   MaxFromHub - envelope,
	TypeManifestAnswer: MaxFromHub - envelope,
}

// envelope is an upper bound of what surrounds a body.
const envelope = 64

// Frame is one message of the link. The types of this package are the only ones.
type Frame interface {
	// Type names the frame on the wire.
	Type() Type
	// Validate checks what decoding alone does not: required fields, ranges and
	// counts. It does not judge meaning, such as whether a name exists.
	Validate() error
}

// MalformedError says that a message is not a frame of this contract. Its text
// may be sent to the peer and logged: it holds no content of the message beyond
// field names.
type MalformedError struct {
	Type   Type
	Reason string
}

func (e *MalformedError) Error() string {
	if e.Type == "" {
		return "malformed frame: " + e.Reason
	}
	return fmt.Sprintf("malformed %s frame: %s", e.Type, e.Reason)
}

// Encode returns the message of a frame. It fails with a *MalformedError if the
// frame is invalid or too large, so that a sender hears it before its peer does.
func Encode(f Frame) ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, malformed(f.Type(), err)
	}
	body, err := json.Marshal(f)
	if err != nil {
		return nil, malformed(f.Type(), err)
	}
	if limit := maxBody[f.Type()]; len(body) > limit {
		return nil, &MalformedError{Type: f.Type(), Reason: fmt.Sprintf("%d bytes, at most %d are allowed", len(body), limit)}
	}
	message := make([]byte, 0, len(body)+envelope)
	message = append(message, `{"type":"`...)
	message = append(message, f.Type()...)
	message = append(message, `","body":`...)
	message = append(message, body...)
	return append(message, '}'), nil
}

// DecodeFromAgent reads a frame that an agent may send. It fails with a
// *MalformedError.
func DecodeFromAgent(message []byte) (Frame, error) {
	return decode(message, map[Type]func() Frame{
		TypeHello:  func() Frame { return new(Hello) },
		TypeBeat:   func() Frame { return new(Beat) },
		TypeStatus: func() Frame { return new(Status) },
		TypeAck:    func() Frame { return new(Ack) },
		TypeLog:    func() Frame { return new(Log) },

		TypeManifestPatch: func() Frame { return new(ManifestPatch) },
	})
}

// DecodeFromHub reads a frame that the hub may send. It fails with a
// *MalformedError.
func DecodeFromHub(message []byte) (Frame, error) {
	return decode(message, map[Type]func() Frame{
		TypeWelcome:      func() Frame { return new(Welcome) },
		TypeConfig:       func() Frame { return new(Config) },
		TypeInterpreters: func() Frame { return new(Interpreters) },
		TypeWork:         func() Frame { return new(Work) },
		TypeSynced:       func() Frame { return new(Synced) },
		TypeConfirmed:    func() Frame { return new(Confirmed) },
		TypeRefused:      func() Frame { return new(Refused) },
		TypeRemoved:      func() Frame { return new(Removed) },

		TypeManifestWork:   func() Frame { return new(ManifestWork) },
		TypeManifestAnswer: func() Frame { return new(ManifestAnswer) },
	})
}

func decode(message []byte, known map[Type]func() Frame) (Frame, error) {
	var head struct {
		Type Type            `json:"type"`
		Body json.RawMessage `json:"body"`
	}
	if err := strict(message, &head); err != nil {
		return nil, malformed("", err)
	}
	blank, ok := known[head.Type]
	if !ok {
		return nil, &MalformedError{Reason: "unknown type"}
	}
	if len(head.Body) == 0 {
		return nil, &MalformedError{Type: head.Type, Reason: "no body"}
	}
	if limit := maxBody[head.Type]; len(head.Body) > limit {
		return nil, &MalformedError{Type: head.Type, Reason: fmt.Sprintf("%d bytes, at most %d are allowed", len(head.Body), limit)}
	}
	f := blank()
	read := strict
	if head.Type == TypeHello {
		read = kjson.UnmarshalCaseSensitivePreserveInts // unknown fields of newer agents pass
	}
	if err := read(head.Body, f); err != nil {
		return nil, malformed(head.Type, err)
	}
	if err := f.Validate(); err != nil {
		return nil, malformed(head.Type, err)
	}
	return f, nil
}

// strict decodes JSON and refuses unknown fields, duplicate keys and keys that
// differ in case.
func strict(data []byte, into any) error {
	lenient, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return err
	}
	return errors.Join(lenient...)
}

// maxReason keeps a hostile peer from having its own text echoed at length.
const maxReason = 200

func malformed(t Type, err error) *MalformedError {
	reason := err.Error()
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "…"
	}
	return &MalformedError{Type: t, Reason: reason}
}
