package consent

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watches are the streams that agents hold open on the embedded plane. An API
// server judges a stream when it begins; one that lives on would tell a denied
// agent for minutes what it may no longer see. So the streams of a cluster are
// judged again when its rights change, and those without a right are cut.
//
//	open ──► rights change ──► Recheck: asked again ──► allowed: stays
//	                                               └──► refused: cut
type Watches struct {
	hub   atomic.Pointer[client.Client]
	queue workqueue.TypedDelayingInterface[recheck]

	mu   sync.Mutex
	open map[string]map[*stream]struct{} // by cluster
}

// stream is one open watch.
type stream struct {
	user   string
	groups []string
	what   authorizationv1.ResourceAttributes
	cut    context.CancelFunc
}

// recheck is one look at a cluster's streams.
type recheck struct {
	cluster string
	after   time.Duration
}

// recheckAfter is when streams are judged after a change: roles take effect a
// moment after they were written.
var recheckAfter = []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second, 3 * time.Second}

// reviewLimit bounds one question about a right.
const reviewLimit = 10 * time.Second

// requestInfos read what a request is about, as the API server does.
var requestInfos = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// NewWatches returns Watches. Nothing is cut before UseClient and Start.
func NewWatches() *Watches { return newWatches(clock.RealClock{}) }

func newWatches(time clock.WithTicker) *Watches {
	queue := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[recheck]{Clock: time})
	return &Watches{open: map[string]map[*stream]struct{}{}, queue: queue}
}

// UseClient gives the Watches a client that may review access.
func (w *Watches) UseClient(hub client.Client) { w.hub.Store(&hub) }

// origin is where a request came from.
type origin struct{ address, program string }

type originKey struct{}

func originFrom(ctx context.Context) origin {
	from, _ := ctx.Value(originKey{}).(origin)
	return from
}

// longestProgram bounds a user agent, which strangers choose.
const longestProgram = 128

// Middleware wraps the whole handler chain of the hub API. It keeps the watches of
// agents, and passes on where requests come from.
func (w *Watches) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == requestsPath {
			r = r.WithContext(context.WithValue(r.Context(), originKey{}, originOf(r)))
		}
		if cluster, opened := streamOf(r); opened != nil {
			var ctx context.Context
			ctx, opened.cut = context.WithCancel(r.Context())
			defer opened.cut()
			defer w.keep(cluster, opened)()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(rw, r)
	})
}

// requestsPath is where certificate requests are made.
const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

func originOf(r *http.Request) origin {
	from := origin{address: r.RemoteAddr, program: r.UserAgent()}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		from.address = host
	}
	if len(from.program) > longestProgram {
		from.program = from.program[:longestProgram]
	}
	return from
}

// streamOf reads which agent opens a watch, and of what. Agents sign in with a
// certificate; whether it is any good is for authentication to find.
func streamOf(r *http.Request) (string, *stream) {
	if r.Method != http.MethodGet || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", nil
	}
	subject := r.TLS.PeerCertificates[0].Subject
	agent, ok := ParseAgent(subject.CommonName)
	if !ok {
		return "", nil
	}
	info, err := requestInfos.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest || info.Verb != "watch" {
		return "", nil
	}
	return agent.Cluster, &stream{
		user: subject.CommonName, groups: append([]string{user.AllAuthenticated}, subject.Organization...),
		what: authorizationv1.ResourceAttributes{
			Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource,
			Namespace: info.Namespace, Name: info.Name,
		},
	}
}

func (w *Watches) keep(cluster string, opened *stream) (forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[cluster] == nil {
		w.open[cluster] = map[*stream]struct{}{}
	}
	w.open[cluster][opened] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open[cluster], opened)
		if len(w.open[cluster]) == 0 {
			delete(w.open, cluster)
		}
	}
}

func (w *Watches) of(cluster string) []*stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	streams := make([]*stream, 0, len(w.open[cluster]))
	for s := range w.open[cluster] {
		streams = append(streams, s)
	}
	return streams
}

// Recheck has the watches of a cluster's agents judged again, now and until what
// was written just before has taken effect. It does nothing on a nil Watches.
func (w *Watches) Recheck(cluster string) {
	if w == nil || len(w.of(cluster)) == 0 {
		return
	}
	for _, after := range recheckAfter {
		w.queue.AddAfter(recheck{cluster, after}, after)
	}
}

// Start judges watches until ctx ends.
func (w *Watches) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	for {
		next, shutdown := w.queue.Get()
		if shutdown {
			return nil
		}
		w.judge(ctx, next.cluster)
		w.queue.Done(next)
	}
}

func (w *Watches) judge(ctx context.Context, cluster string) {
	hub := w.hub.Load()
	if hub == nil {
		return
	}
	for _, s := range w.of(cluster) {
		allowed, err := s.allowed(ctx, *hub)
		if err != nil {
			slog.Warn("watch of an agent not judged again", "cluster", cluster, "error", err)
			continue
		}
		if !allowed {
			slog.Debug("watch of an agent cut", "cluster", cluster, "resource", s.what.Resource)
			s.cut()
		}
	}
}

func (s *stream) allowed(ctx context.Context, hub client.Client) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewLimit)
	defer cancel()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: s.user, Groups: s.groups, ResourceAttributes: &s.what}}
	if err := hub.Create(ctx, review); err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	return review.Status.Allowed, nil
}
