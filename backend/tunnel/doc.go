// Package tunnel is the hub's end of the agents' links: one WebSocket for each
// connected muster-agent (see package agentapi for the frames).
//
// We own the sessions. Liveness of a cluster and its Cluster object belong to
// package liveness, which is told through Liveness; what Works say belongs to
// propagation. Of a Work we write the status and take the execution finalizer
// off, and only on the word of that Work's own agent.
//
// Invariants:
//
//   - Who an agent speaks for is taken from its TLS certificate and nothing
//     else; impersonation and bearer tokens open no link.
//   - One session a cluster. The newest wins; the one it replaces is told, and is
//     not let back in while its successor lives.
//   - A slow reader costs a bounded queue of keys, coalesced by Work, and its own
//     link. No session waits for another.
//   - A connected agent at rest causes no write to the hub's store.
//   - Clusters of the unmodified karmada-agent have no session; their Works are
//     theirs to watch.
//
// States of a session:
//
//	accepted ──hello──► judged ──welcome──► live ──► ended
//	    │                 │ refused, removed  │ superseded, silent, slow,
//	    └─ no hello ──────┴───────────────────┴ malformed, removed, hub stops
package tunnel
