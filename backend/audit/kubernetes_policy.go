package audit

import (
	"slices"
	"strings"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// interest is how much of a request to the hub API is recorded.
type interest int

const (
	// ignored is what changes nothing, and what the hub does itself.
	ignored interest = iota
	// denials is what comes all the time (heartbeats, events, reported status):
	// only an attempt that is refused says something.
	denials
	// everything is recorded, its intent before it runs.
	everything
)

const (
	agentPrefix = "system:karmada:agent:"
	// ocmAgentPrefix begins the names of agents of Open Cluster Management.
	ocmAgentPrefix  = "system:open-cluster-management:"
	anonymousPrefix = "system:anonymous"
)

// query is what of a request decides about interest.
type query struct {
	user                         string
	groups                       []string
	verb                         string
	group, resource, subresource string // empty for a path that is no resource
	path                         string
}

var changing = map[string]bool{
	"create": true, "update": true, "patch": true, "delete": true, "deletecollection": true, // resources
	"post": true, "put": true, // other paths
}

// reviews ask a question by a POST.
var reviews = map[string]bool{
	"subjectaccessreviews": true, "localsubjectaccessreviews": true, "selfsubjectaccessreviews": true,
	"selfsubjectrulesreviews": true, "selfsubjectreviews": true, "tokenreviews": true,
}

// interest decides. It must give the same answer for a request and for its
// events, since the policy asks it with one and the backend with the other.
func (q query) interest() interest {
	switch {
	case q.isHub(), reviews[q.resource], !changing[q.verb] && !q.opensStream():
		return ignored
	case q.resource == "leases" && q.group == "coordination.k8s.io",
		q.resource == "events" && (q.group == "" || q.group == "events.k8s.io"),
		q.subresource == "status" && (strings.HasPrefix(q.user, agentPrefix) || strings.HasPrefix(q.user, ocmAgentPrefix)):
		return denials
	default:
		return everything
	}
}

// isHub tells whether the hub itself asks: its controllers, and REST, which
// records what users do through it. Impersonated requests of the hub count as
// its own; nobody else can have this name and this group.
func (q query) isHub() bool {
	if strings.HasPrefix(q.user, "system:kube-") && strings.HasSuffix(q.user, "-internal") {
		return true
	}
	return q.user == user.APIServerUser && slices.Contains(q.groups, user.SystemPrivilegedGroup)
}

// opensStream tells whether a GET gives a hold of a running container: clients
// ask for exec by GET when they speak WebSocket, also through clusters/proxy.
func (q query) opensStream() bool {
	last := q.subresource
	if q.resource == "clusters" && q.subresource == "proxy" {
		last = q.path[strings.LastIndex(q.path, "/")+1:]
	}
	return last == "exec" || last == "attach" || last == "portforward"
}

// Policy tells the API server which requests to send to Backend.
type Policy struct{}

// EvaluatePolicyRule implements audit.PolicyRuleEvaluator.
func (Policy) EvaluatePolicyRule(attributes authorizer.Attributes) audit.RequestAuditConfig {
	q := query{verb: attributes.GetVerb(), path: attributes.GetPath()}
	if attributes.IsResourceRequest() {
		q.group, q.resource, q.subresource = attributes.GetAPIGroup(), attributes.GetResource(), attributes.GetSubresource()
	}
	if who := attributes.GetUser(); who != nil { // nil: authentication failed
		q.user, q.groups = who.GetName(), who.GetGroups()
	}
	if q.interest() == ignored {
		return audit.RequestAuditConfig{Level: auditinternal.LevelNone}
	}
	return audit.RequestAuditConfig{Level: auditinternal.LevelMetadata, OmitManagedFields: true}
}
