package workload

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/author"
	"muster.dev/muster/backend/workload/fact"
)

// How long a write waits until reads show it: its answer is true without that,
// but whoever asked looks there next.
const (
	seenWithin = 2 * time.Second
	seenEvery  = 10 * time.Millisecond
)

// Create makes a template as the actor, who needs to be an operator.
func (s *Service) Create(ctx context.Context, made author.Made, dryRun bool) (author.Written, error) {
	written, err := s.author.Create(ctx, made, dryRun)
	if err != nil || dryRun {
		return written, err
	}
	ref := template.Ref{APIVersion: written.APIVersion, Kind: written.Kind, Namespace: written.Namespace, Name: written.Name}
	written.Listed = s.seen(ctx, ref)
	return written, nil
}

// Change changes a template as the actor, who needs to be an operator.
func (s *Service) Change(ctx context.Context, key fact.Key, changed author.Changed, dryRun bool) (author.Written, error) {
	written, err := s.author.Change(ctx, key.Ref(), changed, dryRun)
	if err == nil {
		_, missing := s.find(key)
		written.Listed = missing == nil
	}
	return written, err
}

// Delete takes a template away as the actor, who needs to be an operator and
// repeats its name.
func (s *Service) Delete(ctx context.Context, key fact.Key, confirm string) error {
	return s.author.Delete(ctx, key.Ref(), confirm)
}

// seen waits until a new template can be read, and says whether it has a page.
func (s *Service) seen(ctx context.Context, ref template.Ref) bool {
	if !isNative(ref) && !isPlain(ref) {
		return false
	}
	err := wait.PollUntilContextTimeout(ctx, seenEvery, seenWithin, true, func(context.Context) (bool, error) {
		_, err := s.lookUp(ref)
		return err == nil, nil
	})
	return err == nil
}
