package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Flavour is the way a cluster joins.
type Flavour string

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

// RegistrationState is where a registration stands.
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
type RegistrationState string

// The states of a registration.
const (
	RegistrationWaiting   RegistrationState = "waiting"
	RegistrationRunning   RegistrationState = "running"
	RegistrationReady     RegistrationState = "ready"
	RegistrationFailed    RegistrationState = "failed"
	RegistrationCancelled RegistrationState = "cancelled"
	RegistrationExpired   RegistrationState = "expired"
)

// StageState is where one stage stands.
type StageState string

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
}

// LogLine is one line of what a registration did.
type LogLine struct {
	At   time.Time `json:"at"`
	Line string    `json:"line"`
}

// Registration is the staged record of one cluster's joining.
type Registration struct {
	ID          string            `json:"id"`
	Flavour     Flavour           `json:"flavour" enums:"pull,push,karmada-agent"`
	ClusterName string            `json:"clusterName,omitempty" validate:"optional"`
	TokenID     string            `json:"tokenId,omitempty" validate:"optional"`
	State       RegistrationState `json:"state" enums:"waiting,running,ready,failed,cancelled,expired"`
	Stages      []Stage           `json:"stages"`
	CreatedBy   string            `json:"createdBy"`
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   time.Time         `json:"updatedAt"`
	// ExpiresAt is when the token ends.
	ExpiresAt *time.Time `json:"expiresAt,omitempty" validate:"optional"`
	// Log is present where one registration is asked for.
	Log []LogLine `json:"log,omitempty" validate:"optional"`

	// Labels are put on the Cluster once it appears.
	Labels map[string]string `json:"-"`
	// Placement is what the wizard said about the cluster.
	Placement placement `json:"-"`
	// Target is the way to a push member, for a clean-up after a crash.
	Target  memberTarget `json:"-"`
	stamped bool         // Labels are on the Cluster
	ending  bool         // it is being cancelled: that its token goes is no failure
	logged  int          // lines of Log that are stored
	logBase int          // lines that came before Log
}

// placement is where a cluster runs, as the wizard was told.
type placement struct {
	Provider string   `json:"provider,omitempty"`
	Region   string   `json:"region,omitempty"`
	Zones    []string `json:"zones,omitempty"`
}

// Match names a registration by whatever is known of it.
type Match struct{ ID, TokenID, Cluster string }

// StageEvent says how a stage was passed. Source is the remote address.
type StageEvent struct{ Source, Detail string }

// Failure says why a stage was not passed.
type Failure struct{ Code, Cause, Fix, Source string }

// maxLog bounds the lines kept of one registration, the newest.
const maxLog = 300

func newRegistration(id string, flavour Flavour, now time.Time) *Registration {
	r := &Registration{ID: id, Flavour: flavour, State: RegistrationWaiting, CreatedAt: now, UpdatedAt: now}
	for _, name := range stagesOf[flavour] {
		r.Stages = append(r.Stages, Stage{Name: name, State: StagePending})
	}
	r.Stages[0].State = StageRunning
	return r
}

// final says whether nothing can happen to the registration any more.
func (r *Registration) final() bool {
	return r.State == RegistrationReady || r.State == RegistrationCancelled || r.State == RegistrationExpired
}

func (r *Registration) stage(name string) int {
	return slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == name })
}

// passed says whether a stage is done.
func (r *Registration) passed(name string) bool {
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

// advance marks a stage done, and with it all before it: what comes later in
// the same conversation proves the earlier. It reports whether anything changed.
// A stage that is done keeps its first time, so that a repeated attempt does not
// rewrite history; a failure is cleared by the next sign of life.
func (r *Registration) advance(name string, e StageEvent, now time.Time) bool {
	if r.final() {
		return false
	}
	// Our agent makes itself known before it uses its token; a token that is used
	// without that is in the hands of the unmodified client.
	if r.Flavour == FlavourPull && name == StageToken && !r.passed(StageContact) {
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
		*stage = Stage{Name: stage.Name, State: StageDone, At: &when, Source: plainText(e.Source)}
		if i == at {
			stage.Detail = plainText(e.Detail)
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
	if r.State != RegistrationFailed {
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
		r.State = RegistrationReady
		return
	}
	r.State = RegistrationRunning
	// Having been shown a command is no sign of life.
	if next <= 1 && r.Stages[0].Name == StageCommand {
		r.State = RegistrationWaiting
	}
	r.Stages[next].State = StageRunning
}

// fail marks a stage failed and the registration with it. A failure at a stage
// that has been passed, or after the end, is somebody else's: only the log takes
// it. It reports whether the stages changed.
func (r *Registration) fail(name string, f Failure, now time.Time) bool {
	line := plainText(name + " failed: " + f.Code + " " + f.Cause)
	if f.Source != "" {
		line += " (from " + plainText(f.Source) + ")"
	}
	if last := len(r.Log) - 1; last < 0 || r.Log[last].Line != line {
		r.note(line, now)
	}
	r.adapt(name)
	at := r.stage(name)
	if r.final() || at < 0 || r.Stages[at].State == StageDone {
		return false
	}
	advice := Advise(f.Code)
	f.Cause, f.Fix = plainText(cmp.Or(f.Cause, advice.Cause)), plainText(cmp.Or(f.Fix, advice.Fix))
	if stage := r.Stages[at]; stage.State == StageFailed && stage.Code == f.Code && stage.Cause == f.Cause {
		return false
	}
	for i := range r.Stages {
		if i != at && r.Stages[i].State != StageDone {
			r.Stages[i] = Stage{Name: r.Stages[i].Name, State: StagePending}
		}
	}
	r.Stages[at] = Stage{
		Name: name, State: StageFailed, At: &now, Source: plainText(f.Source),
		Code: f.Code, Cause: f.Cause, Fix: f.Fix,
	}
	r.State, r.UpdatedAt = RegistrationFailed, now
	return true
}

// running says which stage is next, or "".
func (r *Registration) running() string {
	for _, stage := range r.Stages {
		if stage.State != StageDone {
			return stage.Name
		}
	}
	return ""
}

// end makes the registration final.
func (r *Registration) end(state RegistrationState, now time.Time) {
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
	if r.final() || r.ExpiresAt == nil || now.Before(*r.ExpiresAt) || r.passed(StageIdentity) {
		return false
	}
	r.fail(r.running(), Failure{Code: CodeTokenExpired, Cause: "The token expired at " + r.ExpiresAt.UTC().Format(time.RFC3339) + " before the cluster had joined."}, now)
	r.end(RegistrationExpired, now)
	return true
}

// note adds a line to the log.
func (r *Registration) note(line string, now time.Time) {
	r.Log = append(r.Log, LogLine{At: now, Line: plainText(line)})
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
