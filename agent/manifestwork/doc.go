// Package manifestwork is the work agent of a cluster that belongs to an Open
// Cluster Management hub, ours or another: it brings the manifests of the
// ManifestWorks in its cluster's namespace into the member, keeps them there, says
// what became of them and takes them out again (contract ocm.md, 1.5).
//
//	hub: ManifestWorks ──feed──► queue ──► worker ──► member: objects
//	                               ▲         │   │
//	member: feeds of the kinds ────┤         │   └──► member: AppliedManifestWork
//	member: AppliedManifestWorks ──┘         └──► hub: finalizer, status
//
// In the member, an AppliedManifestWork stands for each work. It owns the objects
// that go with the work, and lists them, so that what is taken out of a work, or
// belongs to a work or a hub that is gone, can be found and removed. It is there
// before the first object. The finalizer at the hub is written meanwhile, and nothing
// is reported before it is; what a work applied that goes until then is removed at
// once, without the time of grace that objects of a vanished work have.
//
// Every kind that a work uses is watched once, for all works. What the watch tells
// answers the questions of the next pass, so that a pass which finds everything as
// it should be asks the member nothing; a change by somebody else is undone, and a
// change of status reported, when it is seen. Kinds that the agent may not watch
// are read at an interval.
package manifestwork
