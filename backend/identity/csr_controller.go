package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// pendingRecheck is how often a request that was not approved is judged again:
// the name may have become free, the token may have been changed.
const pendingRecheck = 15 * time.Second

// CSRReconciler approves certificate requests of agents and of the registration
// helper by the rule of decideCSR, as soon as they exist. Before it approves a
// helper, it makes what the helper is going to ask for. A request it does not
// approve stays pending, with the reason in AnnotationWaiting; it denies nothing,
// so that an administrator can still approve by hand.
type CSRReconciler struct {
	hub    client.Client
	live   client.Reader
	facts  *HubFacts
	tokens tokenGate
	stages registration.StageRecorder
	now    func() time.Time
}

// NewCSRReconciler returns the reconciler. live reads from the API itself.
func NewCSRReconciler(hub client.Client, live client.Reader, facts *HubFacts, stages registration.StageRecorder) *CSRReconciler {
	return &CSRReconciler{hub: hub, live: live, facts: facts, tokens: newTokenGate(hub), stages: stages, now: time.Now}
}

// SetupWithManager starts the reconciler with the manager.
func (r *CSRReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("csr").
		For(&certificatesv1.CertificateSigningRequest{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(r)
}

// csrScope is one request on its way. csr and asked are set by Reconcile,
// tokenID and token by verdict.
type csrScope struct {
	csr     *certificatesv1.CertificateSigningRequest
	asked   agentRequest
	tokenID string
	token   *token.Token
}

func (s *csrScope) match() registration.Match {
	return registration.Match{TokenID: s.tokenID, Cluster: s.asked.cluster}
}

// Reconcile implements reconcile.Reconciler.
func (r *CSRReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &csrScope{csr: new(certificatesv1.CertificateSigningRequest)}
	if err := r.hub.Get(ctx, request.NamespacedName, s.csr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var err error
	if s.asked, err = parseAgentRequest(s.csr.Name, s.csr.Spec.SignerName, s.csr.Spec.Usages, s.csr.Spec.Request); err != nil {
		return ctrl.Result{}, nil // not ours: somebody else's business
	}
	if slices.Contains(s.csr.Spec.Groups, apis.BootstrapTokenGroup) {
		s.tokenID, _ = tokenOf(s.csr.Spec.Username)
	}
	if settled, err := r.settled(ctx, s); settled || err != nil {
		return ctrl.Result{}, err
	}
	refusal, err := r.judge(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("judge certificate request %s: %w", s.csr.Name, err)
	}
	if refusal != nil {
		return ctrl.Result{RequeueAfter: pendingRecheck}, r.leavePending(ctx, s, refusal)
	}
	if err := r.prepare(ctx, s); err != nil {
		return ctrl.Result{}, fmt.Errorf("prepare cluster %s: %w", s.asked.cluster, err)
	}
	return ctrl.Result{}, r.approve(ctx, s)
}

// settled reports what became of a request that needs nothing from us any more.
func (r *CSRReconciler) settled(ctx context.Context, s *csrScope) (bool, error) {
	if len(s.csr.Status.Certificate) > 0 {
		if s.asked.helper {
			r.facts.noteHelper(s.csr)
		} else {
			r.stages.Advance(ctx, s.match(), registration.StageIdentity, registration.StageEvent{})
		}
		return true, nil
	}
	for _, condition := range s.csr.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateApproved:
			r.stages.Advance(ctx, s.match(), registration.StageApproved, registration.StageEvent{})
			if s.asked.helper {
				return true, nil
			}
			return true, r.facts.revocations.readmit(ctx, s.asked.cluster) // an administrator may have approved
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			advice := registration.Advise(registration.CodeCSRRefused)
			r.stages.Fail(ctx, s.match(), registration.StageApproved, registration.Failure{Code: registration.CodeCSRRefused, Cause: advice.Cause, Fix: advice.Fix})
			return true, nil
		}
	}
	return false, nil
}

// judge decides about a new request. It reads the token from the API: what it
// may register can have changed a moment ago.
func (r *CSRReconciler) judge(ctx context.Context, s *csrScope) (*fault.Error, error) {
	f := csrFacts{agentRequest: s.asked, requester: s.csr.Spec.Username, groups: s.csr.Spec.Groups, now: r.now()}
	if s.tokenID != "" {
		_, read, err := r.tokens.read(ctx, s.tokenID)
		if refusal, ok := fault.As(err); ok {
			return refusal, nil
		}
		if err != nil {
			return nil, err
		}
		s.token, f.token = &read, &read
	}
	registered, err := r.facts.Registered(ctx, s.asked.cluster)
	if err != nil {
		return nil, err
	}
	f.registered = registered
	decision := decideCSR(f)
	if decision.refusal != nil {
		return decision.refusal, nil
	}
	if life := s.csr.Spec.ExpirationSeconds; s.asked.helper && (life == nil || time.Duration(*life)*time.Second > helperLifetime) {
		return fault.Forbidden("a helper's certificate lives at most %s", helperLifetime).WithCode(registration.CodeCSRRefused), nil
	}
	allowed, err := r.allowed(ctx, s, decision.subresources)
	if err != nil || allowed {
		return nil, err
	}
	return fault.Forbidden("%s may not have agents' certificates approved automatically", s.csr.Spec.Username).WithCode(registration.CodeCSRRefused).
		WithFix("let an administrator approve the request: kubectl certificate approve " + s.csr.Name), nil
}

// allowed asks the hub's own roles (contract section 6.5).
func (r *CSRReconciler) allowed(ctx context.Context, s *csrScope, subresources []string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range s.csr.Spec.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	for _, subresource := range subresources {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: s.csr.Spec.Username, UID: s.csr.Spec.UID, Groups: s.csr.Spec.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "create", Group: certificatesv1.GroupName, Version: "*",
				Resource: "certificatesigningrequests", Subresource: subresource,
			},
		}}
		if err := r.hub.Create(ctx, review); err != nil {
			return false, fmt.Errorf("review access: %w", err)
		}
		if review.Status.Allowed {
			return true, nil
		}
	}
	return false, nil
}

// prepare binds the token, and for a helper makes what its client is going to
// create: it is answered that all of it exists.
func (r *CSRReconciler) prepare(ctx context.Context, s *csrScope) error {
	registered, err := r.facts.Registered(ctx, s.asked.cluster)
	if err != nil || registered && s.asked.helper {
		return err // the client is going to see that the name is taken
	}
	if s.token != nil {
		if _, err := r.tokens.bind(ctx, s.tokenID, s.asked.cluster); err != nil {
			return err
		}
	}
	if !s.asked.helper {
		return r.facts.revocations.readmit(ctx, s.asked.cluster)
	}
	shared := &corev1.Namespace{ObjectMeta: SystemMeta("", apis.ClusterNamespace)}
	if err := r.hub.Create(ctx, shared); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := EnsureSpace(ctx, r.hub, s.asked.cluster, true); err != nil {
		return err
	}
	return EnsureAccess(ctx, r.hub, r.live, s.asked.cluster, nil)
}

func (r *CSRReconciler) approve(ctx context.Context, s *csrScope) error {
	csr := s.csr.DeepCopy()
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved",
		Message:        "The request fits the hub's rule for agents.",
		LastUpdateTime: metav1.NewTime(r.now()),
	})
	err := r.hub.SubResource("approval").Update(ctx, csr)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the change that got in between comes back as an event
	}
	if err != nil {
		return fmt.Errorf("approve certificate request %s: %w", s.csr.Name, err)
	}
	log.FromContext(ctx).Info("certificate request approved", "cluster", s.asked.cluster, "request", s.csr.Name, "helper", s.asked.helper)
	r.stages.Advance(ctx, s.match(), registration.StageApproved, registration.StageEvent{})
	return nil
}

// leavePending says why a request waits.
func (r *CSRReconciler) leavePending(ctx context.Context, s *csrScope, why *fault.Error) error {
	text := why.Code + ": " + sentence(why)
	if s.csr.Annotations[AnnotationWaiting] == text {
		return nil
	}
	changed := s.csr.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[AnnotationWaiting] = text
	if err := kube.Patch(ctx, r.hub, s.csr, changed); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("explain certificate request %s: %w", s.csr.Name, err)
	}
	log.FromContext(ctx).Info("certificate request left pending", "cluster", s.asked.cluster, "request", s.csr.Name, "code", why.Code)
	r.stages.Fail(ctx, s.match(), registration.StageApproved, registration.Failure{Code: why.Code, Cause: why.Message, Fix: why.Fix})
	return nil
}
