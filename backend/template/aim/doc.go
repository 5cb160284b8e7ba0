// Package aim notices policies that select nothing: a typing error in a selector
// looks just like a policy that does its work. It tells of it with an Event on the
// policy, and policy.Misses, from which the dashboard has it. Policies have no
// status to say it in.
//
//	            nothing matches              settle has passed: Event MatchesNothing
//	matching ──────────────────► watched ─────────────────────────────────────► told
//	   ▲                            │ something matches                           │
//	   └────────────────────────────┴────────── Event MatchesObjects ◄────────────┘
//
// Invariants: one Event for each arrow, however often a policy is looked at; a
// policy whose kind cannot be read now is not judged. Package template brings
// policies to templates; this one changes neither.
package aim
