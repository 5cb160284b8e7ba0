package tunnel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/backend/agentapi"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// Interpreters is where the link reads what agents have to know about kinds.
// *interpret.Interpreter is one: agents get the lists that the hub itself has.
type Interpreters interface {
	// Lists waits until the lists are known.
	Lists(ctx context.Context) ([]configv1alpha1.ResourceInterpreterCustomization, []configv1alpha1.ResourceInterpreterWebhookConfiguration, error)
	// OnChange calls changed after each change.
	OnChange(changed func(affects func(schema.GroupVersionKind) bool)) (stop func())
}

// lessons hold the frames by which agents learn to interpret kinds. They are made
// once for all sessions.
type lessons struct {
	mu      sync.Mutex
	version uint64 // 0: nothing to teach
	frames  []*agentapi.Interpreters
}

// current returns the frames and their version.
func (l *lessons) current() (uint64, []*agentapi.Interpreters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version, l.frames
}

// replace takes new frames. changed is false if they say the same.
func (l *lessons) replace(frames []*agentapi.Interpreters) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version > 0 && slices.EqualFunc(l.frames, frames, sameLesson) {
		return false
	}
	l.version++
	l.frames = frames
	return true
}

func sameLesson(a, b *agentapi.Interpreters) bool {
	same := func(x, y json.RawMessage) bool { return bytes.Equal(x, y) }
	return a.More == b.More && slices.EqualFunc(a.Customizations, b.Customizations, same) && slices.EqualFunc(a.Webhooks, b.Webhooks, same)
}

// follow reads the lists and keeps up with their changes until ctx ends.
func (l *Link) follow(ctx context.Context) error {
	source := l.options.Interpreters
	if source == nil {
		return nil
	}
	if err := l.learn(ctx); err != nil {
		return fmt.Errorf("read the interpreters: %w", err)
	}
	stop := source.OnChange(func(func(schema.GroupVersionKind) bool) {
		if err := l.learn(ctx); err != nil && ctx.Err() == nil {
			l.options.Log.Error("agents are not told of changed interpreters", "error", err)
		}
	})
	context.AfterFunc(ctx, stop)
	return l.learn(ctx) // what changed in between
}

// learn makes the frames anew and hands them to the sessions.
func (l *Link) learn(ctx context.Context) error {
	l.learning.Lock()
	defer l.learning.Unlock()
	customizations, webhooks, err := l.options.Interpreters.Lists(ctx)
	if err != nil {
		return err
	}
	frames, err := agentapi.NewInterpreters(customizations, webhooks)
	if err != nil || !l.lessons.replace(frames) {
		return err
	}
	l.mu.Lock()
	open := make([]*session, 0, len(l.sessions))
	for _, s := range l.sessions {
		open = append(open, s)
	}
	l.mu.Unlock()
	for _, s := range open {
		s.teach()
	}
	return nil
}

// teach tells the agent what it has to know about kinds, if it can understand.
func (s *session) teach() {
	if s.protocol < agentapi.ProtocolInterpreters {
		return
	}
	s.outbox.teach(s.link.lessons.current())
}

// teach puts frames in before everything else that waits, in place of older ones.
func (o *outbox) teach(version uint64, frames []*agentapi.Interpreters) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if version <= o.taught {
		return
	}
	o.lessons = frames
	o.taught = version
	o.wake()
}
