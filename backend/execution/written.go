package execution

import (
	"k8s.io/utils/lru"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// rememberedWrites is how many Works' last status writes are remembered: more
// than are ever on their way back to the cache.
const rememberedWrites = 4096

// ownWrites knows the statuses that were written and that the cache may not show
// yet: the member tells of an object in the moment it is made, before the hub's
// watch tells of what was written about it.
type ownWrites struct{ last *lru.Cache }

// ownWrite is a status that was written on top of a version of the cache.
type ownWrite struct {
	on, version string
	status      workv1alpha1.WorkStatus
}

func newOwnWrites() *ownWrites { return &ownWrites{lru.New(rememberedWrites)} }

// newest is the version and the status of a Work of the cache, or those that were
// written on top of it.
func (w *ownWrites) newest(work *workv1alpha1.Work) (version string, status workv1alpha1.WorkStatus) {
	known, ok := w.last.Get(work.UID)
	if write, is := known.(ownWrite); ok && is && write.on == work.ResourceVersion {
		return write.version, write.status
	}
	return work.ResourceVersion, work.Status
}

// note remembers what a write on top of a Work of the cache made of it.
func (w *ownWrites) note(work, written *workv1alpha1.Work) {
	w.last.Add(work.UID, ownWrite{on: work.ResourceVersion, version: written.ResourceVersion, status: written.Status})
}

func (w *ownWrites) forget(work *workv1alpha1.Work) { w.last.Remove(work.UID) }
