package tunnel

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// ledger knows, of every Work, under which revision the agent's task last
// changed. The resource version alone does not tell: every ack raises it.
type ledger struct {
	mu    sync.Mutex
	works map[string]map[string]*task // by namespace and name
	last  map[string]uint64           // by namespace: the highest revision of a task
}

type task struct {
	uid        types.UID
	generation int64
	deleting   bool
	revision   uint64
	// done says that, when the hub started, the Work's status showed that the
	// agent had this generation already.
	done bool
}

// entry is a task on its way to an agent.
type entry struct {
	name     string
	uid      types.UID
	revision uint64
	forget   bool // the Work is gone from the hub
}

func newLedger() *ledger {
	return &ledger{works: map[string]map[string]*task{}, last: map[string]uint64{}}
}

// note takes a Work as the store shows it. It says whether the agent has
// something new to do.
func (l *ledger) note(work *workv1alpha1.Work) (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tasks := l.works[work.Namespace]
	if tasks == nil {
		tasks = map[string]*task{}
		l.works[work.Namespace] = tasks
	}
	now := &task{uid: work.UID, generation: work.Generation, deleting: work.DeletionTimestamp != nil, revision: revisionOf(work)}
	before := tasks[work.Name]
	if before != nil && before.uid == now.uid && before.generation == now.generation && before.deleting == now.deleting {
		return entry{}, false
	}
	now.done = before == nil && !now.deleting && acked(work)
	tasks[work.Name] = now
	l.last[work.Namespace] = max(l.last[work.Namespace], now.revision)
	return entry{name: work.Name, uid: now.uid, revision: now.revision}, true
}

// drop forgets a Work that is gone. It is false if another one has its name.
func (l *ledger) drop(work *workv1alpha1.Work) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	tasks := l.works[work.Namespace]
	if t := tasks[work.Name]; t == nil || t.uid != work.UID {
		return false
	}
	delete(tasks, work.Name)
	if len(tasks) == 0 {
		delete(l.works, work.Namespace)
	}
	return true
}

// since returns what an agent has to be sent that has seen everything up to a
// revision (0: nothing), the UIDs of all Works there are, and the revision up to
// which that is complete.
func (l *ledger) since(cluster string, revision uint64) (due []entry, all []types.UID, upTo uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	namespace := apis.ExecutionSpace(cluster)
	for name, t := range l.works[namespace] {
		all = append(all, t.uid)
		if revision == 0 || t.revision > revision && !t.done {
			due = append(due, entry{name: name, uid: t.uid, revision: t.revision})
		}
	}
	return due, all, max(l.last[namespace], revision)
}

// acked says whether a Work's status shows that an agent has taken in its
// current generation.
func acked(work *workv1alpha1.Work) bool {
	for _, kind := range []string{workv1alpha1.WorkApplied, workv1alpha1.WorkDispatching} {
		if c := meta.FindStatusCondition(work.Status.Conditions, kind); c != nil && c.ObservedGeneration == work.Generation {
			return work.Generation > 0
		}
	}
	return false
}

// revisionOf reads the resource version as the number it is in our store.
func revisionOf(work *workv1alpha1.Work) uint64 {
	revision, err := strconv.ParseUint(work.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision
}
