// Package registration owns the staged record of one cluster's joining: how far
// it has come, where it stopped and what to do about that.
//
// # Home of facts
//
// A Registration has no object on the hub, so it lives in SQL: its row, its
// stages and the newest lines of its log. Records holds the open ones in memory
// too. It survives reload and restart of the hub.
//
// # Who advances it
//
//	Observe           first contact and use of a token, as the hub API sees them
//	identity          certificate requests: approved, refused, issued
//	liveness          the link of our agent
//	enrolment         what a push join does; cancelling
//	ClusterChanged    what the Cluster itself shows
//
// They call StageRecorder, which never blocks: Records applies the events one
// after the other.
//
// # Invariants
//
// A stage that is done keeps its first time. A stage proves those before it. A
// final registration never changes. Only tokens that exist begin a record, so
// that strangers cannot fill the table. Texts from members and terminals are
// stored and shown as plain text (PlainText), and no secret is among them. Each
// failure has a code, a cause and a fix (Advise).
package registration
