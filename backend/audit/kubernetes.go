package audit

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/apis"
)

// Limits of what strangers can make the hub write: rows a second, and at once.
const (
	strangerRate  = 10
	strangerBurst = 200
)

const (
	drainLimit = 10 * time.Second
	warnPeriod = time.Minute
)

var _ audit.Backend = (*Backend)(nil)

// Backend records changes that come in through the hub API. It implements
// audit.Backend of k8s.io/apiserver; Policy says which requests reach it.
//
// An API server calls it twice for a change, with the same event both times:
// before the request is authorized, when neither the name of a created object
// nor an impersonated user is known yet, and after the answer. If the first
// call returns false the request is refused with 500 and runs nothing.
//
// Requests are told apart by the event itself, which lives as long as its
// request. The Audit-ID cannot do that: clients choose it, and several may
// choose the same at the same time.
type Backend struct {
	service   *Service
	strangers *rate.Limiter

	mu     sync.Mutex
	open   map[*auditinternal.Event]Entry
	warned time.Time // when the log last said that attempts are left out
}

// NewBackend returns the part of service that the API server calls.
func NewBackend(service *Service) *Backend {
	return &Backend{
		service: service, strangers: rate.NewLimiter(strangerRate, strangerBurst), open: map[*auditinternal.Event]Entry{},
	}
}

// Run implements audit.Backend; there is nothing to start.
func (b *Backend) Run(<-chan struct{}) error { return nil }

// Shutdown implements audit.Backend: it waits until every outcome is stored.
func (b *Backend) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	if err := b.service.Drain(ctx); err != nil {
		slog.Warn("audit outcomes are not all stored, they will show as unknown", "error", err)
	}
}

// String implements audit.Backend.
func (b *Backend) String() string { return "muster" }

// ProcessEvents implements audit.Backend. It returns false if an intent cannot
// be stored.
func (b *Backend) ProcessEvents(events ...*auditinternal.Event) bool {
	kept := true
	for _, event := range events {
		kept = b.process(event) && kept
	}
	return kept
}

func (b *Backend) process(event *auditinternal.Event) bool {
	interest := queryOf(event).interest()
	switch {
	case interest == ignored:
		return true
	case event.Stage == auditinternal.StageRequestReceived && interest == everything:
		return b.begin(event)
	case event.Stage == auditinternal.StageResponseStarted:
		b.unauthenticated(event)
	case event.Stage == auditinternal.StageResponseComplete, event.Stage == auditinternal.StagePanic:
		b.end(event)
	}
	return true
}

func (b *Backend) begin(event *auditinternal.Event) bool {
	if isStranger(event) && !b.allowStranger() {
		return false
	}
	entry := b.service.intentOf(event)
	if err := b.service.open(context.Background(), entry); err != nil {
		return false // the journal has logged why
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[event] = entry
	return true
}

// unauthenticated records a request whose sender is not known. The API server
// tells of it only here, after it has refused it.
func (b *Backend) unauthenticated(event *auditinternal.Event) {
	b.mu.Lock()
	_, known := b.open[event]
	b.mu.Unlock()
	if !known && event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusUnauthorized {
		b.denied(event)
	}
}

func (b *Backend) end(event *auditinternal.Event) {
	b.mu.Lock()
	entry, known := b.open[event]
	delete(b.open, event)
	b.mu.Unlock()
	outcome, code := judgeEvent(event)
	if !known {
		if outcome == Denied {
			b.denied(event)
		}
		return
	}
	closing := b.service.closed(completed(entry, event), outcome, code).row(phaseOutcome)
	b.service.finishLater(closing)
}

// denied records an attempt of which no intent was kept.
func (b *Backend) denied(event *auditinternal.Event) {
	if !b.allowStranger() {
		return
	}
	entry := completed(b.service.intentOf(event), event)
	outcome, code := judgeEvent(event)
	b.service.finishLater(entry.row(phaseIntent), b.service.closed(entry, outcome, code).row(phaseOutcome))
}

// allowStranger keeps those who need no rights to be refused from filling the
// disk.
func (b *Backend) allowStranger() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.strangers.Allow() {
		return true
	}
	if now := time.Now(); now.Sub(b.warned) > warnPeriod {
		b.warned = now
		slog.Warn("too many refused attempts, not all are recorded")
	}
	return false
}

func isStranger(event *auditinternal.Event) bool {
	return event.User.Username == "" || strings.HasPrefix(event.User.Username, anonymousPrefix)
}

// finishLater stores rows without keeping the answer to the client waiting.
func (s *Service) finishLater(rows ...row) {
	s.journal.keepLater(func() { s.publish(rows[len(rows)-1]) }, rows...)
}

func queryOf(event *auditinternal.Event) query {
	q := query{user: event.User.Username, groups: event.User.Groups, verb: event.Verb}
	if at, err := url.ParseRequestURI(event.RequestURI); err == nil {
		q.path = at.Path
	}
	if object := event.ObjectRef; object != nil {
		q.group, q.resource, q.subresource = object.APIGroup, object.Resource, object.Subresource
	}
	return q
}

// intentOf tells what a request asks for, as far as it is known at its begin.
func (s *Service) intentOf(event *auditinternal.Event) Entry {
	now := s.now()
	entry := Entry{
		ID: newKey(now), At: now.UTC(), Actor: event.User.Username, Via: access.ViaHubAPI, Source: sourceOf(event),
		Verb: event.Verb, Outcome: Pending, Detail: map[string]string{}, RequestID: string(event.AuditID),
	}
	if entry.Actor == "" {
		entry.Actor = "unknown"
	}
	detail := func(key, value string) {
		if value != "" {
			entry.Detail[key] = value
		}
	}
	at, err := url.ParseRequestURI(event.RequestURI)
	if err != nil {
		at = &url.URL{}
	}
	detail("client", client(event.UserAgent))
	detail("dryRun", at.Query().Get("dryRun")) // no more of the query: exec has its command there
	object := event.ObjectRef
	if object == nil {
		entry.Kind = "path"
		entry.Name = at.Path
		return entry
	}
	entry.Kind, entry.Namespace, entry.Name = kindOf(object.Resource), object.Namespace, object.Name
	detail("subresource", object.Subresource)
	if kinds[object.Resource] == "" {
		detail("group", object.APIGroup)
	}
	if object.Subresource == "proxy" {
		detail("path", at.Path)
	}
	return entry
}

// completed adds what is known only once a request has ended.
func completed(entry Entry, event *auditinternal.Event) Entry {
	if object := event.ObjectRef; object != nil {
		if entry.Name == "" {
			entry.Name = object.Name
		}
		if entry.Namespace == "" {
			entry.Namespace = object.Namespace
		}
	}
	if entry.Name == "" {
		entry.Name = event.Annotations[apis.AuditNameAnnotation]
	}
	if as := event.ImpersonatedUser; as != nil {
		entry.Actor = strings.TrimPrefix(as.Username, "muster:user:")
		entry.Detail["impersonator"] = event.User.Username
	}
	return entry
}

func judgeEvent(event *auditinternal.Event) (Outcome, string) {
	status := event.ResponseStatus
	switch {
	case event.Stage == auditinternal.StagePanic:
		return Unknown, codePanic
	case status == nil || status.Code == http.StatusOK && status.Message == "Connection closed early":
		return Unknown, "interrupted"
	}
	outcome := judgeStatus(status.Code)
	if outcome == OK {
		return OK, ""
	}
	if status.Reason != "" {
		return outcome, string(status.Reason)
	}
	return outcome, strconv.Itoa(int(status.Code))
}

// sourceOf is the address of the connection; what comes before it in the list
// stood in headers that anybody can write.
func sourceOf(event *auditinternal.Event) string {
	if len(event.SourceIPs) == 0 {
		return ""
	}
	return event.SourceIPs[len(event.SourceIPs)-1]
}

// client is the program's name and version, the part of a User-Agent before
// the platform.
func client(agent string) string {
	name, _, _ := strings.Cut(agent, " ")
	return name
}
