package identity

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Authorizer confines the identities of registration on the hub API. It is asked
// before RBAC and its word is final, so that neither a role too wide nor one too
// few can change what a member may do:
//
//   - an agent touches the objects of its own cluster (contract section 7.2),
//   - the registration helper can do no more than fail to create what exists
//     already (contract section 6.4),
//   - a join token creates certificate requests and reads its own.
//
// It has no opinion about anybody else, nor about paths that are no resources,
// except the agents' link.
type Authorizer struct {
	facts atomic.Pointer[Facts]
}

// NewAuthorizer returns an Authorizer. Until Attach is called, requests whose
// judgement needs a look at the hub's objects fail with an internal error.
func NewAuthorizer() *Authorizer { return &Authorizer{} }

// Attach gives the Authorizer sight of the hub's objects.
func (z *Authorizer) Attach(facts Facts) { z.facts.Store(&facts) }

// Ready returns nil once the Authorizer sees the hub's objects.
func (z *Authorizer) Ready() error {
	if z.facts.Load() == nil {
		return errStarting
	}
	return nil
}

// Facts are what judging a request needs to know about the hub.
type Facts interface {
	// Registered tells whether a Cluster of this name exists.
	Registered(ctx context.Context, cluster string) (bool, error)
	// RequesterOf returns who created a certificate request, empty if there is
	// no such request.
	RequesterOf(ctx context.Context, csr string) (user string, err error)
	// Helper returns for which registration the helper's certificate with this
	// credential id was issued; ok is false if it is not one of ours.
	Helper(ctx context.Context, credential string) (grant HelperGrant, ok bool, err error)
	// Revoked tells whether an agent's certificate, issued then, is that of a
	// cluster that was removed since.
	Revoked(ctx context.Context, cluster string, issued time.Time) (bool, error)
}

// HelperGrant is what one helper certificate stands for.
type HelperGrant struct {
	// Cluster is the name being registered.
	Cluster string
	// Request is the certificate request, Exists whether it is still there: the
	// client deletes it when it needs the identity no more.
	Request string
	Exists  bool
}

// nobody answers before Attach.
type nobody struct{}

var errStarting = errors.New("the hub is starting")

func (nobody) Registered(context.Context, string) (bool, error)    { return false, errStarting }
func (nobody) RequesterOf(context.Context, string) (string, error) { return "", errStarting }
func (nobody) Helper(context.Context, string) (HelperGrant, bool, error) {
	return HelperGrant{}, false, errStarting
}
func (nobody) Revoked(context.Context, string, time.Time) (bool, error) { return false, errStarting }

// Authorize implements authorizer.Authorizer.
func (z *Authorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if who == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	var facts Facts = nobody{}
	if attached := z.facts.Load(); attached != nil {
		facts = *attached
	}
	return judge(ctx, identify(who), a, facts)
}

// identityKind says what sort of a registration identity a user is.
type identityKind int

const (
	other identityKind = iota
	agentIdentity
	helperIdentity
	tokenIdentity
	// strayIdentity belongs to the agents' group or looks like an agent, but is
	// not the identity of any possible cluster. It may do nothing.
	strayIdentity
)

type identity struct {
	kind       identityKind
	user       string
	cluster    string // of an agent
	credential string // of a certificate, if known
}

// identify tells who somebody is from name and groups alone.
func identify(who user.Info) identity {
	name, groups := who.GetName(), who.GetGroups()
	id := identity{user: name}
	if ids := who.GetExtra()[user.CredentialIDKey]; len(ids) == 1 {
		id.credential = ids[0]
	}
	cluster, named := strings.CutPrefix(name, apis.AgentUserPrefix)
	switch {
	case name == apis.RBACGeneratorUser:
		id.kind = helperIdentity
	case named && CheckName(cluster) == nil:
		id.kind, id.cluster = agentIdentity, cluster
	case named || slices.Contains(groups, apis.AgentGroup):
		id.kind = strayIdentity
	case slices.Contains(groups, apis.BootstrapTokenGroup):
		id.kind = tokenIdentity
	}
	return id
}

// judge is the whole decision.
func judge(ctx context.Context, id identity, a authorizer.Attributes, facts Facts) (authorizer.Decision, string, error) {
	if id.kind == other {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if issued, ok := issueFrom(ctx); ok && id.kind == agentIdentity {
		revoked, err := facts.Revoked(ctx, id.cluster, issued)
		if err != nil {
			return authorizer.DecisionDeny, "", err
		}
		if revoked {
			return judgeRevoked(ctx, id, a, facts)
		}
	}
	if !a.IsResourceRequest() {
		return judgePath(id, a)
	}
	var allowed bool
	var err error
	switch id.kind {
	case agentIdentity:
		if a.GetResource() == "certificatesigningrequests" {
			return judgeRequests(ctx, id, a, facts)
		}
		allowed = agentMay(id.cluster, a)
	case helperIdentity:
		allowed, err = helperMay(ctx, id, a, facts)
	case tokenIdentity:
		return judgeRequests(ctx, id, a, facts)
	}
	return verdict(id, allowed, err)
}

func verdict(id identity, allowed bool, err error) (authorizer.Decision, string, error) {
	switch {
	case err != nil:
		return authorizer.DecisionDeny, "", err
	case allowed:
		return authorizer.DecisionAllow, "", nil
	}
	reasons := map[identityKind]string{
		agentIdentity:  "an agent may use the objects of its own cluster only",
		helperIdentity: "the registration helper may do no more than registering its one cluster needs",
		tokenIdentity:  "a join token may create certificate requests and read its own",
		strayIdentity:  "this is not the identity of a cluster's agent",
	}
	return authorizer.DecisionDeny, reasons[id.kind], nil
}

// judgeRevoked judges the agent of a removed cluster. While nobody has its name,
// it may find out that the cluster is gone, by the API or by its link.
func judgeRevoked(ctx context.Context, id identity, a authorizer.Attributes, facts Facts) (authorizer.Decision, string, error) {
	asks := !a.IsResourceRequest() && a.GetPath() == agentapi.LinkPath && a.GetVerb() == "get" ||
		a.IsResourceRequest() && a.GetAPIGroup() == clusterv1alpha1.GroupName && a.GetResource() == "clusters" && a.GetSubresource() == "" &&
			a.GetVerb() == "get" && a.GetName() == id.cluster
	if asks {
		registered, err := facts.Registered(ctx, id.cluster)
		if err != nil {
			return authorizer.DecisionDeny, "", err
		}
		if !registered {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionDeny, "the cluster was removed from the hub after this certificate was issued; register it again", nil
}

// judgePath judges paths that are no resources. Discovery is RBAC's business.
func judgePath(id identity, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case id.kind == strayIdentity:
		return verdict(id, false, nil)
	case a.GetPath() == agentapi.LinkPath:
		return verdict(id, id.kind == agentIdentity && a.GetVerb() == "get", nil)
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// judgeRequests judges certificate requests, which agents and join tokens create
// and read. Approval reviews ask about virtual subresources; those are RBAC's.
func judgeRequests(ctx context.Context, id identity, a authorizer.Attributes, facts Facts) (authorizer.Decision, string, error) {
	if a.GetAPIGroup() != "certificates.k8s.io" || a.GetResource() != "certificatesigningrequests" {
		return verdict(id, false, nil)
	}
	switch sub := a.GetSubresource(); {
	case (sub == subresourceAgent || sub == subresourceSelfAgent) && a.GetVerb() == "create":
		return authorizer.DecisionNoOpinion, "", nil
	case sub != "":
		return verdict(id, false, nil)
	}
	switch a.GetVerb() {
	case "create":
		return verdict(id, true, nil)
	case "get", "list", "watch":
		if a.GetName() == "" {
			return verdict(id, false, nil)
		}
		requester, err := facts.RequesterOf(ctx, a.GetName())
		return verdict(id, requester == id.user || requester == "", err)
	}
	return verdict(id, false, nil)
}
