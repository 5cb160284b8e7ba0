// Package catalog holds every template of the hub, once, in memory: one watch for
// each kind that is served, kinds that are installed later included. What is no
// template (Scope) is not kept. Package template names what others use of it.
//
// Invariants: events of one object come in order; a kind that cannot be read
// holds up no other; objects in the catalog are never changed.
package catalog
