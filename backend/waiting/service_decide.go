package waiting

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// What the audit calls the two objects of a consent.
const (
	kindCluster = "ManagedCluster"
	kindRequest = "CertificateSigningRequest"
)

// maxReason bounds why somebody refuses, in bytes.
const maxReason = 256

// Codes of what keeps a consent from being given.
const (
	// CodeNoRequest is of a cluster that asks for no certificate.
	CodeNoRequest = "no-request"
	// CodeSeveralRequesters is of requests for one cluster that come from different
	// identities: only a person can tell which is right.
	CodeSeveralRequesters = "several-requesters"
	// CodeImproper is of a request that is not what an agent asks for.
	CodeImproper = "improper-request"
	// CodeNotIntroduced is of a cluster whose agent has made no ManagedCluster.
	CodeNotIntroduced = "not-introduced"
)

// as is the hub API as the actor of ctx, who must be an operator.
func (s *Service) as(ctx context.Context) (access.Actor, client.Client, error) {
	if err := access.Require(ctx, access.RoleOperator); err != nil {
		return access.Actor{}, nil, err
	}
	actor, _ := access.ActorFrom(ctx)
	hub, err := s.Clients(actor)
	if err != nil {
		return actor, nil, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	return actor, hub, nil
}

// Approve gives the certificates of a cluster's requests; none named means the
// one that Choose finds. Operators may. It is independent of Accept.
func (s *Service) Approve(ctx context.Context, cluster string, requests []string) error {
	if len(requests) == 0 {
		row, err := s.find(cluster)
		if err != nil {
			return s.refused(ctx, "approve", cluster, err)
		}
		chosen, err := row.Choose()
		if err != nil {
			return s.refused(ctx, "approve", cluster, err)
		}
		requests = []string{chosen}
	}
	for _, name := range requests {
		if err := s.decide(ctx, cluster, name, certificatesv1.CertificateApproved); err != nil {
			return err
		}
	}
	return nil
}

// refused records an attempt that found nothing to decide on.
func (s *Service) refused(ctx context.Context, verb, cluster string, why error) error {
	action := audit.Action{Verb: verb, Kind: kindCluster, Name: cluster, Needs: access.RoleOperator}
	return s.Audit.Do(ctx, action, func(context.Context) error { return why })
}

// Choose finds the request that a consent to the cluster means: the newest that
// waits. Older ones were left behind by an agent that began anew. If they are
// of different requesters nobody is chosen.
func (row *Row) Choose() (string, error) {
	chosen := -1
	for i := range row.Requests {
		r := &row.Requests[i]
		if !r.proper() || r.State != CertificatePending {
			continue
		}
		switch {
		case chosen < 0 && !r.Superseded:
			chosen = i
		case chosen >= 0 && r.Requester != row.Requests[chosen].Requester:
			return "", fault.Conflict("the requests for %s come from %s and from %s", row.Cluster, row.Requests[chosen].Requester, r.Requester).
				WithCode(CodeSeveralRequesters).WithFix("compare the fingerprints with what the agent prints, and approve that request alone")
		}
	}
	if chosen < 0 {
		return "", fault.Conflict("no request of %s waits for a certificate", row.Cluster).WithCode(CodeNoRequest).
			WithFix("see that its agent runs and reaches the hub")
	}
	return row.Requests[chosen].Name, nil
}

// decide approves or denies one request.
func (s *Service) decide(ctx context.Context, cluster, name string, kind certificatesv1.RequestConditionType) error {
	verb, wanted := "approve", CertificateApproved
	if kind == certificatesv1.CertificateDenied {
		verb, wanted = "deny", CertificateDenied
	}
	action := audit.Action{Verb: verb, Kind: kindRequest, Name: name, Needs: access.RoleOperator, Detail: map[string]string{"cluster": cluster}}
	return s.Audit.Do(ctx, action, func(ctx context.Context) error {
		actor, hub, err := s.as(ctx)
		if err != nil {
			return err
		}
		// The hub itself writes to a request when its cluster is decided on.
		return kube.Fault(retry.RetryOnConflict(retry.DefaultRetry, func() error {
			csr := &certificatesv1.CertificateSigningRequest{}
			if err := hub.Get(ctx, client.ObjectKey{Name: name}, csr); err != nil {
				return err
			}
			row, ok := requestRow(csr)
			if !ok || row.Cluster != cluster {
				return fault.NotFound("cluster %s has no request %s", cluster, name)
			}
			for key, value := range map[string]string{"agent": row.Agent, "requester": row.Requester, "fingerprint": row.Fingerprint, "address": row.Address} {
				audit.SetDetail(ctx, key, value)
			}
			if done, err := row.decided(wanted); done || err != nil {
				return err
			}
			csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: kind, Status: corev1.ConditionTrue, Reason: reasonDecided, Message: decidedByPrefix + actor.Name, LastUpdateTime: metav1.NewTime(s.Now()),
			})
			return hub.SubResource("approval").Update(ctx, csr)
		}))
	})
}

// decided tells that a request is what somebody wants it to be, or why it cannot become that.
func (r *Request) decided(wanted string) (done bool, err error) {
	switch {
	case r.State == wanted, r.State == CertificateIssued && wanted == CertificateApproved:
		return true, nil
	case r.State != CertificatePending:
		return false, fault.Conflict("request %s is %s already", r.Name, r.State).WithFix("the agent asks again once this request is deleted: kubectl delete csr " + r.Name)
	case r.Problem != "" && wanted == CertificateApproved:
		return false, fault.Conflict("request %s is not that of an agent: %s", r.Name, r.Problem).WithCode(CodeImproper).
			WithFix("deny it; who means it all the same runs: kubectl certificate approve " + r.Name)
	}
	return false, nil
}

// Accept accepts a cluster. Operators may. It is independent of Approve.
func (s *Service) Accept(ctx context.Context, cluster string) error {
	return s.Audit.Do(ctx, s.action("accept", cluster, nil), func(ctx context.Context) error {
		actor, _ := access.ActorFrom(ctx)
		return s.patch(ctx, cluster, true, map[string]any{
			consent.AnnotationAcceptedBy: actor.Name, consent.AnnotationRule: nil,
			consent.AnnotationDeniedAt: nil, consent.AnnotationDeniedBy: nil, consent.AnnotationDeniedReason: nil,
		})
	})
}

// action describes a consent to a cluster: who introduced it, and with which key.
func (s *Service) action(verb, cluster string, detail map[string]string) audit.Action {
	action := audit.Action{Verb: verb, Kind: kindCluster, Name: cluster, Needs: access.RoleOperator, Detail: map[string]string{}}
	if row, err := s.find(cluster); err == nil {
		action.Detail["requester"] = row.CreatedBy
		for i := range row.Requests {
			if r := &row.Requests[i]; r.proper() && !r.Superseded {
				action.Detail["fingerprint"], action.Detail["request"] = r.Fingerprint, r.Name
			}
		}
	}
	for key, value := range detail {
		action.Detail[key] = value
	}
	return action
}

// patch writes the hub's consent as the actor, by the merge patch that kubectl
// and clusteradm send.
func (s *Service) patch(ctx context.Context, cluster string, accepts bool, annotations map[string]any) error {
	_, hub, err := s.as(ctx)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": annotations}, "spec": map[string]any{"hubAcceptsClient": accepts},
	})
	if err != nil {
		return fmt.Errorf("encode consent to %s: %w", cluster, err)
	}
	object := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	err = kube.Fault(hub.Patch(ctx, object, client.RawPatch(types.MergePatchType, data)))
	if fault.Is(err, fault.KindNotFound) {
		return fault.NotFound("cluster %s has not introduced itself yet", cluster).WithCode(CodeNotIntroduced).
			WithFix("its agent makes the ManagedCluster once it reaches the hub; see the agent's log")
	}
	return err
}

// Deny refuses a cluster: the hub's acceptance is withdrawn, and its requests
// that wait are denied. A certificate that was issued stays, without rights.
// Operators may.
func (s *Service) Deny(ctx context.Context, cluster, reason string) error {
	if reason = strings.TrimSpace(reason); len(reason) > maxReason || strings.ContainsFunc(reason, isControl) {
		return fault.Invalid("the reason is one line of at most %d bytes", maxReason).WithField("reason", "too long, or not one line")
	}
	row, err := s.find(cluster)
	if err != nil {
		return s.refused(ctx, "deny", cluster, err)
	}
	if row.Exists {
		err := s.Audit.Do(ctx, s.action("deny", cluster, map[string]string{"reason": reason}), func(ctx context.Context) error {
			actor, _ := access.ActorFrom(ctx)
			why := any(reason)
			if reason == "" {
				why = nil
			}
			return s.patch(ctx, cluster, false, map[string]any{
				consent.AnnotationAcceptedBy: nil, consent.AnnotationRule: nil,
				consent.AnnotationDeniedAt: s.Now().UTC().Format(time.RFC3339), consent.AnnotationDeniedBy: actor.Name, consent.AnnotationDeniedReason: why,
			})
		})
		if err != nil {
			return err
		}
	}
	for i := range row.Requests {
		if row.Requests[i].State != CertificatePending {
			continue
		}
		if err := s.decide(ctx, cluster, row.Requests[i].Name, certificatesv1.CertificateDenied); err != nil && !fault.Is(err, fault.KindNotFound) {
			return err
		}
	}
	return nil
}
