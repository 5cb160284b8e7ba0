package registration

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

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
	// ExpiredAt says when the token of these halves expired, if it has.
	ExpiredAt(id, secret string) (time.Time, bool)
}

const (
	clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	// observedPerSecond bounds what strangers can make the hub look up and note.
	observedPerSecond, observedBurst = 20, 100
)

// Observe watches the first steps of a registration on the hub API, which end
// before any controller could see them: an agent reads cluster-info (stage
// contact), and a join token is accepted or refused (stage token). It wraps the
// whole handler chain, authentication included, and changes no request; to the
// refusal of an expired token that was shown whole it adds when that expired
// (agentapi.TokenExpiredHeader). It keeps the secret half of no token.
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
	id, secret := bearerToken(r)
	if id == "" {
		next.ServeHTTP(w, r)
		return
	}
	var expired time.Time
	seen := &statusWriter{ResponseWriter: w, refused: func(header http.Header) {
		if at, ok := o.tokens.ExpiredAt(id, secret); ok {
			expired = at
			header.Set(agentapi.TokenExpiredHeader, at.UTC().Format(time.RFC3339))
		}
	}}
	next.ServeHTTP(responsewriter.WrapForHTTP1Or2(seen), r)
	ctx := context.WithoutCancel(r.Context()) // the client may have gone with its answer
	switch {
	case seen.code == http.StatusUnauthorized:
		if o.limit.Allow() {
			o.refused(ctx, id, source, expired)
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

// bearerToken is a bearer token that has the shape of a join token, in its two
// halves; both are empty for all others.
func bearerToken(r *http.Request) (id, secret string) {
	scheme, text, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", ""
	}
	id, secret, err := token.Parse(text)
	if err != nil {
		return "", ""
	}
	return id, secret
}

// refused tells why a token was not accepted. Somebody who guesses learns
// nothing: the answer to the client is the API server's. expired is not zero if
// the token was shown whole and has expired; its Secret may be gone by now.
func (o *observer) refused(ctx context.Context, id, source string, expired time.Time) {
	known, err := o.tokens.Get(ctx, id)
	code := CodeTokenSecret
	switch {
	case !expired.IsZero():
		code = CodeTokenExpired
	case fault.Is(err, fault.KindNotFound):
		code = CodeTokenUnknown
	case err != nil:
		return
	case known.Expired:
		code = CodeTokenExpired
	}
	advice := Advise(code)
	if !expired.IsZero() {
		advice.Cause = "The token expired at " + expired.UTC().Format(time.RFC3339) + "."
	}
	o.stages.Fail(ctx, Match{TokenID: id}, StageToken, Failure{Code: code, Cause: advice.Cause, Fix: advice.Fix, Source: source})
}

// statusWriter notes the status of an answer. refused may add to the header of
// one that says the credential is not accepted.
type statusWriter struct {
	http.ResponseWriter
	code    int
	refused func(header http.Header)
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		if code == http.StatusUnauthorized {
			w.refused(w.Header())
		}
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
