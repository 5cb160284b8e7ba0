package tunnel

import (
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// outbox holds what an agent has yet to be sent: at most one task a Work, as
// keys, so that a slow agent costs little. A goroutine writes while there is
// something to write.
type outbox struct {
	session *session

	mu        sync.Mutex
	begun     bool // welcome has been sent
	writing   bool
	order     []string                 // names, in order of their tasks
	tasks     map[string]entry         // by name
	upTo      uint64                   // all changes up to here are, or have been, in tasks
	synced    uint64                   // as last told
	first     bool                     // the first synced is still to be told
	known     map[types.UID]struct{}   // for its digest; nil if none is due
	lessons   []*agentapi.Interpreters // yet to be sent
	taught    uint64                   // their version
	changed   *agentapi.Config
	confirmed uint64 // acks, to be told; 0: nothing new
	// manifests are names of ManifestWorks yet to be told of, manifestSet the same as
	// a set; "" stands for the word that they are all.
	manifests   []string
	manifestSet map[string]struct{}
	answers     []*agentapi.ManifestAnswer
	finished    sync.WaitGroup
}

func newOutbox(s *session) *outbox {
	return &outbox{session: s, tasks: map[string]entry{}, first: true, manifestSet: map[string]struct{}{}}
}

// begin fills the outbox after the welcome: with what is due, beside what has
// changed meanwhile. all are the Works the hub has; a resumed session ends its
// first batch with their digest.
func (o *outbox) begin(due []entry, all []types.UID, upTo uint64, resumed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if resumed {
		o.known = make(map[types.UID]struct{}, len(all))
		for _, uid := range all {
			o.known[uid] = struct{}{}
		}
	}
	for _, e := range due {
		if _, newer := o.tasks[e.name]; !newer {
			o.push(e)
		}
	}
	o.upTo = max(o.upTo, upTo)
	o.begun = true
	o.wake()
}

// add puts a task in, in place of an earlier one of the same Work.
func (o *outbox) add(e entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(e)
	o.upTo = max(o.upTo, e.revision)
	o.wake()
}

func (o *outbox) push(e entry) {
	if _, waiting := o.tasks[e.name]; !waiting {
		o.order = append(o.order, e.name)
	}
	o.tasks[e.name] = e
}

func (o *outbox) config(f *agentapi.Config) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed = f
	o.wake()
}

func (o *outbox) confirm(sequence uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.confirmed = sequence
	o.wake()
}

// wake starts the writer if it sleeps. The lock is held.
func (o *outbox) wake() {
	if o.begun && !o.writing && o.session.ctx.Err() == nil {
		o.writing = true
		o.finished.Go(o.run)
	}
}

// wait returns once the writer has stopped; the session's context has ended.
func (o *outbox) wait() { o.finished.Wait() }

func (o *outbox) run() {
	for {
		frame, err := o.next()
		if err == nil && frame == nil {
			return
		}
		if err == nil {
			err = o.session.write(frame)
		}
		var malformed *agentapi.MalformedError
		if errors.As(err, &malformed) { // too large to send: the agent's others must not wait for it
			o.session.log.Error("work not delivered", "error", err)
			continue
		}
		if err != nil {
			o.fail(err)
			return
		}
	}
}

// fail ends the session: the agent does not read, or the store does not answer.
// It will come back and go on where it was.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	o.writing = false
	o.begun = false
	o.mu.Unlock()
	var slow net.Error
	switch {
	case o.session.ctx.Err() != nil:
	case errors.As(err, &slow) && slow.Timeout():
		o.session.end(agentapi.CloseSlow, "the agent reads too slowly")
	default:
		o.session.log.Debug("writing to the agent failed", "error", err)
		o.session.end(agentapi.CloseSlow, "writing to the agent failed")
	}
}

// next returns the next frame to write, nil once there is none: the writer then
// sleeps.
func (o *outbox) next() (agentapi.Frame, error) {
	for {
		e, manifest, frame := o.pop()
		if frame != nil {
			return frame, nil
		}
		if manifest != nil {
			return o.session.manifestDelivery(*manifest)
		}
		if e == nil {
			return nil, o.session.ctx.Err()
		}
		delivery, err := o.session.delivery(*e)
		if err != nil {
			return nil, err
		}
		if delivery != nil {
			o.track(delivery)
			return delivery, nil
		}
	}
}

// pop takes the next task, the name of the next ManifestWork, or the next small
// frame. All are nil if the writer has nothing left.
func (o *outbox) pop() (*entry, *string, agentapi.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session.ctx.Err() != nil {
		o.writing = false
		return nil, nil, nil
	}
	if len(o.answers) > 0 {
		f := o.answers[0]
		o.answers = o.answers[1:]
		return nil, nil, f
	}
	if len(o.lessons) > 0 { // before the Works that are interpreted by them
		f := o.lessons[0]
		o.lessons = o.lessons[1:]
		return nil, nil, f
	}
	if f := o.changed; f != nil {
		o.changed = nil
		return nil, nil, f
	}
	if n := o.confirmed; n > 0 {
		o.confirmed = 0
		return nil, nil, &agentapi.Confirmed{Sequence: n}
	}
	if len(o.order) > 0 {
		name := o.order[0]
		o.order = o.order[1:]
		e := o.tasks[name]
		delete(o.tasks, name)
		return &e, nil, nil
	}
	o.order = nil
	if o.first || o.upTo > o.synced {
		f := &agentapi.Synced{Revision: o.upTo}
		if o.known != nil {
			uids := make([]types.UID, 0, len(o.known))
			for uid := range o.known {
				uids = append(uids, uid)
			}
			f.Digest = agentapi.Digest(uids)
		}
		o.first, o.known, o.synced = false, nil, o.upTo
		return nil, nil, f
	}
	if name, ok := o.popManifest(); ok {
		return nil, &name, nil
	}
	o.writing = false
	return nil, nil, nil
}

// track keeps the set of Works that the first digest covers.
func (o *outbox) track(f *agentapi.Work) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		return
	}
	if f.Op == agentapi.OpForget {
		delete(o.known, f.UID)
		return
	}
	o.known[f.UID] = struct{}{}
}

// sorted puts Works first that others need: namespaces and CRDs.
func (s *session) sorted(due []entry) []entry {
	rank := make(map[string]int, len(due))
	for _, e := range due {
		work := &workv1alpha1.Work{}
		if err := s.link.options.Store.Get(s.ctx, client.ObjectKey{Namespace: apis.ExecutionSpace(s.cluster), Name: e.name}, work); err == nil {
			rank[e.name] = precedence(work)
		}
	}
	slices.SortFunc(due, func(a, b entry) int {
		if d := rank[a.name] - rank[b.name]; d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return due
}

// precedence orders Works for a first delivery. Removals come last: a namespace
// goes after what is in it.
func precedence(work *workv1alpha1.Work) int {
	if work.DeletionTimestamp != nil {
		return 3
	}
	lowest := 2
	for i := range work.Spec.Workload.Manifests {
		var head struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &head) != nil {
			continue
		}
		switch head.Kind {
		case "Namespace":
			lowest = 0
		case "CustomResourceDefinition":
			lowest = min(lowest, 1)
		}
	}
	return lowest
}
