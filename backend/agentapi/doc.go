// Package agentapi is the contract between the hub and muster-agent: names both
// sides know, and the frames of the one outbound WebSocket an agent keeps open.
//
// # The link
//
// The agent dials https://HUB + [LinkPath] with its client certificate and pins
// the hub's CA. Every message is one JSON text message
//
//	{"type":"beat","body":{"sequence":7}}
//
// and is one of the frame types below. Identity comes from the certificate
// alone: no frame names the cluster it speaks for.
//
//	agent                                   hub
//	  │ hello{protocol, clusterID, resume}   │
//	  ├─────────────────────────────────────►│  refused{code, message, fix} + close,
//	  │        welcome{session, epoch, …}    │  or removed{} + close, or
//	  │◄─────────────────────────────────────┤
//	  │ interpreters{customizations, …}      │  and whenever they change
//	  │◄─────────────────────────────────────┤
//	  │ status{complete}, then changed parts │
//	  ├─────────────────────────────────────►│
//	  │ work{apply|remove|forget} …          │
//	  │◄─────────────────────────────────────┤
//	  │ synced{revision}                     │  all up to revision has been sent
//	  │◄─────────────────────────────────────┤
//	  │ ack{work, status}                    │
//	  ├─────────────────────────────────────►│
//	  │ confirmed{sequence}                  │  acks up to sequence are stored
//	  │◄─────────────────────────────────────┤
//	  │ beat … ping / pong                   │  each heartbeat
//	  ├─────────────────────────────────────►│
//
// # Resume
//
// The revision of a Work is the resourceVersion under which the hub last changed
// what the agent has to do. After synced{R} the agent knows everything up to R; a
// reconnecting agent that still holds its Works in memory says so in
// hello.resume and gets only what is newer. The epoch names the hub's store, not
// its process: it survives a restart of the hub and changes when the store does.
// The first synced of a session carries the number and the digest of the Works
// the hub has for the agent; if the agent holds others, it asks for all of them
// by connecting without a resume.
//
// Acks are kept by the agent until confirmed and are sent again on the next
// session, so a lost connection loses none. Sending twice is harmless: the hub
// writes only what differs.
//
// # Versions and limits
//
// hello carries the range of protocol numbers the agent speaks, welcome the one
// chosen. A new field or frame type needs a new number, because decoding is
// strict: unknown fields, wrong case, duplicate keys and oversized frames close
// the link with [CloseMalformed]. hello alone ignores unknown fields, so that an
// older hub can read a newer agent's first word. The Work inside a work frame is
// an API object and follows the rules of those: unknown fields are ignored;
// so do the objects of an interpreters frame, which protocol 2 added.
// Sizes are checked before a frame is decoded, and quantities before they are
// parsed, since a peer that has authenticated may still lie.
package agentapi
