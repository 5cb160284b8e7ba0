package agent

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
)

// notes writes what the hub says of the agent beside its identity, where the
// register command and the agent's own next start find it. Writing to the member
// may take time, so it happens here and only the newest note counts.
type notes struct {
	store *join.Store
	log   *slog.Logger
	newer chan note
}

type note struct {
	uid     types.UID
	removed bool
	refusal *agentapi.Refused
}

func newNotes(store *join.Store, log *slog.Logger) *notes {
	return &notes{store: store, log: log, newer: make(chan note, 1)}
}

func (n *notes) put(what note) {
	for {
		select {
		case n.newer <- what:
			return
		default:
		}
		select {
		case <-n.newer: // superseded
		default:
		}
	}
}

func (n *notes) welcomed(uid types.UID) { n.put(note{uid: uid}) }

func (n *notes) refused(r *agentapi.Refused) {
	uid := types.UID("")
	if current := n.store.Current(); current != nil {
		uid = current.ClusterUID
	}
	n.put(note{uid: uid, refusal: r})
}

// Start writes notes until ctx ends.
func (n *notes) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case what := <-n.newer:
			for pause := time.Second; ; pause = min(2*pause, time.Minute) {
				err := n.store.Note(ctx, what.uid, what.removed, what.refusal)
				if err == nil || ctx.Err() != nil {
					break
				}
				n.log.Warn("note not written", "error", err, "retry", pause)
				timer := time.NewTimer(pause)
				select {
				case <-ctx.Done():
				case what = <-n.newer:
				case <-timer.C:
				}
				timer.Stop()
			}
		}
	}
}

// last notes, as the agent ends, that the hub has removed the cluster.
func (n *notes) last(cluster string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n.log.Warn("the cluster was removed from the hub; nothing more is applied", "cluster", cluster,
		"fix", "to bring it back: muster-agent register …; to clean up: muster-agent unregister "+cluster)
	uid := types.UID("")
	if current := n.store.Current(); current != nil {
		uid = current.ClusterUID
	}
	if err := n.store.Note(ctx, uid, true, nil); err != nil {
		n.log.Warn("note not written", "error", err)
	}
}
