// Package tunnel is the agent's end of the link to the hub: it dials out, keeps
// one WebSocket open, and comes back whenever it breaks (see package agentapi for
// the frames).
//
//	       ┌───────────────── wait (jittered, longer each time) ◄────┐
//	       ▼                                                          │
//	dial, hello ──refused──► told, wait as long as the hub says ──────┤
//	   │    └──removed──► Start returns ErrRemoved                    │
//	welcome ──► open: frames both ways ──broken, silent──────────────┘
//	                │  ▲
//	                └──┘ Redial: the new link is welcomed before the old one closes
//
// While nothing has been heard from the hub for longer than the deadline, and
// from the moment it is told that another agent has taken over, the handler is
// fenced: it must not write to the member.
package tunnel
