package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

const (
	// writeTimeout is how long an agent may leave a frame unread.
	writeTimeout = 10 * time.Second
	// silence is what the read deadline allows beyond the deadline agents are
	// told, so that whoever judges liveness does so before the link is cut.
	silence = 5 * time.Second
	// farewell is how long a link stays open after its close frame was sent.
	farewell = time.Second
	// logLines bounds the log frames of one session that are kept.
	logLines = 100
)

// session is one agent's link. Its reader runs in the goroutine of the request;
// writing and storing run in goroutines that exist only while there is something
// to do, since most sessions are at rest most of the time.
type session struct {
	link    *Link
	conn    *websocket.Conn
	log     *slog.Logger
	cluster string
	source  string

	// Set by admit.
	instance   string
	clusterUID types.UID
	number     uint64
	protocol   int

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	wmu    sync.Mutex // one writer at a time
	outbox *outbox
	inbox  *inbox
	// patches bounds what is written to ManifestWorks at once.
	patches chan struct{}

	mu     sync.Mutex
	models []clusterv1alpha1.ResourceModel // as last told
	why    string                          // of the end
	logged int
}

func newSession(l *Link, conn *websocket.Conn, cluster, source string) *session {
	return &session{link: l, conn: conn, cluster: cluster, source: source, patches: make(chan struct{}, parallelPatches),
		log: l.options.Log.With("cluster", cluster, "address", source)}
}

// serve runs the session to its end.
func (s *session) serve(ctx context.Context) {
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.conn.Close()
	defer s.cancel()
	s.conn.SetReadLimit(agentapi.MaxFromAgent)
	hello, err := s.hello()
	if err != nil {
		s.closeFor(err)
		s.part()
		return
	}
	s.outbox, s.inbox = newOutbox(s), newInbox(s)
	welcome, refusal := s.link.admit(s.ctx, s, hello)
	if refusal != nil {
		s.tell(refusal)
		code := agentapi.CloseRefused
		if refusal.Type() == agentapi.TypeRemoved {
			code = agentapi.CloseRemoved
		}
		s.sayClose(code, string(refusal.Type()))
		s.part()
		return
	}
	s.log.Info("agent connected", "agent", hello.AgentVersion, "session", s.number, "resumed", welcome.Resumed)
	why := s.live(hello, welcome)
	s.cancel()
	s.outbox.wait()
	s.inbox.wait()
	s.log.Info("agent disconnected", "session", s.number, "error", why)
	s.link.leave(s, why)
}

func (s *session) hello() (*agentapi.Hello, error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(agentapi.HelloTimeout))
	frame, err := s.read()
	if err != nil {
		return nil, err
	}
	hello, ok := frame.(*agentapi.Hello)
	if !ok {
		return nil, &agentapi.MalformedError{Type: frame.Type(), Reason: "hello comes first"}
	}
	return hello, nil
}

// live welcomes the agent and reads until the link ends. It returns why it did.
func (s *session) live(hello *agentapi.Hello, welcome *agentapi.Welcome) string {
	if err := s.write(welcome); err != nil {
		return s.reason(err)
	}
	seen := uint64(0)
	if welcome.Resumed {
		seen = hello.Resume.Revision
	}
	s.teach()
	due, all, upTo := s.link.works.since(s.cluster, seen)
	s.outbox.begin(s.sorted(due), all, upTo, welcome.Resumed)
	s.beginManifestWorks()
	s.heard()
	s.conn.SetPingHandler(func(data string) error {
		s.heard()
		return s.control(websocket.PongMessage, []byte(data))
	})
	for {
		frame, err := s.read()
		if err != nil {
			s.closeFor(err)
			return s.reason(err)
		}
		s.heard()
		if err := s.take(frame); err != nil {
			s.closeFor(err)
			return s.reason(err)
		}
	}
}

// heard notes that the agent is alive.
func (s *session) heard() {
	s.mu.Lock()
	if s.why == "" {
		_ = s.conn.SetReadDeadline(time.Now().Add(s.link.options.Deadline + silence))
	}
	s.mu.Unlock()
	s.link.options.Liveness.Beat(s.cluster)
}

func (s *session) read() (agentapi.Frame, error) {
	kind, message, err := s.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, &agentapi.MalformedError{Reason: "not a text message"}
	}
	return agentapi.DecodeFromAgent(message)
}

// take handles one frame of a live session. It does not wait for the store.
func (s *session) take(frame agentapi.Frame) error {
	switch f := frame.(type) {
	case *agentapi.Beat:
		return s.control(websocket.PongMessage, nil) // the agent wants to hear us, too
	case *agentapi.Status:
		s.inbox.status(f)
	case *agentapi.Ack:
		s.inbox.ack(f)
	case *agentapi.Log:
		s.logLine(f)
	case *agentapi.ManifestPatch:
		return s.patchManifest(f)
	default:
		return &agentapi.MalformedError{Type: frame.Type(), Reason: "not expected here"}
	}
	return nil
}

func (s *session) logLine(f *agentapi.Log) {
	if s.logged++; s.logged > logLines {
		return
	}
	level := map[agentapi.Level]slog.Level{agentapi.LevelWarn: slog.LevelWarn, agentapi.LevelError: slog.LevelError}[f.Level]
	s.log.Log(s.ctx, level, "the agent says", "message", f.Message)
}

// enqueue hands a task to the outbox.
func (s *session) enqueue(e entry) { s.outbox.add(e) }

// configure tells the agent of changed resource models.
func (s *session) configure(cluster *clusterv1alpha1.Cluster) {
	if cluster.UID != s.clusterUID {
		return
	}
	s.mu.Lock()
	changed := !equality.Semantic.DeepEqual(s.models, cluster.Spec.ResourceModels)
	s.models = cluster.Spec.ResourceModels
	s.mu.Unlock()
	if changed {
		s.outbox.config(&agentapi.Config{ResourceModels: cluster.Spec.ResourceModels})
	}
}

// delivery makes the frame of a task from the Work as it is now, nil if the Work
// is gone or another one: then a task of its own tells so.
func (s *session) delivery(e entry) (*agentapi.Work, error) {
	if e.forget {
		return &agentapi.Work{Op: agentapi.OpForget, Name: e.name, UID: e.uid, Revision: e.revision}, nil
	}
	work := &workv1alpha1.Work{}
	err := s.link.options.Store.Get(s.ctx, client.ObjectKey{Namespace: apis.ExecutionSpace(s.cluster), Name: e.name}, work)
	if apierrors.IsNotFound(err) || err == nil && work.UID != e.uid {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.hold(work); err != nil {
		return nil, err
	}
	return agentapi.NewWork(work, e.revision)
}

// hold puts the finalizer on a Work that lacks it, before its agent gets it:
// from then on the Work must not vanish before its objects.
func (s *session) hold(work *workv1alpha1.Work) error {
	if work.DeletionTimestamp != nil || holds(work) {
		return nil
	}
	held := work.DeepCopy()
	held.Finalizers = append(held.Finalizers, workv1alpha1.ExecutionControllerFinalizer)
	return client.IgnoreNotFound(s.link.options.Client.Patch(s.ctx, held, client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{})))
}

// tell sends a last word as far as it gets.
func (s *session) tell(f agentapi.Frame) { _ = s.write(f) }

func (s *session) write(f agentapi.Frame) error {
	message, err := agentapi.Encode(f)
	if err != nil {
		return err
	}
	s.wmu.Lock()
	defer s.wmu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return s.conn.WriteMessage(websocket.TextMessage, message)
}

func (s *session) control(kind int, data []byte) error {
	err := s.conn.WriteControl(kind, data, time.Now().Add(time.Second))
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return nil // the writer is busy with a slow agent, and judges it
	}
	return err
}

// end closes the link from outside the reader, which ends once the agent has
// answered, or has had time to.
func (s *session) end(code int, why string) {
	s.mu.Lock()
	if s.why == "" {
		s.why = why
	}
	s.mu.Unlock()
	s.sayClose(code, why)
	s.cancel()
	_ = s.conn.SetReadDeadline(time.Now().Add(farewell))
}

// part lets the agent read our last words: a connection closed over unread data
// is reset, and they are lost.
func (s *session) part() {
	_ = s.conn.SetReadDeadline(time.Now().Add(farewell))
	for {
		if _, _, err := s.conn.NextReader(); err != nil {
			return
		}
	}
}

func (s *session) sayClose(code int, why string) {
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
}

// closeFor says goodbye for an error of the reader, if the agent can still hear.
// For a frame above the limit the WebSocket library has done so.
func (s *session) closeFor(err error) {
	var malformed *agentapi.MalformedError
	var silent net.Error
	switch {
	case errors.As(err, &malformed):
		s.log.Warn("malformed frame", "error", err)
		s.sayClose(agentapi.CloseMalformed, clip(malformed.Error()))
	case errors.As(err, &silent) && silent.Timeout():
		s.sayClose(agentapi.CloseSilent, "no frame in time")
	}
}

// clip bounds a close reason: 123 bytes fit.
func clip(text string) string {
	const most = 120
	if len(text) > most {
		return text[:most]
	}
	return text
}

// reason words why the reader ended. What end was told counts most.
func (s *session) reason(err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var timeout net.Error
	var closed *websocket.CloseError
	switch {
	case s.why != "":
	case errors.As(err, &timeout) && timeout.Timeout():
		s.why = "no frame in time"
	case errors.As(err, &closed):
		s.why = "closed by the agent"
		switch closed.Code {
		case websocket.CloseAbnormalClosure:
			s.why = "the connection broke off"
		case websocket.CloseGoingAway:
			s.why = whyStopped
		}
	default:
		var malformed *agentapi.MalformedError
		s.why = "the connection broke off"
		if errors.As(err, &malformed) {
			s.why = malformed.Error()
		}
	}
	return s.why
}

// stopped tells that the agent said goodbye because it stops.
func (s *session) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why == whyStopped
}

// whyStopped is the reason of a session whose agent ends.
const whyStopped = "the agent stopped"

func holds(work *workv1alpha1.Work) bool {
	for _, f := range work.Finalizers {
		if f == workv1alpha1.ExecutionControllerFinalizer {
			return true
		}
	}
	return false
}
