package identity

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
)

// Revocations remember when clusters were removed, so that the certificate of a
// removed cluster's agent opens nothing of the next one that gets its name. A
// certificate lives for a year and its name is all it says; what tells the two
// agents apart is when it was issued.
//
//	removed at T ──► certificates issued before T are revoked for good
//	     └── a request for the name is approved ──► readmitted: a new agent may join
//
// Each removed cluster is one ConfigMap in karmada-system.
type Revocations struct {
	hub  client.Client
	live client.Reader

	mu      sync.RWMutex
	removed map[string]removedCluster
}

type removedCluster struct {
	at         time.Time
	readmitted bool
}

const (
	removedPrefix = "muster-removed-"
	removedLabel  = "muster.dev/removed-cluster"
	removedAt     = "removedAt"
	readmittedKey = "readmitted"
	// removedLife is how long a removal is remembered: longer than any
	// certificate lives.
	removedLife = 400 * 24 * time.Hour
	// backdating is how much earlier than its issue a certificate of the hub's
	// signer begins.
	backdating = 5 * time.Minute
)

// NewRevocations returns revocations kept on the hub; live reads from the API
// itself. They are empty until load.
func NewRevocations(hub client.Client, live client.Reader) *Revocations {
	return &Revocations{hub: hub, live: live, removed: map[string]removedCluster{}}
}

// load reads what was kept and drops what is out of date.
func (r *Revocations) load(ctx context.Context) error {
	var kept corev1.ConfigMapList
	if err := r.live.List(ctx, &kept, client.InNamespace(apis.SystemNamespace), client.HasLabels{removedLabel}); err != nil {
		return fmt.Errorf("read removed clusters: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range kept.Items {
		entry := &kept.Items[i]
		at, err := time.Parse(time.RFC3339, entry.Data[removedAt])
		if err != nil {
			at = entry.CreationTimestamp.Time
		}
		if time.Since(at) > removedLife {
			if err := r.hub.Delete(ctx, entry); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("forget removed cluster %s: %w", entry.Labels[removedLabel], err)
			}
			continue
		}
		r.removed[entry.Labels[removedLabel]] = removedCluster{at: at, readmitted: entry.Data[readmittedKey] != ""}
	}
	return nil
}

// Revoke notes that a cluster was removed.
func (r *Revocations) Revoke(ctx context.Context, cluster string, at time.Time) error {
	return r.keep(ctx, cluster, removedCluster{at: at.UTC().Truncate(time.Second)}) // as exact as a certificate
}

// readmit lets a new agent take the name of a removed cluster.
func (r *Revocations) readmit(ctx context.Context, cluster string) error {
	r.mu.RLock()
	known, ok := r.removed[cluster]
	r.mu.RUnlock()
	if !ok || known.readmitted {
		return nil
	}
	known.readmitted = true
	return r.keep(ctx, cluster, known)
}

func (r *Revocations) keep(ctx context.Context, cluster string, entry removedCluster) error {
	data := map[string]string{removedAt: entry.at.UTC().Format(time.RFC3339)}
	if entry.readmitted {
		data[readmittedKey] = "true"
	}
	stored := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: apis.SystemNamespace, Name: removedPrefix + cluster, Labels: map[string]string{removedLabel: cluster}},
		Data:       data,
	}
	err := r.hub.Create(ctx, stored.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = r.hub.Update(ctx, stored)
	}
	if err != nil {
		return fmt.Errorf("note removed cluster %s: %w", cluster, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed[cluster] = entry
	return nil
}

// Revoked tells that an agent's certificate belongs to a cluster of the name that
// was removed after its issue.
func (r *Revocations) Revoked(cluster string, issued time.Time) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	known, ok := r.removed[cluster]
	return ok && issued.Before(known.at)
}

// Barred tells that a cluster was removed and nobody has been given its name
// since: an agent that claims it is the removed one.
func (r *Revocations) Barred(cluster string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	known, ok := r.removed[cluster]
	return ok && !known.readmitted
}

type issuedKey struct{}

// NoteIssue passes on to the Authorizer when an agent's certificate was issued,
// which nobody else does.
func NoteIssue(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && strings.HasPrefix(r.TLS.PeerCertificates[0].Subject.CommonName, apis.AgentUserPrefix) {
			r = r.WithContext(withIssue(r.Context(), r.TLS.PeerCertificates[0]))
		}
		next.ServeHTTP(w, r)
	})
}

// withIssue notes in a request's context when its client certificate was issued.
// Whether the certificate is any good is for authentication to find.
func withIssue(ctx context.Context, certificate *x509.Certificate) context.Context {
	return context.WithValue(ctx, issuedKey{}, certificate.NotBefore.Add(backdating))
}

// issueFrom returns what withIssue noted.
func issueFrom(ctx context.Context) (time.Time, bool) {
	issued, ok := ctx.Value(issuedKey{}).(time.Time)
	return issued, ok
}
