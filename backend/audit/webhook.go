package audit

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"muster.dev/muster/backend/fault"
)

const (
	// batchBytes is how large a batch of events may be. An API server sends up to
	// 400 events at once, each of a kilobyte when its policy says Metadata.
	batchBytes = 32 << 20
	// tokenLeast is how long the token of the receiver must be at least.
	tokenLeast = 16
)

// ReceiverOptions are what a Receiver works with.
type ReceiverOptions struct {
	// TokenFile holds the bearer token of the API server; empty: it shows a client
	// certificate, which the listener has verified.
	TokenFile string
	// Self is the name by which the API knows the hub: what the hub does is
	// recorded by itself, or not at all.
	Self func() string
}

// Receiver records what an existing Kubernetes API tells of the requests it
// served: it is what that API's --audit-webhook-config-file points at. The rules
// are Backend's, except for one: an intent cannot be stored before the request
// runs. What the API server does not send, or loses, is not recorded.
//
// A batch may come twice: an event's key is made of what it says, so that the
// same one is stored once, whichever replica receives it.
type Receiver struct {
	backend *Backend
	options ReceiverOptions
}

// NewReceiver returns the receiver that stores into service.
func NewReceiver(service *Service, options ReceiverOptions) (*Receiver, error) {
	r := &Receiver{backend: NewBackend(service), options: options}
	if options.TokenFile != "" {
		if _, err := r.token(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// token reads the token anew each time: it may be replaced while we serve.
func (r *Receiver) token() (string, error) {
	data, err := os.ReadFile(r.options.TokenFile)
	if err != nil {
		return "", fault.Invalid("the token of the audit webhook cannot be read: %s", err.Error())
	}
	token := strings.TrimSpace(string(data))
	if len(token) < tokenLeast {
		return "", fault.Invalid("the token in %s is shorter than %d characters", r.options.TokenFile, tokenLeast).WithFix("write a random one: openssl rand -hex 32")
	}
	return token, nil
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "events are posted", http.StatusMethodNotAllowed)
		return
	}
	if !r.known(request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the sender of audit events is not known", http.StatusUnauthorized)
		return
	}
	var list auditv1.EventList
	if err := json.NewDecoder(http.MaxBytesReader(w, request.Body, batchBytes)).Decode(&list); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, "the batch is too large", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "the body is no list of audit events", http.StatusBadRequest)
		return
	}
	if list.APIVersion != auditv1.SchemeGroupVersion.String() {
		http.Error(w, "the body is no list of audit events of "+auditv1.SchemeGroupVersion.String(), http.StatusBadRequest)
		return
	}
	if err := r.store(request.Context(), list.Items); err != nil {
		slog.Error("audit events of the api are not stored", "error", err)
		http.Error(w, "the events could not be stored", http.StatusServiceUnavailable) // they are sent again
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (r *Receiver) known(request *http.Request) bool {
	if request.TLS != nil && len(request.TLS.VerifiedChains) > 0 {
		return true
	}
	if r.options.TokenFile == "" {
		return false
	}
	token, err := r.token()
	if err != nil {
		slog.Error("audit events are refused", "error", err)
		return false
	}
	shown, ok := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(shown))
	return ok && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// store keeps what of a batch is to be recorded, all of it or none is confirmed.
func (r *Receiver) store(ctx context.Context, events []auditv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	service := r.backend.service
	type kept struct {
		write *write
		last  row
	}
	var waiting []kept
	for i := range events {
		var event auditinternal.Event
		if err := auditv1.Convert_v1_Event_To_audit_Event(&events[i], &event, nil); err != nil {
			return fmt.Errorf("read audit event: %w", err)
		}
		entry, wanted := r.entry(&event)
		if !wanted {
			continue
		}
		outcome, code := judgeEvent(&event)
		closing := closedAfter(entry, &event, outcome, code).row(phaseOutcome)
		waiting = append(waiting, kept{service.journal.keep(entry.row(phaseIntent), closing), closing})
	}
	for _, one := range waiting {
		if err := one.write.wait(ctx); err != nil {
			return err
		}
		service.publish(one.last)
	}
	return nil
}

// entry is what an event tells, if that is to be recorded.
func (r *Receiver) entry(event *auditinternal.Event) (Entry, bool) {
	if event.Stage != auditinternal.StageResponseComplete && event.Stage != auditinternal.StagePanic {
		return Entry{}, false // the same request comes again when it has ended
	}
	who := event.User.Username
	if who == r.options.Self() || isComponent(who) || event.RequestReceivedTimestamp.IsZero() {
		return Entry{}, false
	}
	interest := queryOf(event).interest()
	outcome, _ := judgeEvent(event)
	if interest == ignored || interest == denials && outcome != Denied {
		return Entry{}, false
	}
	if (isStranger(event) || outcome == Denied) && !r.backend.allowStranger() {
		return Entry{}, false
	}
	entry := completed(r.backend.service.intentOf(event), event)
	at := event.RequestReceivedTimestamp.Time
	entry.ID, entry.At = eventKey(event), at.UTC()
	entry.Detail["received"] = "audit-webhook"
	return entry, true
}

// isComponent tells the parts of the cluster itself, which act all the time and
// for nobody: they are to an existing API what the hub's controllers are to ours.
func isComponent(user string) bool {
	for _, prefix := range []string{"system:node:", "system:kube-", "system:serviceaccount:kube-system:"} {
		if strings.HasPrefix(user, prefix) {
			return true
		}
	}
	return user == "system:apiserver"
}

// eventKey is the key of an event's action: the time of the request, like all
// keys, and what tells it from others of the same microsecond. A client may
// choose its Audit-ID, so that the id alone does not.
func eventKey(event *auditinternal.Event) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(event.AuditID), event.User.Username, event.Verb, event.RequestURI}, "\x00")))
	return keyFloor(event.RequestReceivedTimestamp.Time) + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:12]
}

// closedAfter is entry with the end that the API server tells.
func closedAfter(entry Entry, event *auditinternal.Event, outcome Outcome, code string) Entry {
	took := max(event.StageTimestamp.Sub(event.RequestReceivedTimestamp.Time).Milliseconds(), 0)
	entry.Outcome, entry.Code, entry.DurationMillis = outcome, code, &took
	return entry
}
