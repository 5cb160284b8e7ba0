// Package audit owns the record of who changed what, through REST and through
// the hub API.
//
// Invariants: an intent is stored before the change it announces, which is
// refused if it cannot be; entries are only ever appended (the database refuses
// to change or remove them); the outcome is a second entry under the same key,
// which is ours and never a client's Audit-ID; denied attempts are recorded;
// no value of a secret is.
//
//	            stored                 ok, denied, failed
//	(asked) ───────────► pending ───────────────────────► closed
//	   │ not storable       │ the hub stopped before it knew
//	   ▼                    ▼ (found at the next start)
//	refused              unknown
//
// Left out are leases, events, heartbeats, reviews (which change nothing), the
// status that agents report, and what the hub's own controllers do.
package audit
