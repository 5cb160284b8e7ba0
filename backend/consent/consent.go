package consent

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/backend/apis"
)

// AgentPrefix starts the user name of an agent; cluster and agent name follow,
// with a colon between (contract section 2.3).
const AgentPrefix = "system:open-cluster-management:"

const (
	// allAgentsGroup is in the certificate of every agent. It has no rights.
	allAgentsGroup = AgentPrefix + allAgentsName
	allAgentsName  = "managed-clusters"
	// secondPrefix starts the name of a cluster's second group, which certificates
	// do not carry.
	secondPrefix = "open-cluster-management:"

	// BootstrapNamespace holds the identity that agents are introduced with.
	BootstrapNamespace = "open-cluster-management"
	// BootstrapAccount is its service account.
	BootstrapAccount = "agent-registration-bootstrap"
	// BootstrapUser is the user name of BootstrapAccount.
	BootstrapUser = "system:serviceaccount:" + BootstrapNamespace + ":" + BootstrapAccount
	// BootstrapGroup is the extra group of bootstrap tokens for agents.
	BootstrapGroup = "system:bootstrappers:managedcluster"
)

// Annotations of ours. Admission writes them; nobody else can.
const (
	// AnnotationCreator on a ManagedCluster is who created it.
	AnnotationCreator = "muster.dev/created-by"
	// AnnotationAddress on a certificate request of an agent is where it came from.
	AnnotationAddress = "muster.dev/address"
	// AnnotationUserAgent is the program that it came from.
	AnnotationUserAgent = "muster.dev/user-agent"
	// ourAnnotations start with this.
	ourAnnotations = "muster.dev/"
)

// Agent is who an agent's certificate speaks for.
type Agent struct {
	// Cluster is the name of its ManagedCluster, Name tells the cluster's agents
	// apart.
	Cluster, Name string
}

// User is the agent's user name, the common name of its certificate.
func (a Agent) User() string { return AgentPrefix + a.Cluster + ":" + a.Name }

// Group is the group that the rights of a cluster's agents are given to.
func Group(cluster string) string { return AgentPrefix + cluster }

// ParseAgent reads the user name of an agent. It is false for others, also for
// the agents of add-ons, whose names have more parts.
func ParseAgent(user string) (Agent, bool) {
	rest, ok := strings.CutPrefix(user, AgentPrefix)
	if !ok {
		return Agent{}, false
	}
	cluster, name, ok := strings.Cut(rest, ":")
	if !ok || cluster == "" || name == "" || strings.Contains(name, ":") {
		return Agent{}, false
	}
	return Agent{Cluster: cluster, Name: name}, true
}

// isBootstrap tells that somebody is here to introduce a cluster.
func isBootstrap(user string, groups []string) bool {
	return user == BootstrapUser || slices.Contains(groups, BootstrapGroup)
}

// reservedNames are namespaces of the hub itself, in which a cluster of such a name
// would get rights: on the heartbeats of others, for one. The last two are the names
// of the roles that all clusters share: the role of a cluster that is called work
// would be that of everybody's works.
var reservedNames = []string{
	"default", allAgentsName, apis.SystemNamespace, apis.ClusterNamespace, sharedRegistrationName, sharedWorkName,
}

// reservedPrefixes start names of namespaces that are not the clusters'.
var reservedPrefixes = []string{"kube-", apis.ExecutionSpacePrefix, "open-cluster-management", "muster-"}

// checkName says why a ManagedCluster cannot have a name; it is empty if it can.
func checkName(name string) string {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		if strings.Contains(name, ".") {
			return "metadata.name format is not correct: must not contain dots"
		}
		return "metadata.name format is not correct: " + problems[0]
	}
	reserved := slices.ContainsFunc(reservedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	if reserved || slices.Contains(reservedNames, name) {
		return notFree(name)
	}
	return ""
}

func notFree(name string) string {
	return "metadata.name is not free: " + name + " is for the hub itself, choose another name"
}
