package joining

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// Versions of Kubernetes in members: older ones are refused, newer ones than we
// have seen are let through with a word.
var (
	oldestMember = version.MustParseGeneric("1.24.0")
	newestMember = version.MustParseGeneric("1.37.0")
)

// Clock differences that are worth a word, and that break tokens and certificates.
const (
	clockWarning = 30 * time.Second
	clockLimit   = 5 * time.Minute
)

// checkIdentity asks the member whom it takes us for.
func (p *preflight) checkIdentity(ctx context.Context) outcome {
	review, err := p.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		// Before 1.28 there was no such question. Any other shows whether we are known.
		if _, err := p.may(ctx, &authorizationv1.ResourceAttributes{Verb: "get", Resource: "namespaces"}); err != nil {
			return failed(reach.Fault("ask the member who we are", err))
		}
		return doubtful("the credential is accepted; the member is too old to say for whom")
	}
	if err != nil {
		return failed(reach.Fault("ask the member who we are", err))
	}
	user := review.Status.UserInfo
	if user.Username == "system:anonymous" {
		return failed(fault.Invalid("the member takes the credential for nobody's").WithCode(registration.CodeUnauthenticated).WithFix(registration.Advise(registration.CodeUnauthenticated).Fix))
	}
	detail := registration.PlainText(user.Username)
	if len(user.Groups) > 0 {
		detail += " in " + registration.PlainText(Listed(user.Groups))
	}
	return fine("%s", detail)
}

func (p *preflight) may(ctx context.Context, what *authorizationv1.ResourceAttributes) (bool, error) {
	review, err := p.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: what},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// neededRights are what a join does in the member. Whoever grants a role must
// hold all that is in it, or may escalate and bind.
func neededRights() []authorizationv1.ResourceAttributes {
	rbac, namespace := "rbac.authorization.k8s.io", apis.ClusterNamespace
	return []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "namespaces"},
		{Verb: "create", Resource: "namespaces"},
		{Verb: "create", Resource: "serviceaccounts", Namespace: namespace},
		{Verb: "create", Resource: "secrets", Namespace: namespace},
		{Verb: "watch", Resource: "secrets", Namespace: namespace},
		{Verb: "create", Group: rbac, Resource: "clusterroles"},
		{Verb: "escalate", Group: rbac, Resource: "clusterroles"},
		{Verb: "create", Group: rbac, Resource: "clusterrolebindings"},
		{Verb: "bind", Group: rbac, Resource: "clusterroles"},
	}
}

// checkPermissions asks for everything first, which one question settles for an
// administrator, and else for each right by itself, to name those that are missing.
func (p *preflight) checkPermissions(ctx context.Context) outcome {
	all, err := p.may(ctx, &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	if err != nil {
		return failed(reach.Fault("ask the member what we may", err))
	}
	if all {
		return fine("may do everything")
	}
	rights := neededRights()
	allowed := make([]bool, len(rights))
	group, ctx := errgroup.WithContext(ctx)
	for i := range rights {
		group.Go(func() (err error) {
			allowed[i], err = p.may(ctx, &rights[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return failed(reach.Fault("ask the member what we may", err))
	}
	var missing []string
	for i, right := range rights {
		if !allowed[i] {
			missing = append(missing, right.Verb+" "+right.Resource)
		}
	}
	if len(missing) > 0 {
		return failed(fault.Invalid("the credential may not: %s", strings.Join(missing, ", ")).WithCode(registration.CodePermissions).WithFix(registration.Advise(registration.CodePermissions).Fix))
	}
	return fine("may do all that joining needs")
}

func (p *preflight) checkVersion(context.Context) outcome {
	info, err := p.client.Discovery().ServerVersion()
	if err != nil {
		return failed(reach.Fault("read the member's version", err))
	}
	shown := registration.PlainText(info.GitVersion)
	parsed, err := version.ParseGeneric(info.GitVersion)
	switch {
	case err != nil:
		return doubtful("%s is no version we can compare", shown)
	case parsed.LessThan(oldestMember):
		return failed(fault.Invalid("Kubernetes %s is older than v%s", shown, oldestMember).WithCode(registration.CodeVersion).WithFix(registration.Advise(registration.CodeVersion).Fix))
	case !parsed.LessThan(newestMember):
		return doubtful("Kubernetes %s is newer than what this hub was tried with", shown)
	}
	return fine("Kubernetes %s", shown)
}

// checkClock compares the member's Date header with our clock. The header counts
// whole seconds.
func (p *preflight) checkClock(context.Context) outcome {
	if p.date.IsZero() {
		return doubtful("the member did not say what time it has")
	}
	apart := p.received.Sub(p.date).Abs().Truncate(time.Second)
	switch {
	case apart > clockLimit:
		return failed(fault.Invalid("the member's clock and the hub's are %s apart", apart).WithCode(registration.CodeClock).WithFix(registration.Advise(registration.CodeClock).Fix))
	case apart > clockWarning:
		return doubtful("the member's clock and the hub's are %s apart", apart)
	}
	return fine("less than %s apart", max(apart, time.Second)+time.Second)
}

// checkManaged looks for this cluster on our hub, and for the traces of another
// hub in the member.
func (p *preflight) checkManaged(ctx context.Context) outcome {
	id, err := reach.ID(ctx, p.client)
	if err != nil {
		return failed(err)
	}
	p.id = id
	if err := checkUnique(ctx, p.Hub, p.Name, id); err != nil {
		return failed(err)
	}
	traces, err := p.traces(ctx)
	if err != nil {
		return failed(err)
	}
	if len(traces) > 0 {
		return doubtful("cluster %s is new here, but another hub seems to manage it: the member has %s", id, Listed(traces))
	}
	return fine("cluster %s is new here", id)
}

// traces names what registrations leave in a member.
func (p *preflight) traces(ctx context.Context) ([]string, error) {
	var traces []string
	accounts, err := p.client.CoreV1().ServiceAccounts(apis.ClusterNamespace).List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, reach.Fault("list service accounts", err)
	}
	if err == nil {
		for i := range accounts.Items {
			if name := accounts.Items[i].Name; strings.HasPrefix(name, accountPrefix) && name != ImpersonatorAccount {
				traces = append(traces, "account "+apis.ClusterNamespace+"/"+name)
			}
		}
	}
	for namespace, deployment := range map[string]string{apis.SystemNamespace: "karmada-agent", agentapi.AgentNamespace: agentapi.AgentName} {
		_, err := p.client.AppsV1().Deployments(namespace).Get(ctx, deployment, metav1.GetOptions{})
		switch {
		case err == nil:
			traces = append(traces, fmt.Sprintf("deployment %s/%s", namespace, deployment))
		case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
			return nil, reach.Fault("read deployment "+deployment, err)
		}
	}
	return traces, nil
}
