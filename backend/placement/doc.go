// Package placement owns which managed clusters something goes to: the sets of
// clusters, their bindings to namespaces, placements and the decisions made for
// them (contract ocm.md sections 1.3 and 1.4).
//
//	clusters ─► in a bound set ─► a predicate matches ─► taints tolerated ─► scored ─► spread ─► groups ─► PlacementDecisions
//	               NotInSet          NotMatched             Tainted          Outranked   Uneven
//
// Decide is that line as a pure function; each word under it is the reason of a
// cluster that is left out there. Controllers read what it needs, and write what
// it says.
//
// # Who writes what
//
// Conditions: ClusterSetEmpty of sets, Bound of bindings, PlacementSatisfied and
// PlacementMisconfigured of placements. Objects: the sets default and global,
// which always exist, and all PlacementDecisions. Admission judges bindings.
//
// # Invariants
//
// A cluster is chosen only through a bound set, and never while it is being
// deleted. A placement that makes no sense keeps the decisions that it has. A
// placement without clusters has one empty decision. Scores alone change
// decisions no more often than the placement allows.
package placement
