package joining

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// StepState is how far a step of a join or unjoin has come.
type StepState string

// The states of a step.
const (
	StepRunning StepState = "running"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepSkipped StepState = "skipped"
)

// Step is one line of what a join or unjoin does. Its texts are for people and
// hold no secrets.
type Step struct {
	// Name is constant for a kind of step: member, namespace, accounts,
	// credential, secrets, cluster, owners, rollback, delete, wait, force, clean.
	Name   string
	State  StepState
	Detail string
}

// Progress is told each step as it happens. It must not block.
type Progress func(Step)

func (p Progress) say(name string, state StepState, detail string) {
	if p != nil {
		p(Step{Name: name, State: state, Detail: detail})
	}
}

// run tells begin and end of a step around fn.
func (p Progress) run(name, detail string, fn func() error) error {
	p.say(name, StepRunning, detail)
	if err := fn(); err != nil {
		p.say(name, StepFailed, err.Error())
		return err
	}
	p.say(name, StepDone, detail)
	return nil
}

// rollbackTimeout bounds the taking back of what a failed join made.
const rollbackTimeout = 15 * time.Second

// undoStack remembers how to take back what one run made, and nothing else. It
// may be used from several goroutines.
type undoStack struct {
	mu      sync.Mutex
	entries []undoEntry
}

type undoEntry struct {
	what string
	do   func(ctx context.Context) error
	// needs says that what this entry is about needs all that was made before it.
	needs bool
}

func (u *undoStack) push(what string, do func(ctx context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.entries = append(u.entries, undoEntry{what: what, do: do})
}

// pushNeeding is push for what is worse than useless without all that was made before
// it: as long as it cannot be taken back, that is left alone, too.
func (u *undoStack) pushNeeding(what string, do func(ctx context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.entries = append(u.entries, undoEntry{what: what, do: do, needs: true})
}

// rollback takes everything back, newest first, even if ctx has ended. It
// returns what it has not removed.
func (u *undoStack) rollback(ctx context.Context, progress Progress) (left []string) {
	u.mu.Lock()
	entries := u.entries
	u.entries = nil
	u.mu.Unlock()
	if len(entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	for i := len(entries) - 1; i >= 0; i-- {
		// A conflict says that another object has taken the place of ours.
		err := entries[i].do(ctx)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			progress.say("rollback", StepDone, "removed "+entries[i].what)
			continue
		}
		left = append(left, entries[i].what)
		progress.say("rollback", StepFailed, "could not remove "+entries[i].what)
		if !entries[i].needs {
			continue
		}
		for ; i > 0; i-- {
			left = append(left, entries[i-1].what)
		}
	}
	return left
}

// writeTimeout bounds one write of a join.
const writeTimeout = 20 * time.Second

// settle makes a write that a cancellation does not break off half-way: whoever
// takes back what a run made must know whether it was made. A run that has been
// cancelled begins no more writes.
func settle[T any](ctx context.Context, write func(context.Context) (T, error)) (T, error) {
	if err := ctx.Err(); err != nil {
		var nothing T
		return nothing, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return write(ctx)
}

// LogProgress tells an operator of the hub what stayed behind.
func LogProgress(cluster string) Progress {
	return func(step Step) {
		switch step.State {
		case StepSkipped, StepFailed:
			slog.Info("removal of a cluster", "cluster", cluster, "step", step.Name, "detail", step.Detail)
		default:
			slog.Debug("removal of a cluster", "cluster", cluster, "step", step.Name, "detail", step.Detail)
		}
	}
}
