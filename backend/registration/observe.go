package registration

import (
	"context"
	"net"
	"net/http"
	"strings"

	"golang.org/x/time/rate"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/token"
)

// StageRecorder keeps the staged record of registrations. It is called from
// request handlers and controllers and does not block them for long.
type StageRecorder interface {
	Advance(ctx context.Context, m Match, stage string, e StageEvent)
	Fail(ctx context.Context, m Match, stage string, f Failure)
}

// TokenReader looks up a join token by its id. It returns fault.NotFound if
// there is none.
type TokenReader interface {
	Get(ctx context.Context, id string) (token.Token, error)
}

const (
	clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	// observedPerSecond bounds what strangers can make the hub look up and note.
	observedPerSecond, observedBurst = 20, 100
)

// Observe watches the first steps of a registration on the hub API, which end
// before any controller could see them: an agent reads cluster-info (stage
// contact), and a join token is accepted or refused (stage token). It wraps the
// whole handler chain, authentication included, and changes neither requests nor
// answers. It never looks at the secret half of a token.
func Observe(tokens TokenReader, r StageRecorder) func(http.Handler) http.Handler {
	o := &observer{tokens: tokens, stages: r, limit: rate.NewLimiter(observedPerSecond, observedBurst)}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.serve(next, w, r) })
	}
}

type observer struct {
	tokens TokenReader
	stages StageRecorder
	limit  *rate.Limiter
}

func (o *observer) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = r.RemoteAddr
	}
	if id := contactOf(r); id != "" && o.limit.Allow() {
		o.stages.Advance(r.Context(), Match{TokenID: id}, StageContact, StageEvent{Source: source})
	}
	id := bearerTokenID(r)
	if id == "" {
		next.ServeHTTP(w, r)
		return
	}
	seen := &statusWriter{ResponseWriter: w}
	next.ServeHTTP(responsewriter.WrapForHTTP1Or2(seen), r)
	ctx := context.WithoutCancel(r.Context()) // the client may have gone with its answer
	switch {
	case seen.code == http.StatusUnauthorized:
		if o.limit.Allow() {
			o.refused(ctx, id, source)
		}
	case seen.code != 0 && r.Method == http.MethodPost: // not the reads that follow
		o.stages.Advance(ctx, Match{TokenID: id}, StageToken, StageEvent{Source: source})
	}
}

// contactOf is the id of the token that an anonymous read of cluster-info was
// made for, as our agent says.
func contactOf(r *http.Request) string {
	id := r.Header.Get(agentapi.TokenIDHeader)
	if r.Method != http.MethodGet || r.URL.Path != clusterInfoPath || r.Header.Get("Authorization") != "" {
		return ""
	}
	if _, err := token.ParseID(id); err != nil || len(id) != tokenIDLength {
		return ""
	}
	return id
}

const tokenIDLength = 6

// bearerTokenID is the public half of a bearer token that has the shape of a
// join token, empty for all others.
func bearerTokenID(r *http.Request) string {
	scheme, text, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	id, _, err := token.Parse(text)
	if err != nil {
		return ""
	}
	return id
}

// refused tells why a token was not accepted. Somebody who guesses learns
// nothing: the answer to the client is the API server's.
func (o *observer) refused(ctx context.Context, id, source string) {
	known, err := o.tokens.Get(ctx, id)
	code := CodeTokenSecret
	switch {
	case fault.Is(err, fault.KindNotFound):
		code = CodeTokenUnknown
	case err != nil:
		return
	case known.Expired:
		code = CodeTokenExpired
	}
	advice := Advise(code)
	o.stages.Fail(ctx, Match{TokenID: id}, StageToken, Failure{Code: code, Cause: advice.Cause, Fix: advice.Fix, Source: source})
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(data []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach what the server offers.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
