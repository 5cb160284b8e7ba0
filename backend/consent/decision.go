package consent

import (
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"muster.dev/muster/backend/audit"
)

// Annotations on a ManagedCluster that tell of a person's decision. A refusal of a
// cluster that was never accepted shows nowhere else.
const (
	// AnnotationAcceptedBy is who accepted the cluster in the dashboard.
	AnnotationAcceptedBy = "muster.dev/accepted-by"
	// AnnotationDeniedAt is when somebody refused it, in RFC 3339.
	AnnotationDeniedAt = "muster.dev/denied-at"
	// AnnotationDeniedBy is who.
	AnnotationDeniedBy = "muster.dev/denied-by"
	// AnnotationDeniedReason is why, in the words of who refused.
	AnnotationDeniedReason = "muster.dev/denied-reason"
)

// What a rule writes into the condition of a request that it approves.
const (
	ruleApproves    = "The rule "
	ruleApprovesEnd = " lets this agent in."
)

// bootstrapUserPrefix starts the name of whoever signs in with a bootstrap token;
// the token's id follows.
const bootstrapUserPrefix = "system:bootstrap:"

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// ApprovedBy tells which rule approved a request.
func ApprovedBy(condition *certificatesv1.CertificateSigningRequestCondition) (rule string, ok bool) {
	rule, ok = strings.CutPrefix(condition.Message, ruleApproves)
	return strings.TrimSuffix(rule, ruleApprovesEnd), ok && condition.Reason == reasonApproved
}

// CheckName says why a ManagedCluster cannot have a name; it is empty if it can.
func CheckName(name string) string { return checkName(name) }
