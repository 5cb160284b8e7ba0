package enrolment

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// joinTimeout bounds preflight and join of one member.
const joinTimeout = 3 * time.Minute

// running is a push join under way.
type running struct {
	name    string // of the cluster
	context context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has ended and taken back what it must
}

// NewRegistration is what the wizard asks for.
type NewRegistration struct {
	Flavour registration.Flavour `json:"flavour" enums:"pull,push"`
	// ClusterName is needed for push; for pull the cluster may bring its own.
	ClusterName string            `json:"clusterName,omitempty" validate:"optional"`
	Provider    string            `json:"provider,omitempty" validate:"optional"`
	Region      string            `json:"region,omitempty" validate:"optional"`
	Zones       []string          `json:"zones,omitempty" validate:"optional"`
	Labels      map[string]string `json:"labels,omitempty" validate:"optional"`
	// TTLSeconds is the life of the token (pull), 24 hours by default; 0 is for
	// ever and needs an administrator.
	TTLSeconds *int64 `json:"ttlSeconds,omitempty" validate:"optional"`
	// AnyCluster lets the token register any number of clusters (pull).
	AnyCluster bool `json:"anyCluster,omitempty" validate:"optional"`
	// Kubeconfig reaches the member (push). It is used once and forgotten.
	Kubeconfig string `json:"kubeconfig,omitempty" validate:"optional"`
	// Context chooses one of the kubeconfig, by default its current one.
	Context string `json:"context,omitempty" validate:"optional"`
} // @name cluster.NewRegistration

func (n NewRegistration) validate() error {
	if n.ClusterName != "" || n.Flavour == registration.FlavourPush {
		if err := registration.ValidateName(n.ClusterName); err != nil {
			return err
		}
	}
	request := joining.Request{Name: n.ClusterName, Provider: n.Provider, Region: n.Region, Zones: n.Zones}
	if request.Name == "" {
		request.Name = "unnamed"
	}
	if err := request.Validate(); err != nil {
		return err
	}
	return registration.ValidateLabels(n.Labels)
}

// Started is a registration that has begun. Secret, Commands and ExpiresAt are
// there for pull; the secret is shown this once.
type Started struct {
	Registration registration.Registration `json:"registration"`
	Secret       string                    `json:"secret,omitempty" validate:"optional"`
	Commands     *token.Commands           `json:"commands,omitempty" validate:"optional"`
	ExpiresAt    *time.Time                `json:"expiresAt,omitempty" validate:"optional"`
} // @name cluster.Started

// Register begins a registration. Operators may.
func (s *Service) Register(ctx context.Context, asked NewRegistration) (Started, error) {
	if err := asked.validate(); err != nil {
		return Started{}, err
	}
	switch asked.Flavour {
	case registration.FlavourPull:
		return s.registerPull(ctx, asked)
	case registration.FlavourPush:
		return s.registerPush(ctx, asked)
	}
	return Started{}, fault.Invalid("there is no way to join called %q", asked.Flavour).WithField("flavour", "use pull or push")
}

// registerPull makes a token for one cluster and the record that waits for it.
func (s *Service) registerPull(ctx context.Context, asked NewRegistration) (Started, error) {
	if asked.Kubeconfig != "" {
		return Started{}, fault.Invalid("a cluster that calls the hub needs no kubeconfig here").WithField("kubeconfig", "only for push")
	}
	actor, _ := access.ActorFrom(ctx)
	if asked.ClusterName != "" {
		if err := s.Cache.Get(ctx, client.ObjectKey{Name: asked.ClusterName}, new(clusterv1alpha1.Cluster)); err == nil {
			return Started{}, fault.Conflict("a cluster named %s is registered already", asked.ClusterName).WithCode(registration.CodeNameTaken).WithFix(registration.Advise(registration.CodeNameTaken).Fix)
		}
	}
	record := registration.New(registration.NewID(), registration.FlavourPull, s.Now())
	spec := token.Spec{TTL: token.DefaultTTL, ClusterName: asked.ClusterName, MaxClusters: 1, RegistrationID: record.ID}
	if asked.TTLSeconds != nil {
		spec.TTL = token.Seconds(*asked.TTLSeconds)
	}
	if asked.AnyCluster {
		spec.MaxClusters = 0
	}
	place := registration.Placement{Provider: asked.Provider, Region: asked.Region, Zones: asked.Zones}
	made, err := s.Tokens.Create(ctx, spec, token.Placement{ClusterName: asked.ClusterName, Provider: place.Provider, Region: place.Region, Zones: place.Zones})
	if err != nil {
		return Started{}, err
	}
	record.ClusterName, record.TokenID, record.ExpiresAt = asked.ClusterName, made.Token.ID, made.Token.ExpiresAt
	record.CreatedBy, record.Labels, record.Placement = actor.Name, maps.Clone(asked.Labels), place
	record.Advance(registration.StageCommand, registration.StageEvent{Source: actor.Source}, s.Now())
	stored, err := s.Registrations.Add(ctx, record)
	if err != nil {
		return Started{}, fmt.Errorf("store registration: %w", err)
	}
	return Started{Registration: stored, Secret: made.Secret, Commands: &made.Commands, ExpiresAt: made.Token.ExpiresAt}, nil
}

// Preflight looks whether the hub could call a member. Operators may.
func (s *Service) Preflight(ctx context.Context, kubeconfig, wanted, name string) (joining.Preflight, error) {
	hub, err := s.as(ctx, access.RoleOperator)
	if err != nil {
		return joining.Preflight{}, err
	}
	actor, _ := access.ActorFrom(ctx)
	if err := s.limits.dial(actor.Name); err != nil {
		return joining.Preflight{}, err
	}
	if name != "" {
		if err := registration.ValidateName(name); err != nil {
			return joining.Preflight{}, err
		}
	}
	config, err := reach.Parse([]byte(kubeconfig))
	if err != nil {
		return joining.Preflight{}, err
	}
	result := joining.Preflight{Contexts: config.Contexts(), Context: config.Choose(wanted), Checks: []joining.Check{}, Plan: []joining.PlannedObject{}}
	if result.Context == "" {
		return result, nil
	}
	way, err := config.Select(result.Context)
	if err != nil && wanted == "" && len(result.Contexts) > 1 {
		result.Context = "" // another one may do: let it be chosen
		return result, nil
	}
	if err != nil {
		return joining.Preflight{}, err
	}
	result.Server, result.Keeps = way.Server, way.Keeps()
	request := joining.PreflightRequest{Access: way, Name: name, Hub: hub, Dialer: reach.NewDialer(s.Policy), Now: s.Now}
	if result.Checks, result.Plan, err = request.Run(ctx); err != nil {
		return joining.Preflight{}, err
	}
	result.OK = joining.Passed(result.Checks)
	return result, nil
}

// registerPush checks the kubeconfig, then joins in the background. The
// kubeconfig lives in that task's memory and ends with it.
func (s *Service) registerPush(ctx context.Context, asked NewRegistration) (Started, error) {
	hub, err := s.as(ctx, access.RoleOperator)
	if err != nil {
		return Started{}, err
	}
	actor, _ := access.ActorFrom(ctx)
	if err := s.limits.dial(actor.Name); err != nil {
		return Started{}, err
	}
	config, err := reach.Parse([]byte(asked.Kubeconfig))
	if err != nil {
		return Started{}, err
	}
	chosen := config.Choose(asked.Context)
	if chosen == "" {
		return Started{}, fault.Invalid("the kubeconfig names no current context").WithCode(registration.CodeKubeconfig).WithField("context", "choose one")
	}
	reach, err := config.Select(chosen)
	if err != nil {
		return Started{}, err
	}
	record := registration.New(registration.NewID(), registration.FlavourPush, s.Now())
	record.ClusterName, record.CreatedBy, record.State = asked.ClusterName, actor.Name, registration.StateRunning
	record.Labels, record.Placement = maps.Clone(asked.Labels), registration.Placement{Provider: asked.Provider, Region: asked.Region, Zones: asked.Zones}
	record.Target, record.Stamped = reach.Target(), true // Join sets the labels itself
	task := &pushJoin{service: s, id: record.ID, asked: asked, access: reach, hub: hub, actor: actor, recorded: make(chan error, 1)}
	task.asked.Kubeconfig = ""
	stored, err := s.startPush(ctx, record, task)
	if err != nil {
		return Started{}, err
	}
	return Started{Registration: stored}, nil
}

// startPush stores the record and starts its task, and waits until the audit
// holds the intent: what cannot be recorded is not begun.
func (s *Service) startPush(ctx context.Context, record *registration.Registration, task *pushJoin) (registration.Registration, error) {
	end := &running{done: make(chan struct{})}
	s.mu.Lock()
	for _, other := range s.joins {
		if other.name == record.ClusterName {
			s.mu.Unlock()
			return registration.Registration{}, fault.Conflict("a join of %s is running already", record.ClusterName).WithFix("wait for it, or cancel it")
		}
	}
	if len(s.joins) >= joinsAtOnce {
		s.mu.Unlock()
		return registration.Registration{}, fault.TooMany("%d joins are running", joinsAtOnce).WithFix("try again when one has ended")
	}
	end.name = record.ClusterName
	end.context, end.cancel = context.WithCancel(context.Background())
	s.joins[record.ID] = end
	s.mu.Unlock()
	forget := func() {
		end.cancel()
		s.mu.Lock()
		delete(s.joins, record.ID)
		s.mu.Unlock()
		close(end.done)
	}
	stored, err := s.Registrations.Add(ctx, record)
	if err == nil {
		err = s.tasks.Begin(func(base context.Context) {
			defer forget()
			stop := context.AfterFunc(base, end.cancel)
			defer stop()
			task.run(end.context)
		})
	}
	if err != nil {
		forget()
		return registration.Registration{}, err
	}
	select {
	case err = <-task.recorded:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return stored, err
}

// Cancel ends a registration: it revokes the token of a pull registration, and
// stops a push join, which then takes back what it made. Operators may.
func (s *Service) Cancel(ctx context.Context, id string) (registration.Registration, error) {
	if err := access.Require(ctx, access.RoleOperator); err != nil {
		return registration.Registration{}, err
	}
	record, err := s.Registrations.Get(ctx, id)
	if err != nil {
		return registration.Registration{}, err
	}
	if record.Final() {
		return registration.Registration{}, fault.Conflict("this registration is %s already", record.State)
	}
	if record.Arrived() && record.State != registration.StateFailed {
		return registration.Registration{}, fault.Conflict("cluster %s has joined already", record.ClusterName).WithFix("remove the cluster instead")
	}
	var ended registration.Registration
	action := audit.Action{Verb: "cancel", Kind: kindRegistration, Name: id, Needs: access.RoleOperator, Detail: map[string]string{"cluster": record.ClusterName}}
	err = s.Audit.Do(ctx, action, func(ctx context.Context) error {
		s.Registrations.Ending(id, true)
		defer s.Registrations.Ending(id, false)
		if record.TokenID != "" {
			if err := s.Tokens.Delete(ctx, record.TokenID); err != nil && !fault.Is(err, fault.KindNotFound) {
				return err
			}
		}
		ended, err = s.Registrations.Change(ctx, id, func(r *registration.Registration) { r.End(registration.StateCancelled, s.Now()) })
		if err != nil {
			return err
		}
		return s.stopJoin(ctx, id)
	})
	return ended, err
}

// stopJoin ends a push join and waits until it has taken back what it made.
func (s *Service) stopJoin(ctx context.Context, id string) error {
	s.mu.Lock()
	join := s.joins[id]
	s.mu.Unlock()
	if join == nil {
		return nil
	}
	join.cancel()
	select {
	case <-join.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Registration returns one registration with its log. Everybody who is signed in
// may: it holds no secret.
func (s *Service) Registration(ctx context.Context, id string) (registration.Registration, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return registration.Registration{}, err
	}
	return s.Registrations.Get(ctx, id)
}

// RegistrationList returns registrations in these states (none: all), newest
// first. Everybody who is signed in may.
func (s *Service) RegistrationList(ctx context.Context, states []string, after registration.Cursor, limit int) (registration.Page, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return registration.Page{}, err
	}
	return s.Registrations.List(ctx, states, after, limit)
}

// Decode says what a terminal's text means for a registration, and notes that it
// was asked. Operators may.
func (s *Service) Decode(ctx context.Context, id, text string) (registration.Advice, error) {
	if err := access.Require(ctx, access.RoleOperator); err != nil {
		return registration.Advice{}, err
	}
	if _, err := s.Registrations.Get(ctx, id); err != nil {
		return registration.Advice{}, err
	}
	advice := registration.Decode(text)
	s.Registrations.Note(id, strings.TrimSpace("terminal output read: "+advice.Code+" "+advice.Cause))
	return advice, nil
}

// pushJoin is the task of one push registration.
type pushJoin struct {
	service  *Service
	id       string
	asked    NewRegistration
	access   *reach.Access
	hub      client.Client
	actor    access.Actor
	recorded chan error // told once whether the audit took the intent
}

// run joins and writes each step into the record.
func (p *pushJoin) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(access.WithActor(ctx, p.actor), joinTimeout)
	defer cancel()
	begun := false
	action := audit.Action{Verb: "join", Kind: kindCluster, Name: p.asked.ClusterName, Needs: access.RoleOperator, Detail: map[string]string{
		"registration": p.id, "server": p.access.Server, "mode": string(clusterv1alpha1.Push),
	}}
	err := p.service.Audit.Do(ctx, action, func(ctx context.Context) error {
		begun = true
		p.recorded <- nil
		return p.join(ctx)
	})
	if !begun {
		p.recorded <- err
	}
	p.access = nil
	if err != nil {
		p.fail(ctx, err)
	}
}

// join is preflight, then Join.
func (p *pushJoin) join(ctx context.Context) error {
	stages, now := p.service.Registrations, p.service.Now
	dialer := reach.NewDialer(p.service.Policy)
	checks, _, err := joining.PreflightRequest{Access: p.access, Name: p.asked.ClusterName, Hub: p.hub, Dialer: dialer, Now: now}.Run(ctx)
	if err != nil {
		return err
	}
	for _, check := range checks {
		stages.Note(p.id, fmt.Sprintf("%s: %s (%s, %d ms)", check.ID, check.State, check.Detail, check.Millis))
	}
	for _, check := range checks {
		if check.State == joining.CheckFailed {
			return fault.Invalid("%s", check.Detail).WithCode(check.Code).WithFix(check.Fix)
		}
	}
	stages.Advance(ctx, registration.Match{ID: p.id}, registration.StagePreflight, registration.StageEvent{Detail: fmt.Sprintf("%d checks", len(checks))})
	_, err = joining.Join(ctx, joining.Request{
		Name: p.asked.ClusterName, Hub: p.hub, Member: p.access.DialConfig(dialer), ProxyURL: p.access.ProxyURL,
		Provider: p.asked.Provider, Region: p.asked.Region, Zones: p.asked.Zones, Labels: p.asked.Labels,
		Annotations: map[string]string{registration.Annotation: p.id}, Progress: p.progress(ctx),
	})
	return err
}

// progress turns steps into log lines and stages.
func (p *pushJoin) progress(ctx context.Context) joining.Progress {
	stages := p.service.Registrations
	return func(step joining.Step) {
		if step.State == joining.StepRunning {
			return
		}
		stages.Note(p.id, string(step.State)+": "+step.Detail)
		switch {
		case step.State == joining.StepDone && step.Name == "credential":
			stages.Advance(ctx, registration.Match{ID: p.id}, registration.StageCredentials, registration.StageEvent{Detail: "account " + joining.MemberAccount(p.asked.ClusterName)})
		case step.State == joining.StepDone && step.Name == "owners":
			p.service.arrive(ctx, p.id, p.asked.ClusterName, p.asked.ClusterName)
		}
	}
}

// arrive notes that the Cluster of a push registration stands, and looks at it
// once more: it may have become ready before, and then no event follows.
func (s *Service) arrive(ctx context.Context, record, name, detail string) {
	s.Registrations.Advance(ctx, registration.Match{ID: record}, registration.StageCluster, registration.StageEvent{Detail: detail})
	var cluster clusterv1alpha1.Cluster
	if err := s.Cache.Get(ctx, client.ObjectKey{Name: name}, &cluster); err == nil {
		s.Registrations.ClusterChanged(&cluster)
	} // else its first event is still to come
}

// fail records why the join ended. A cancelled one is final already.
func (p *pushJoin) fail(ctx context.Context, err error) {
	failure := registration.Failure{Cause: "The hub could not go on; its log has the reason."}
	if known, ok := fault.As(err); ok {
		failure = registration.Failure{Code: known.Code, Cause: known.Message, Fix: known.Fix}
	}
	if p.service.tasks.Ended() {
		// Nobody reads the queue any more, so nothing can come in between.
		failure.Cause = "The hub stopped while it joined the cluster. What it had made was removed."
		failure.Fix = "Join the cluster again."
		_, _ = p.service.Registrations.Change(context.WithoutCancel(ctx), p.id, func(r *registration.Registration) { r.Fail(r.Current(), failure, p.service.Now()) })
		return
	}
	p.service.Registrations.FailCurrent(ctx, p.id, failure)
}
