package consent

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Authorizer confines what the roles of the field give to every agent, on the
// embedded plane. It is asked before RBAC and only ever refuses:
//
//   - an agent reads the certificate requests of its own cluster,
//   - whoever introduces a cluster reads the ConfigMaps that are for everybody,
//   - an identity of two clusters at once may do nothing.
//
// Questions about rights (access reviews) are RBAC's: clients ask whether they may
// list certificate requests, not whether they may list their own.
type Authorizer struct {
	hub atomic.Pointer[client.Reader]
}

// NewAuthorizer returns an Authorizer. Until UseClient was called it refuses what
// takes a look at the hub.
func NewAuthorizer() *Authorizer { return &Authorizer{} }

// UseClient gives the Authorizer a reader of the API itself.
func (z *Authorizer) UseClient(hub client.Reader) { z.hub.Store(&hub) }

// Authorize implements authorizer.Authorizer.
func (z *Authorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if who == nil || !a.IsResourceRequest() || isReview(ctx, a) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	cluster, isAgent, mixed := clusterOf(who)
	switch {
	case mixed:
		return authorizer.DecisionDeny, "this is not the identity of one cluster's agent", nil
	case isAgent && a.GetAPIGroup() == requestResource.Group && a.GetResource() == requestResource.Resource:
		return z.judgeRequests(ctx, cluster, a)
	case isBootstrap(who.GetName(), who.GetGroups()) && a.GetAPIGroup() == "" && a.GetResource() == "configmaps" && a.GetNamespace() != metav1.NamespacePublic:
		return authorizer.DecisionDeny, "who introduces a cluster reads ConfigMaps in " + metav1.NamespacePublic + " only", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// isReview tells that somebody asks about a right, instead of using it.
func isReview(ctx context.Context, a authorizer.Attributes) bool {
	info, ok := request.RequestInfoFrom(ctx)
	return ok && info.IsResourceRequest && (info.Resource != a.GetResource() || info.APIGroup != a.GetAPIGroup())
}

// clusterOf tells which cluster's agent somebody is. It is mixed if name and
// groups are of several clusters, by which no agent is known.
func clusterOf(who user.Info) (cluster string, isAgent, mixed bool) {
	var clusters []string
	if agent, ok := ParseAgent(who.GetName()); ok {
		clusters, isAgent = append(clusters, agent.Cluster), true
	}
	for _, group := range who.GetGroups() {
		rest, ok := strings.CutPrefix(group, AgentPrefix)
		switch {
		case !ok || strings.Contains(rest, ":"):
		case rest == allAgentsName:
			isAgent = true
		default:
			clusters, isAgent = append(clusters, rest), true
		}
	}
	slices.Sort(clusters)
	if clusters = slices.Compact(clusters); len(clusters) == 1 {
		cluster = clusters[0]
	}
	return cluster, isAgent, len(clusters) > 1
}

// judgeRequests lets an agent create certificate requests, and read those with
// the label of its own cluster.
func (z *Authorizer) judgeRequests(ctx context.Context, cluster string, a authorizer.Attributes) (authorizer.Decision, string, error) {
	const reason = "an agent reads the certificate requests of its own cluster only"
	if !slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if a.GetName() == "" {
		selector, err := a.GetLabelSelector()
		if err != nil || !selectsOnly(selector, cluster) {
			return authorizer.DecisionDeny, reason + ": select them by the label " + ocmv1.ClusterNameLabel, nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
	hub := z.hub.Load()
	if hub == nil {
		return authorizer.DecisionDeny, "", errStarting
	}
	var found certificatesv1.CertificateSigningRequest
	err := (*hub).Get(ctx, client.ObjectKey{Name: a.GetName()}, &found)
	switch {
	case apierrors.IsNotFound(err):
		return authorizer.DecisionNoOpinion, "", nil
	case err != nil:
		return authorizer.DecisionDeny, "", err
	case cluster == "" || found.Labels[ocmv1.ClusterNameLabel] != cluster:
		return authorizer.DecisionDeny, reason, nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// selectsOnly tells that a selector leaves nothing but what is of a cluster.
func selectsOnly(selector labels.Requirements, cluster string) bool {
	return cluster != "" && slices.ContainsFunc(selector, func(r labels.Requirement) bool {
		if r.Key() != ocmv1.ClusterNameLabel {
			return false
		}
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			return r.Values().Len() == 1 && r.Values().Has(cluster)
		}
		return false
	})
}
