package manifestwork

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
)

// Progress is how far one cluster is with the current template.
type Progress string

// How far a cluster is.
const (
	// ToApply means that its work is missing or of an older template.
	ToApply Progress = "ToApply"
	// Progressing means that it was told and is not done.
	Progressing Progress = "Progressing"
	// Succeeded means that everything is applied and available.
	Succeeded Progress = "Succeeded"
	// Failed means that what was applied does not do its job.
	Failed Progress = "Failed"
	// TimedOut means that it took longer than it may.
	TimedOut Progress = "TimedOut"
)

// Member is a cluster of a rollout.
type Member struct {
	// Cluster is its name; it has been as far as Progress says since Since.
	Cluster  string
	Progress Progress
	Since    time.Time
}

// Batch is one decision group.
type Batch struct {
	// Name and Index are those of the decision group.
	Name  string
	Index int32
	// Members are its clusters, in the order of the decisions.
	Members []Member
}

// Step is what a rollout does now.
type Step struct {
	// Apply are the clusters that get the template.
	Apply []string
	// Again is when time alone takes the rollout further; zero: never.
	Again time.Time
	// Done is true when every cluster has the template and is well.
	Done bool
	// Stopped says why the rollout goes no further by itself.
	Stopped string
}

// rollout is a step being made out.
type rollout struct {
	config   ocmv1alpha1.RolloutConfig
	deadline time.Duration // 0: none
	total    int
	failed   int
	now      time.Time
	step     Step
}

// Advance says which clusters get the template next.
func Advance(strategy *ocmv1alpha1.RolloutStrategy, batches []Batch, now time.Time) (Step, error) {
	r := &rollout{now: now}
	for _, batch := range batches {
		r.total += len(batch.Members)
	}
	var mandatory []ocmv1alpha1.MandatoryDecisionGroup
	width := intstr.IntOrString{}
	switch strategy.Type {
	case "", ocmv1alpha1.RolloutAll:
		if strategy.All != nil {
			r.config = strategy.All.RolloutConfig
		}
	case ocmv1alpha1.RolloutProgressive:
		if s := strategy.Progressive; s != nil {
			r.config, mandatory, width = s.RolloutConfig, s.MandatoryDecisionGroups.MandatoryDecisionGroups, s.MaxConcurrency
		}
	case ocmv1alpha1.RolloutProgressivePerGroup:
		if s := strategy.ProgressivePerGroup; s != nil {
			r.config, mandatory = s.RolloutConfig, s.MandatoryDecisionGroups.MandatoryDecisionGroups
		}
	default:
		return Step{}, fmt.Errorf("%q is no type of rollout", strategy.Type)
	}
	if err := r.readDeadline(); err != nil {
		return Step{}, err
	}
	first, rest := splitMandatory(batches, mandatory)
	switch strategy.Type {
	case ocmv1alpha1.RolloutProgressive:
		return r.progressive(first, rest, width)
	case ocmv1alpha1.RolloutProgressivePerGroup:
		return r.perGroup(first, rest)
	}
	r.stage(together(batches), r.total, r.total)
	r.step.Stopped = "" // nobody waits for anybody
	return r.step, nil
}

// readDeadline understands how long a cluster may take.
func (r *rollout) readDeadline() error {
	text := r.config.ProgressDeadline
	if text == "" || text == ocmv1alpha1.NoProgressDeadline {
		return nil
	}
	deadline, err := time.ParseDuration(text)
	if err != nil || deadline <= 0 {
		return fmt.Errorf("progressDeadline %q is no duration", text)
	}
	r.deadline = deadline
	return nil
}

func (r *rollout) progressive(first, rest []Batch, width intstr.IntOrString) (Step, error) {
	largest := 0
	for _, batch := range append(slices.Clone(first), rest...) {
		largest = max(largest, len(batch.Members))
	}
	atATime, err := share(width, r.total, largest)
	if err != nil {
		return Step{}, fmt.Errorf("maxConcurrency: %w", err)
	}
	allowed, err := r.allowed()
	if err != nil {
		return Step{}, err
	}
	if r.mandatory(first) {
		r.step.Done = r.stage(together(rest), max(atATime, 1), allowed) && r.failed == 0
	}
	return r.step, nil
}

func (r *rollout) perGroup(first, rest []Batch) (Step, error) {
	allowed, err := r.allowed()
	if err != nil {
		return Step{}, err
	}
	if !r.mandatory(first) {
		return r.step, nil
	}
	for _, batch := range rest {
		if !r.stage(batch.Members, len(batch.Members), allowed) {
			return r.step, nil
		}
	}
	r.step.Done = r.failed == 0
	return r.step, nil
}

// mandatory takes the groups that come first, one after the other; none of their
// clusters may fail.
func (r *rollout) mandatory(first []Batch) bool {
	for _, batch := range first {
		if !r.stage(batch.Members, len(batch.Members), 0) {
			return false
		}
	}
	return true
}

// allowed is how many clusters may fail.
func (r *rollout) allowed() (int, error) {
	allowed, err := share(r.config.MaxFailures, r.total, 0)
	if err != nil {
		return 0, fmt.Errorf("maxFailures: %w", err)
	}
	return allowed, nil
}

// stage lets some clusters change, so many at a time, and returns whether all of
// them have and those that are well have been so for long enough.
func (r *rollout) stage(members []Member, atATime, allowed int) bool {
	busy := 0
	var waiting []string
	for _, m := range members {
		switch r.progress(m) {
		case ToApply:
			waiting = append(waiting, m.Cluster)
		case Progressing:
			busy++
		case Succeeded:
			// Where no time is asked for, a member whose clock is ahead waits for none.
			soak := r.config.MinSuccessTime.Duration
			if proven := m.Since.Add(soak); soak > 0 && proven.After(r.now) {
				busy++
				r.again(proven)
			}
		default:
			r.failed++
		}
	}
	if r.failed > allowed {
		r.step.Stopped, r.step.Done = fmt.Sprintf("%d of %d clusters failed, and %d may", r.failed, r.total, allowed), false
		return false
	}
	if room := atATime - busy; room > 0 {
		r.step.Apply = append(r.step.Apply, waiting[:min(room, len(waiting))]...)
	}
	done := busy == 0 && len(waiting) == 0
	r.step.Done = done && r.failed == 0
	return done
}

// progress is how far a cluster is, with the time that it may take.
func (r *rollout) progress(m Member) Progress {
	if m.Progress != Progressing || r.deadline == 0 {
		return m.Progress
	}
	ends := m.Since.Add(r.deadline)
	if !ends.After(r.now) {
		return TimedOut
	}
	r.again(ends)
	return Progressing
}

func (r *rollout) again(at time.Time) {
	if r.step.Again.IsZero() || at.Before(r.step.Again) {
		r.step.Again = at
	}
}

// splitMandatory takes out the groups that come first, in their order.
func splitMandatory(batches []Batch, mandatory []ocmv1alpha1.MandatoryDecisionGroup) (first, rest []Batch) {
	rest = slices.Clone(batches)
	for _, m := range mandatory {
		rest = slices.DeleteFunc(rest, func(b Batch) bool {
			named := m.GroupName != "" && b.Name == m.GroupName || m.GroupName == "" && b.Index == m.GroupIndex
			if named {
				first = append(first, b)
			}
			return named
		})
	}
	return first, rest
}

func together(batches []Batch) []Member {
	var members []Member
	for _, batch := range batches {
		members = append(members, batch.Members...)
	}
	return members
}

// share is a number, or a percentage of a total, rounded up as in the field; unset
// stands for nothing said.
func share(of intstr.IntOrString, total, unset int) (int, error) {
	if of.Type == intstr.Int {
		return cmp.Or(int(of.IntVal), unset), nil
	}
	if of.StrVal == "" {
		return unset, nil
	}
	text, isPercent := strings.CutSuffix(of.StrVal, "%")
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 || isPercent && number > 100 {
		return 0, fmt.Errorf("%q is neither a number nor a percentage", of.StrVal)
	}
	if isPercent {
		return (total*number + 99) / 100, nil
	}
	return number, nil
}
