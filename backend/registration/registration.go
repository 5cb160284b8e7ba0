package registration

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Flavour is the way a cluster joins.
type Flavour string // @name cluster.Flavour

// The flavours of a registration.
const (
	// FlavourPull: our agent calls the hub.
	FlavourPull Flavour = "pull"
	// FlavourPush: the hub calls the member.
	FlavourPush Flavour = "push"
	// FlavourKarmadaAgent: the unmodified agent of the field calls the hub.
	FlavourKarmadaAgent Flavour = "karmada-agent"
)

// Stages of a registration; each flavour has some of them, see stagesOf.
const (
	StageCommand     = "command"
	StageContact     = "contact"
	StageToken       = "token"
	StageApproved    = "approved"
	StageIdentity    = "identity"
	StageLink        = "link"
	StageCluster     = "cluster"
	StagePreflight   = "preflight"
	StageCredentials = "credentials"
	StageInventory   = "inventory"
	StageReady       = "ready"
)

var stagesOf = map[Flavour][]string{
	FlavourPull:         {StageCommand, StageContact, StageToken, StageApproved, StageIdentity, StageLink, StageInventory, StageReady},
	FlavourPush:         {StagePreflight, StageCredentials, StageCluster, StageInventory, StageReady},
	FlavourKarmadaAgent: {StageCommand, StageToken, StageApproved, StageIdentity, StageCluster, StageInventory, StageReady},
}

// State is where a registration stands.
//
//	           first sign of life                last stage done
//	┌─────────┐─────────────────►┌─────────┐─────────────────────►┌───────┐
//	│ waiting │                  │ running │                      │ ready │
//	└─────────┘                  └─────────┘                      └───────┘
//	  │  │  │      a stage fails   │  ▲  │
//	  │  │  └──────────┬───────────┘  │  │ the user gives up
//	  │  │             ▼              │  └────────────┐
//	  │  │         ┌────────┐ a stage │               ▼
//	  │  │         │ failed │─────────┘         ┌───────────┐
//	  │  │         └────────┘ is done           │ cancelled │
//	  │  │             │ the user gives up      └───────────┘
//	  │  └─────────────┴───────────────────────────►  ▲
//	  │  the token ends before an identity is issued ┌┴────────┐
//	  └─────────────────────────────────────────────►│ expired │ (from failed and running too)
//	                                                 └─────────┘
//
// ready, cancelled and expired are final.
type State string // @name cluster.RegistrationState

// The states of a registration.
const (
	StateWaiting   State = "waiting"
	StateRunning   State = "running"
	StateReady     State = "ready"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
	StateExpired   State = "expired"
)

// StageState is where one stage stands.
type StageState string // @name cluster.StageState

// The states of a stage.
const (
	StagePending StageState = "pending"
	StageRunning StageState = "running"
	StageDone    StageState = "done"
	StageFailed  StageState = "failed"
)

// Stage is one step of a registration, and for a failed one its code, cause and fix.
type Stage struct {
	Name   string     `json:"name"`
	State  StageState `json:"state" enums:"pending,running,done,failed"`
	At     *time.Time `json:"at,omitempty" validate:"optional"`
	Source string     `json:"source,omitempty" validate:"optional"`
	Detail string     `json:"detail,omitempty" validate:"optional"`
	Code   string     `json:"code,omitempty" validate:"optional"`
	Cause  string     `json:"cause,omitempty" validate:"optional"`
	Fix    string     `json:"fix,omitempty" validate:"optional"`
} // @name cluster.Stage

// LogLine is one line of what a registration did.
type LogLine struct {
	At   time.Time `json:"at"`
	Line string    `json:"line"`
} // @name cluster.LogLine

// Registration is the staged record of one cluster's joining.
type Registration struct {
	ID          string    `json:"id"`
	Flavour     Flavour   `json:"flavour" enums:"pull,push,karmada-agent"`
	ClusterName string    `json:"clusterName,omitempty" validate:"optional"`
	TokenID     string    `json:"tokenId,omitempty" validate:"optional"`
	State       State     `json:"state" enums:"waiting,running,ready,failed,cancelled,expired"`
	Stages      []Stage   `json:"stages"`
	CreatedBy   string    `json:"createdBy"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	// ExpiresAt is when the token ends.
	ExpiresAt *time.Time `json:"expiresAt,omitempty" validate:"optional"`
	// Log is present where one registration is asked for.
	Log []LogLine `json:"log,omitempty" validate:"optional"`

	// Labels are put on the Cluster once it appears.
	Labels map[string]string `json:"labels,omitempty" validate:"optional"`
	// Placement is what the wizard said about the cluster.
	Placement Placement `json:"placement"`
	// Target is the way to a push member, for a clean-up after a crash.
	Target Target `json:"-"`
	// Stamped says that Labels are on the Cluster.
	Stamped bool `json:"-"`
	ending  bool // it is being cancelled: that its token goes is no failure
	logged  int  // lines of Log that are stored
	logBase int  // lines that came before Log
} // @name cluster.Registration

// Placement is where a cluster runs, as the wizard was told.
type Placement struct {
	Provider string   `json:"provider,omitempty" validate:"optional"`
	Region   string   `json:"region,omitempty" validate:"optional"`
	Zones    []string `json:"zones,omitempty" validate:"optional"`
} // @name cluster.RegistrationPlacement

// Target is the way to a member, without its credential.
type Target struct {
	Server   string `json:"server,omitempty"`
	ProxyURL string `json:"proxyURL,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
}

// Match names a registration by whatever is known of it.
type Match struct{ ID, TokenID, Cluster string }

// StageEvent says how a stage was passed. Source is the remote address.
type StageEvent struct{ Source, Detail string }

// Failure says why a stage was not passed.
type Failure struct{ Code, Cause, Fix, Source string }

// maxLog bounds the lines kept of one registration, the newest.
const maxLog = 300

// New is a registration at its first stage.
func New(id string, flavour Flavour, now time.Time) *Registration {
	r := &Registration{ID: id, Flavour: flavour, State: StateWaiting, CreatedAt: now, UpdatedAt: now}
	for _, name := range stagesOf[flavour] {
		r.Stages = append(r.Stages, Stage{Name: name, State: StagePending})
	}
	r.Stages[0].State = StageRunning
	return r
}

// Final says whether nothing can happen to the registration any more.
func (r *Registration) Final() bool {
	return r.State == StateReady || r.State == StateCancelled || r.State == StateExpired
}

func (r *Registration) stage(name string) int {
	return slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == name })
}

// Passed says whether a stage is done.
func (r *Registration) Passed(name string) bool {
	at := r.stage(name)
	return at >= 0 && r.Stages[at].State == StageDone
}

// become turns a pull registration into one by the unmodified agent or back,
// when a stage shows that the other client is at work. What was passed stays so.
func (r *Registration) become(flavour Flavour) {
	known := map[string]Stage{}
	for _, stage := range r.Stages {
		known[stage.Name] = stage
	}
	r.Flavour, r.Stages = flavour, nil
	for _, name := range stagesOf[flavour] {
		stage, ok := known[name]
		if !ok {
			stage = Stage{Name: name, State: StagePending}
		}
		r.Stages = append(r.Stages, stage)
	}
}

// adapt changes the flavour if only the other pull flavour has the stage.
func (r *Registration) adapt(stage string) {
	other, ok := map[Flavour]Flavour{FlavourPull: FlavourKarmadaAgent, FlavourKarmadaAgent: FlavourPull}[r.Flavour]
	if ok && r.stage(stage) < 0 && slices.Contains(stagesOf[other], stage) {
		r.become(other)
	}
}

// Advance marks a stage done, and with it all before it: what comes later in
// the same conversation proves the earlier. It reports whether anything changed.
// A stage that is done keeps its first time, so that a repeated attempt does not
// rewrite history; a failure is cleared by the next sign of life.
func (r *Registration) Advance(name string, e StageEvent, now time.Time) bool {
	if r.Final() {
		return false
	}
	// Our agent makes itself known before it uses its token; a token that is used
	// without that is in the hands of the unmodified client.
	if r.Flavour == FlavourPull && name == StageToken && !r.Passed(StageContact) {
		r.become(FlavourKarmadaAgent)
	}
	r.adapt(name)
	at := r.stage(name)
	if at < 0 || name == StageToken && r.Stages[at].State == StageFailed && !aboutSecret(r.Stages[at].Code) {
		return false
	}
	changed := r.revive()
	for i := 0; i <= at; i++ {
		stage := &r.Stages[i]
		if stage.State == StageDone {
			continue
		}
		when := now
		*stage = Stage{Name: stage.Name, State: StageDone, At: &when, Source: PlainText(e.Source)}
		if i == at {
			stage.Detail = PlainText(e.Detail)
		}
		changed = true
	}
	if !changed {
		return false
	}
	r.settle()
	r.UpdatedAt = now
	return true
}

// aboutSecret says whether a code is about the token itself. Only such a failure
// is mended by the token being accepted: one that was refused for what was asked
// with it had been accepted too.
func aboutSecret(code string) bool {
	return code == CodeTokenUnknown || code == CodeTokenSecret || code == CodeTokenExpired
}

// revive makes a failed registration run again.
func (r *Registration) revive() bool {
	if r.State != StateFailed {
		return false
	}
	for i := range r.Stages {
		if r.Stages[i].State == StageFailed {
			r.Stages[i] = Stage{Name: r.Stages[i].Name, State: StagePending}
		}
	}
	return true
}

// settle derives the state from the stages and marks the one that is next.
func (r *Registration) settle() {
	next := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.State != StageDone })
	if next < 0 {
		r.State = StateReady
		return
	}
	r.State = StateRunning
	// Having been shown a command is no sign of life.
	if next <= 1 && r.Stages[0].Name == StageCommand {
		r.State = StateWaiting
	}
	r.Stages[next].State = StageRunning
}

// Fail marks a stage failed and the registration with it. A failure at a stage
// that has been passed, or after the end, is somebody else's: only the log takes
// it. It reports whether the stages changed.
func (r *Registration) Fail(name string, f Failure, now time.Time) bool {
	line := PlainText(name + " failed: " + f.Code + " " + f.Cause)
	if f.Source != "" {
		line += " (from " + PlainText(f.Source) + ")"
	}
	if last := len(r.Log) - 1; last < 0 || r.Log[last].Line != line {
		r.note(line, now)
	}
	r.adapt(name)
	at := r.stage(name)
	if r.Final() || at < 0 || r.Stages[at].State == StageDone {
		return false
	}
	advice := Advise(f.Code)
	f.Cause, f.Fix = PlainText(cmp.Or(f.Cause, advice.Cause)), PlainText(cmp.Or(f.Fix, advice.Fix))
	if stage := r.Stages[at]; stage.State == StageFailed && stage.Code == f.Code && stage.Cause == f.Cause {
		return false
	}
	for i := range r.Stages {
		if i != at && r.Stages[i].State != StageDone {
			r.Stages[i] = Stage{Name: r.Stages[i].Name, State: StagePending}
		}
	}
	r.Stages[at] = Stage{
		Name: name, State: StageFailed, At: &now, Source: PlainText(f.Source),
		Code: f.Code, Cause: f.Cause, Fix: f.Fix,
	}
	r.State, r.UpdatedAt = StateFailed, now
	return true
}

// Current says which stage is next, or "".
func (r *Registration) Current() string {
	for _, stage := range r.Stages {
		if stage.State != StageDone {
			return stage.Name
		}
	}
	return ""
}

// End makes the registration final.
func (r *Registration) End(state State, now time.Time) {
	for i := range r.Stages {
		if r.Stages[i].State == StageRunning {
			r.Stages[i].State = StagePending
		}
	}
	r.State, r.UpdatedAt = state, now
}

// expire ends a registration whose token has ended before an identity was
// issued. It reports whether it did.
func (r *Registration) expire(now time.Time) bool {
	if r.Final() || r.ExpiresAt == nil || now.Before(*r.ExpiresAt) || r.Passed(StageIdentity) {
		return false
	}
	r.Fail(r.Current(), Failure{Code: CodeTokenExpired, Cause: "The token expired at " + r.ExpiresAt.UTC().Format(time.RFC3339) + " before the cluster had joined."}, now)
	r.End(StateExpired, now)
	return true
}

// note adds a line to the log.
func (r *Registration) note(line string, now time.Time) {
	r.Log = append(r.Log, LogLine{At: now, Line: PlainText(line)})
	if extra := len(r.Log) - 2*maxLog; extra > 0 {
		r.Log, r.logBase = slices.Clone(r.Log[extra:]), r.logBase+extra
	}
	r.UpdatedAt = now
}

// row is a copy for a list: without the log.
func (r *Registration) row() Registration {
	copied := *r
	copied.Stages = slices.Clone(r.Stages)
	copied.Labels = maps.Clone(r.Labels)
	copied.Log = nil
	return copied
}

// detail is a copy with the newest lines of the log.
func (r *Registration) detail() Registration {
	copied := r.row()
	copied.Log = slices.Clone(r.Log[max(0, len(r.Log)-maxLog):])
	return copied
}
