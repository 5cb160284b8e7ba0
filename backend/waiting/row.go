package waiting

import (
	"cmp"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/consent"
)

// decidedFor is how long a row stays after the last consent was given or refused.
const decidedFor = 24 * time.Hour

// States of a certificate request, and of the certificate of a row, which is
// that of its newest request.
const (
	CertificateNone     = "none"
	CertificatePending  = "pending"
	CertificateApproved = "approved"
	CertificateIssued   = "issued"
	CertificateDenied   = "denied"
	CertificateFailed   = "failed"
)

// What a row waits for next.
const (
	NextBoth        = "both"        // both consents
	NextCertificate = "certificate" // the certificate's approval
	NextAcceptance  = "acceptance"  // the cluster's acceptance
	NextAgent       = "agent"       // the agent introduces itself, or asks for its certificate
	NextJoin        = "join"        // the agent uses its certificate
	NextAvailable   = "available"   // the agent reports that the cluster is well
	NextNone        = "none"        // nothing
)

// heldUnsigned is what the plane's word on an approved request begins with that
// nobody signs.
const heldUnsigned = "SignerMissing: "

// What the dashboard writes into the conditions of requests.
const (
	reasonDecided   = "MusterDashboard"
	decidedByPrefix = "Decided in the dashboard by "
)

// Row is a cluster in the waiting room.
type Row struct {
	Cluster string `json:"cluster"`
	// Exists: there is a ManagedCluster. Agents make it beside their request.
	Exists   bool `json:"exists"`
	Accepted bool `json:"accepted"`
	Denied   bool `json:"denied"`
	// AcceptedBy is the person of the dashboard, or the rule, if it was one of them.
	AcceptedBy string `json:"acceptedBy,omitempty" validate:"optional"`
	// AcceptedAt is when the hub had prepared for the cluster.
	AcceptedAt *time.Time `json:"acceptedAt,omitempty" validate:"optional"`
	// DeniedBy and DeniedReason are known of a refusal in the dashboard.
	DeniedBy     string `json:"deniedBy,omitempty" validate:"optional"`
	DeniedReason string `json:"deniedReason,omitempty" validate:"optional"`
	// Waits: a person is asked for a consent.
	Waits bool `json:"waits"`
	// Next is what happens next, once what is asked for is given.
	Next        string `json:"next" enums:"both,certificate,acceptance,agent,join,available,none"`
	Certificate string `json:"certificate" enums:"none,pending,approved,issued,denied,failed"`
	Joined      bool   `json:"joined"`
	// Available is as the agent says; empty as long as it says nothing.
	Available string   `json:"available" enums:"True,False,Unknown,"`
	URLs      []string `json:"urls"`
	// Version of Kubernetes; agents tell it once they have joined.
	Version   string    `json:"version,omitempty" validate:"optional"`
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy,omitempty" validate:"optional"`
	// DecidedAt is when the last consent was given or refused.
	DecidedAt *time.Time `json:"decidedAt,omitempty" validate:"optional"`
	// Requests are newest first.
	Requests []Request `json:"requests"`
}

// Request is a certificate request of a cluster's agent.
type Request struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	Agent   string `json:"agent"`
	State   string `json:"state" enums:"pending,approved,denied,issued,failed"`
	// Superseded: the same cluster asked again later, most likely because its agent
	// began anew with another key.
	Superseded bool     `json:"superseded"`
	Requester  string   `json:"requester"`
	Groups     []string `json:"groups"`
	// Fingerprint is SHA256: and the hex digest of the public key, as the agent
	// prints it.
	Fingerprint string `json:"fingerprint"`
	// Address and UserAgent are those of the connection that the request came over,
	// where the audit knows them.
	Address           string    `json:"address,omitempty" validate:"optional"`
	UserAgent         string    `json:"userAgent,omitempty" validate:"optional"`
	CreatedAt         time.Time `json:"createdAt"`
	ExpirationSeconds *int32    `json:"expirationSeconds,omitempty" validate:"optional"`
	// Renewal: the agent asks as itself, with a certificate that it has.
	Renewal bool `json:"renewal"`
	// Problem is why the request is not what it should be.
	Problem string `json:"problem,omitempty" validate:"optional"`
	// Held is why the hub did not approve it by itself although a rule would have, or why nobody signs what was approved.
	Held      string     `json:"held,omitempty" validate:"optional"`
	DecidedBy string     `json:"decidedBy,omitempty" validate:"optional"`
	DecidedAt *time.Time `json:"decidedAt,omitempty" validate:"optional"`
}

// requestRow is how a certificate request is shown; false: it is not of an agent.
func requestRow(csr *certificatesv1.CertificateSigningRequest) (Request, bool) {
	asked, err := consent.Read(csr)
	if err != nil {
		return Request{}, false
	}
	row := Request{
		Name: csr.Name, Cluster: asked.Cluster, Agent: asked.Agent, State: CertificatePending,
		Requester: csr.Spec.Username, Groups: append([]string{}, csr.Spec.Groups...), Fingerprint: asked.Fingerprint,
		CreatedAt: csr.CreationTimestamp.UTC(), ExpirationSeconds: csr.Spec.ExpirationSeconds, Renewal: asked.Renewal, Problem: asked.Problem,
		Address: csr.Annotations[consent.AnnotationAddress], UserAgent: csr.Annotations[consent.AnnotationUserAgent],
	}
	for _, condition := range csr.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateApproved:
			if row.State == CertificatePending {
				row.State = CertificateApproved
			}
		case certificatesv1.CertificateDenied:
			row.State = CertificateDenied
		case certificatesv1.CertificateFailed:
			row.State = CertificateFailed
			continue // the signer's, not a decision
		default:
			continue
		}
		row.decidedBy(&condition)
	}
	if row.State == CertificateApproved && len(csr.Status.Certificate) > 0 {
		row.State = CertificateIssued
	}
	row.Held = held(row.State, csr.Annotations[consent.AnnotationWaiting])
	return row, true
}

// held is what to tell of why a request in this state does not go on.
func held(state, why string) string {
	switch {
	case state == CertificatePending, state == CertificateApproved && strings.HasPrefix(why, heldUnsigned):
		return why
	}
	return "" // that it was not approved, or not signed, is past
}

// decidedBy takes over when a request was decided, and by whom: the person, if it
// was in the dashboard, else the program's reason.
func (r *Request) decidedBy(condition *certificatesv1.CertificateSigningRequestCondition) {
	at := condition.LastUpdateTime.UTC()
	if condition.LastUpdateTime.IsZero() {
		at = condition.LastTransitionTime.UTC()
	}
	r.DecidedAt, r.DecidedBy = &at, condition.Reason
	if person, ok := strings.CutPrefix(condition.Message, decidedByPrefix); ok && condition.Reason == reasonDecided {
		r.DecidedBy = person
	}
	if rule, ok := consent.ApprovedBy(condition); ok {
		r.DecidedBy = "rule " + rule
	}
}

// proper tells a request for a first certificate that may be approved.
func (r *Request) proper() bool { return !r.Renewal && r.Problem == "" }

// newestFirst puts requests in order and marks those that were followed by
// another one. Times are to the second: of two at once what was decided counts
// as newer.
func newestFirst(requests []Request) []Request {
	slices.SortFunc(requests, func(a, b Request) int {
		undecided := func(r *Request) int {
			if r.State == CertificatePending {
				return 1
			}
			return 0
		}
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(undecided(&a), undecided(&b)), cmp.Compare(a.Name, b.Name))
	})
	followed := false
	for i := range requests {
		requests[i].Superseded = followed && requests[i].proper()
		followed = followed || requests[i].proper()
	}
	return requests
}

// composed is a row and until when it is shown, for ever if zero.
type composed struct {
	row   Row
	until time.Time
}

// compose makes the row of a cluster of which there is a ManagedCluster or a
// request, or both.
func compose(name string, cluster *ocmv1.ManagedCluster, requests []Request) composed {
	row := Row{Cluster: name, Certificate: CertificateNone, URLs: []string{}, Requests: append([]Request{}, newestFirst(requests)...)}
	var decided time.Time
	later := func(at time.Time) {
		if at.After(decided) {
			decided = at
		}
	}
	pending, left := false, false
	for i := range row.Requests {
		r := &row.Requests[i]
		if row.CreatedAt.IsZero() || r.CreatedAt.Before(row.CreatedAt) {
			row.CreatedAt = r.CreatedAt
		}
		if r.State == CertificatePending {
			left, pending = left || !r.Superseded, pending || !r.Superseded && r.Problem == ""
		}
		if r.DecidedAt != nil && !r.Renewal {
			later(*r.DecidedAt)
		}
		if r.proper() && row.Certificate == CertificateNone {
			row.Certificate = r.State
		}
	}
	if cluster != nil {
		later(row.describe(cluster))
	}
	if row.Certificate == CertificateNone && row.Joined {
		row.Certificate = CertificateIssued // the request is cleaned up after an hour
	}
	if !decided.IsZero() {
		row.DecidedAt = &decided
	}
	row.Waits = !row.Denied && (pending || row.Exists && !row.Accepted)
	row.Next = row.next(pending)
	if row.Waits || left {
		return composed{row: row}
	}
	return composed{row: row, until: decided.Add(decidedFor)}
}

// describe takes over what a ManagedCluster says, and returns when it was
// accepted or refused.
func (row *Row) describe(cluster *ocmv1.ManagedCluster) (decided time.Time) {
	row.Exists, row.Accepted, row.CreatedAt = true, cluster.Spec.HubAcceptsClient, cluster.CreationTimestamp.UTC()
	row.Version, row.CreatedBy = cluster.Status.Version.Kubernetes, cluster.Annotations[consent.AnnotationCreator]
	for _, config := range cluster.Spec.ManagedClusterClientConfigs {
		row.URLs = append(row.URLs, config.URL)
	}
	conditions := cluster.Status.Conditions
	row.Joined = meta.IsStatusConditionTrue(conditions, ocmv1.ConditionJoined)
	if available := meta.FindStatusCondition(conditions, ocmv1.ConditionAvailable); available != nil {
		row.Available = string(available.Status)
	}
	hub := meta.FindStatusCondition(conditions, ocmv1.ConditionHubAccepted)
	if rule := cluster.Annotations[consent.AnnotationRule]; row.Accepted && rule != "" {
		row.AcceptedBy = "rule " + rule
	} else if row.Accepted {
		row.AcceptedBy = cluster.Annotations[consent.AnnotationAcceptedBy]
	}
	switch {
	case row.Accepted && hub != nil && hub.Reason == ocmv1.ReasonAccepted:
		at := hub.LastTransitionTime.UTC()
		row.AcceptedAt = &at
		return at
	case row.Accepted:
		return row.CreatedAt // accepted this moment, or from the beginning
	case cluster.Annotations[consent.AnnotationDeniedAt] != "":
		row.Denied, row.DeniedBy, row.DeniedReason = true, cluster.Annotations[consent.AnnotationDeniedBy], cluster.Annotations[consent.AnnotationDeniedReason]
		if at, err := time.Parse(time.RFC3339, cluster.Annotations[consent.AnnotationDeniedAt]); err == nil {
			return at.UTC()
		}
		return row.CreatedAt
	case hub != nil && string(hub.Status) != string(corev1.ConditionTrue) && hub.Reason == ocmv1.ReasonDenied,
		meta.IsStatusConditionTrue(conditions, ocmv1.ConditionHubAccepted): // withdrawn this moment
		row.Denied = true
		return hub.LastTransitionTime.UTC()
	}
	return time.Time{}
}

// next says what a row waits for.
func (row *Row) next(pending bool) string {
	accept := row.Exists && !row.Accepted
	switch {
	case row.Denied:
		return NextNone
	case pending && accept:
		return NextBoth
	case pending:
		return NextCertificate
	case accept:
		return NextAcceptance
	case row.Certificate == CertificateNone, !row.Exists && row.Certificate != CertificateDenied && row.Certificate != CertificateFailed:
		return NextAgent
	case row.Certificate == CertificateDenied, row.Certificate == CertificateFailed:
		return NextNone
	case !row.Joined:
		return NextJoin
	case row.Available != "True":
		return NextAvailable
	}
	return NextNone
}
