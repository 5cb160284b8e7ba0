// Package live brings changes to browsers over one WebSocket.
//
// A change is published once, encoded once and numbered per topic; a client
// that was away resumes from the number it has, or is told to fetch again when
// the hub no longer holds what it missed. Publishing never blocks, and a reader
// that does not keep up is closed (4008) without delaying others.
//
//	         auth            subscribe               event | resync | denied
//	connect ──────► ready ──────────────► subscribed ─────────────────────► …
//
// The browser sends, as JSON text:
//
//	{"type":"auth","ticket":"…"}                                   first, within 10 s
//	{"type":"subscribe","topic":"clusters","epoch":"…","seq":12}   without epoch: from now on
//	{"type":"unsubscribe","topic":"clusters"}
//
// The hub sends:
//
//	{"type":"ready","epoch":"…"}
//	{"type":"subscribed","topic":"…","epoch":"…","seq":12}
//	{"type":"event","topic":"…","seq":13,"op":"upsert"|"delete","key":"…","row":{…}}
//	{"type":"resync","topic":"…","epoch":"…","seq":40}             fetch again, REST answers carry epoch and seq
//	{"type":"denied","topic":"…","detail":"…"}
//	{"type":"ping","at":"…"}                                       every 10 s
//
// Close codes of ours: 4008 the reader is too slow, 4401 there is no session
// (any more).
package live

import "encoding/json"

// Event is one change of one row.
type Event struct {
	// Op is OpUpsert or OpDelete.
	Op string
	// Key names the row within its topic.
	Key string
	// Row is the row as the REST API shows it; nil for OpDelete.
	Row any
}

// What happened to a row.
const (
	OpUpsert = "upsert"
	OpDelete = "delete"
)

// Close codes of the WebSocket.
const (
	CloseSlowReader   = 4008
	CloseSessionEnded = 4401
)

// request is what a client sends.
type request struct {
	Type   string `json:"type"`
	Ticket string `json:"ticket"`
	Topic  string `json:"topic"`
	Epoch  string `json:"epoch"`
	Seq    uint64 `json:"seq"`
}

// message is what the hub sends.
type message struct {
	Type   string          `json:"type"`
	Topic  string          `json:"topic,omitempty"`
	Epoch  string          `json:"epoch,omitempty"`
	Seq    uint64          `json:"seq,omitempty"`
	Op     string          `json:"op,omitempty"`
	Key    string          `json:"key,omitempty"`
	Row    json.RawMessage `json:"row,omitempty"`
	Detail string          `json:"detail,omitempty"`
	At     string          `json:"at,omitempty"`
}

func (m message) encode() []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings, numbers and JSON we have encoded before
	}
	return data
}
