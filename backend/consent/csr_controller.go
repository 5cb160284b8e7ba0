package consent

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/kube"
)

// ApprovalReconciler approves certificate requests of agents: renewals, and those
// that a rule lets in (contract section 2.4). All others wait for a person; it
// denies nothing.
type ApprovalReconciler struct {
	hub     client.Client
	live    client.Reader
	rules   Rules
	audit   Auditor
	waiting *poker
	now     func() time.Time
}

// SetupWithManager starts the reconciler with the manager.
func (r *ApprovalReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("certificate-approval").
		For(&certificatesv1.CertificateSigningRequest{}).
		Watches(&ocmv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.pendingOf), builder.WithPredicates(consentChanged)).
		WatchesRawSource(r.waiting.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// pendingOf has the requests of a cluster judged again that wait, since consent to
// the cluster may let its agent renew.
func (r *ApprovalReconciler) pendingOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	var requests certificatesv1.CertificateSigningRequestList
	if err := r.hub.List(ctx, &requests, client.MatchingFields{clusterIndex: cluster.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var waiting []reconcile.Request
	for i := range requests.Items {
		if stateOf(&requests.Items[i]) == statePending {
			waiting = append(waiting, requestFor(requests.Items[i].Name)...)
		}
	}
	return waiting
}

// Reconcile implements reconcile.Reconciler.
func (r *ApprovalReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	csr := new(certificatesv1.CertificateSigningRequest)
	if err := r.hub.Get(ctx, request.NamespacedName, csr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	asked, err := Read(csr)
	if err != nil || stateOf(csr) != statePending {
		return ctrl.Result{}, nil // somebody else's business, or settled
	}
	rule, refusal, err := r.judge(ctx, asked)
	switch {
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("judge certificate request %s: %w", csr.Name, err)
	case refusal != "":
		return ctrl.Result{}, r.explain(ctx, csr, asked, refusal)
	case rule == "" && !asked.Renewal:
		return ctrl.Result{}, r.explain(ctx, csr, asked, "")
	}
	return ctrl.Result{}, r.approve(ctx, csr, asked, rule)
}

// judge finds what lets a request in. Without rule and refusal, it waits for a
// person as all do that nothing is wrong with.
func (r *ApprovalReconciler) judge(ctx context.Context, asked Request) (rule, refusal string, err error) {
	if asked.Problem != "" {
		return "", asked.Problem, nil
	}
	if asked.Renewal {
		allowed, err := r.mayRenew(ctx, asked)
		if err == nil && !allowed {
			refusal = "the hub does not accept cluster " + asked.Cluster
		}
		return "", refusal, err
	}
	if r.rules == nil {
		return "", "", nil
	}
	cluster := new(ocmv1.ManagedCluster)
	if err := r.hub.Get(ctx, client.ObjectKey{Name: asked.Cluster}, cluster); client.IgnoreNotFound(err) != nil {
		return "", "", err
	}
	labels, err := r.labelsOf(ctx, asked.Requester.Username)
	if err != nil {
		return "", "", err
	}
	if cluster.Annotations[AnnotationDeniedAt] != "" {
		return "", "a person refused the cluster", nil
	}
	rule, ok := r.rules.Match(asked, labels)
	if !ok {
		return "", "", nil
	}
	if takesOver(cluster, asked.Requester.Username) {
		return "", "the cluster has joined already and was introduced by somebody else; a person decides who gets its identity", nil
	}
	return rule, "", nil
}

// takesOver tells that a request is for the identity of a cluster that works, by
// somebody who did not introduce it.
func takesOver(cluster *ocmv1.ManagedCluster, requester string) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, ocmv1.ConditionJoined) && cluster.Annotations[AnnotationCreator] != requester
}

// mayRenew asks the hub's own roles: the right comes with acceptance.
func (r *ApprovalReconciler) mayRenew(ctx context.Context, asked Request) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range asked.Requester.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: asked.Requester.Username, UID: asked.Requester.UID, Groups: asked.Requester.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "renew", Group: registerGroup, Resource: "managedclusters", Subresource: "clientcertificates"},
	}}
	if err := r.hub.Create(ctx, review); err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	return review.Status.Allowed, nil
}

const (
	accountPrefix = "system:serviceaccount:"
	tokenPrefix   = "bootstrap-token-"
)

// labelsOf are the labels of what somebody signed in with: a bootstrap token, a
// service account.
func (r *ApprovalReconciler) labelsOf(ctx context.Context, username string) (map[string]string, error) {
	source := &metav1.PartialObjectMetadata{}
	var key client.ObjectKey
	if id, ok := strings.CutPrefix(username, bootstrapUserPrefix); ok {
		source.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		key = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: tokenPrefix + id}
	} else if account, ok := strings.CutPrefix(username, accountPrefix); ok {
		source.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		key.Namespace, key.Name, _ = strings.Cut(account, ":")
	} else {
		return nil, nil
	}
	if err := r.live.Get(ctx, key, source); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return source.Labels, nil
}

func (r *ApprovalReconciler) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, asked Request, rule string) error {
	verb, message := "approve", ruleApproves+rule+ruleApprovesEnd
	detail := map[string]string{"cluster": asked.Cluster, "agent": asked.Agent, "requester": asked.Requester.Username, "fingerprint": asked.Fingerprint}
	if asked.Renewal {
		verb, message = "renew", "The agent renews its own certificate."
	} else {
		detail["rule"] = rule
	}
	approved := csr.DeepCopy()
	approved.Status.Conditions = append(approved.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: reasonApproved, Message: message, LastUpdateTime: metav1.NewTime(r.now()),
	})
	action := audit.Action{Verb: verb, Kind: "CertificateSigningRequest", Name: csr.Name, Detail: detail}
	err := byHub(ctx, r.audit, action, func(ctx context.Context) error { return r.hub.SubResource("approval").Update(ctx, approved) })
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the change that got in between comes back as an event
	}
	if err != nil {
		return fmt.Errorf("approve certificate request %s: %w", csr.Name, err)
	}
	log.FromContext(ctx).Info("certificate request approved", "cluster", asked.Cluster, "agent", asked.Agent, "name", csr.Name)
	return nil
}

// explain says on a request why it waits, if there is more to say than that it
// does.
func (r *ApprovalReconciler) explain(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, asked Request, why string) error {
	if csr.Annotations[AnnotationWaiting] == why {
		return nil
	}
	changed := csr.DeepCopy()
	changed.Annotations = with(changed.Annotations, AnnotationWaiting, why)
	if err := kube.Patch(ctx, r.hub, csr, changed); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return fmt.Errorf("explain certificate request %s: %w", csr.Name, err)
	}
	if why != "" {
		log.FromContext(ctx).Info("certificate request left pending", "cluster", asked.Cluster, "agent", asked.Agent, "name", csr.Name)
	}
	return nil
}
