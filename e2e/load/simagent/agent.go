package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/agent/tunnel"
	"muster.dev/muster/backend/agentapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// agent is one agent with its member. It is its link's tunnel.Handler. Like the
// real one it keeps acks until they are confirmed, and resumes.
type agent struct {
	*fleet
	cluster  string
	instance string
	link     *tunnel.Client
	first    sync.Once // the first welcome, or refusal

	mu       sync.Mutex
	live     bool
	uid      types.UID // of the Cluster
	epoch    string
	revision uint64 // synced up to here
	works    map[string]held
	fresh    map[types.UID]struct{} // delivered in a session that is not resumed; nil afterwards
	pending  []*agentapi.Ack        // not confirmed, in order
	sequence uint64                 // of acks
	beats    uint64
}

// held is a Work the agent has.
type held struct {
	uid      types.UID
	revision uint64
	removed  bool // and acked
}

func newAgent(f *fleet, cluster string) *agent {
	return &agent{fleet: f, cluster: cluster, instance: rand.Text(), works: map[string]held{}}
}

// clusterID is the same each time the program plays the cluster.
func (a *agent) clusterID() string {
	sum := sha256.Sum256([]byte("simagent " + a.cluster))
	text := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}

func (a *agent) state() (works int, live bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.works), a.live
}

// Hello implements tunnel.Handler. It is called when there is no link.
func (a *agent) Hello() *agentapi.Hello {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.live = false
	h := &agentapi.Hello{
		// Our members carry out Works, no ManifestWorks.
		Protocol: agentapi.ProtocolManifestWorks - 1, MinProtocol: agentapi.MinProtocol, AgentVersion: "simagent", Instance: a.instance,
		ClusterID: a.clusterID(), ClusterUID: a.uid, APIEndpoint: "https://" + a.cluster + ".invalid:6443",
	}
	if a.revision > 0 {
		h.Resume = &agentapi.Resume{Epoch: a.epoch, Revision: a.revision}
	}
	return h
}

// Welcome implements tunnel.Handler.
func (a *agent) Welcome(w *agentapi.Welcome) {
	a.counters.Add("sessions")
	a.mu.Lock()
	a.live, a.uid, a.epoch, a.fresh = true, w.ClusterUID, w.Epoch, nil
	if w.Resumed {
		a.counters.Add("resumed")
	} else {
		a.revision, a.fresh = 0, map[types.UID]struct{}{}
	}
	pending := a.pending
	a.mu.Unlock()
	a.link.Send(agentapi.CompleteStatus(a.inventory()))
	for _, ack := range pending {
		a.send(ack)
	}
	a.first.Do(a.ramp.Through)
}

// Refused implements tunnel.Handler.
func (a *agent) Refused(*agentapi.Refused) { a.counters.Add("refused") }

// Fenced implements tunnel.Handler. There is no member to keep our hands off.
func (a *agent) Fenced() {}

// Frame implements tunnel.Handler.
func (a *agent) Frame(f agentapi.Frame) error {
	switch f := f.(type) {
	case *agentapi.Work:
		return a.deliver(f)
	case *agentapi.Synced:
		return a.sync(f)
	case *agentapi.Confirmed:
		a.confirm(f.Sequence)
	case *agentapi.Interpreters, *agentapi.Config: // our kinds are the native ones, our nodes do not change
	default:
		a.counters.Add("malformed")
		return &agentapi.MalformedError{Type: f.Type(), Reason: "not expected here"}
	}
	return nil
}

// deliver takes a Work, or takes it out.
func (a *agent) deliver(f *agentapi.Work) error {
	switch f.Op {
	case agentapi.OpForget:
		a.counters.Add("forgotten")
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.works[f.Name].uid == f.UID {
			delete(a.works, f.Name)
		}
		return nil
	case agentapi.OpRemove:
		a.counters.Add("removed")
	default:
		a.counters.Add("applied")
	}
	work, err := f.Object()
	if err != nil {
		a.counters.Add("malformed")
		return err
	}
	a.mu.Lock()
	known, again := a.works[f.Name]
	a.works[f.Name] = held{uid: f.UID, revision: f.Revision, removed: f.Op == agentapi.OpRemove}
	if a.fresh != nil {
		a.fresh[f.UID] = struct{}{}
	}
	a.mu.Unlock()
	if f.Op == agentapi.OpApply && (!again || known.uid != f.UID) {
		a.latency.NoteSince(f.Work)
	}
	if a.options.delay == 0 {
		a.acknowledge(f, work)
	} else {
		time.AfterFunc(a.options.delay, func() { a.acknowledge(f, work) })
	}
	return nil
}

// acknowledge says what became of a delivery.
func (a *agent) acknowledge(f *agentapi.Work, work *workv1alpha1.Work) {
	ack := &agentapi.Ack{Name: f.Name, UID: f.UID, Revision: f.Revision, Removed: f.Op == agentapi.OpRemove}
	if !ack.Removed {
		ack.Conditions, ack.ManifestStatuses = a.outcome(work)
	}
	a.mu.Lock()
	a.sequence++
	ack.Sequence = a.sequence
	a.pending = append(a.pending, ack)
	a.mu.Unlock()
	a.send(ack)
}

func (a *agent) send(ack *agentapi.Ack) {
	a.counters.Add("acks")
	a.link.Send(ack)
}

// errIncomplete makes the link be opened anew, without resuming.
var errIncomplete = errors.New("the hub has other works than the agent")

// sync notes that everything up to a revision is here.
func (a *agent) sync(f *agentapi.Synced) error {
	a.counters.Add("synced")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh != nil {
		for name, w := range a.works {
			if _, ok := a.fresh[w.uid]; !ok {
				delete(a.works, name)
			}
		}
		a.fresh = nil
	}
	if f.Digest != "" && f.Digest != a.digest(true) && f.Digest != a.digest(false) {
		a.counters.Add("incomplete")
		a.revision = 0
		return errIncomplete
	}
	a.revision = f.Revision
	return nil
}

// digest covers the Works the hub should still have.
func (a *agent) digest(removed bool) string {
	uids := make([]types.UID, 0, len(a.works))
	for _, w := range a.works {
		if removed || !w.removed {
			uids = append(uids, w.uid)
		}
	}
	return agentapi.Digest(uids)
}

// confirm forgets the acks that the hub has stored.
func (a *agent) confirm(sequence uint64) {
	a.counters.Add("confirmed")
	a.mu.Lock()
	defer a.mu.Unlock()
	stored := 0
	for stored < len(a.pending) && a.pending[stored].Sequence <= sequence {
		stored++
	}
	a.pending = append([]*agentapi.Ack(nil), a.pending[stored:]...)
}

// beat says that the agent is alive.
func (a *agent) beat() {
	a.mu.Lock()
	live := a.live
	a.beats++
	sequence := a.beats
	a.mu.Unlock()
	if live {
		a.counters.Add("beats")
		a.link.Send(&agentapi.Beat{Sequence: sequence})
	}
}
