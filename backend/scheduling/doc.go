// Package scheduling chooses the clusters of a binding and how many replicas
// each of them runs (contract section 9).
//
// Decide is a pure function over an immutable Snapshot of the clusters. The
// reconciler writes what it says to bindings; the preview shows what it says to
// people; both run the very same code.
package scheduling
