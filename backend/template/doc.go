// Package template watches the objects of the hub that policies may mean, the
// templates, and ties each to the policy it belongs to (contract sections 8.2,
// 8.3 and 9.8).
//
//	Cache ──► detector ──► claim on the template ──► binding   ◄── dependencies distributor
//	            ▲                                       ▲
//	   policies ┘                                       └── WorkloadRebalancer
//
// The Cache (package catalog) holds every template once, for all of the hub. The
// detector chooses a policy per template, writes the claim and then the binding,
// which it creates with its clusters already chosen: two writes a template. What
// a binding gets from the scheduler, from evictions and from other bindings it
// leaves alone.
//
// Invariants: a template is handled by one worker at a time; nothing is written
// that is so already; nothing is locked while the API is called. Deleting a
// policy takes its claims away and never a workload.
package template
