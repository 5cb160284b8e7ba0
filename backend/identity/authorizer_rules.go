package identity

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// permission is one line of what an identity may do.
type permission struct {
	group, resource, subresource string
	verbs                        string // one space between
	// where says whether namespace and name are right. A create has no name yet:
	// admission looks at it.
	where func(cluster, namespace, name string) bool
}

func anywhere(string, string, string) bool { return true }

func ownCluster(cluster, _, name string) bool { return name == cluster }

// anyOrOwn is for lists: all of them, which the registry filters, or the own one.
func anyOrOwn(cluster, _, name string) bool { return name == "" || name == cluster }

func inOwnSpace(cluster, namespace, _ string) bool { return namespace == apis.ExecutionSpace(cluster) }

func ownSecret(cluster, namespace, name string) bool {
	return namespace == apis.ClusterNamespace && (name == CredentialSecret(cluster) || name == ImpersonatorSecret(cluster))
}

func inClusterNamespace(_, namespace, _ string) bool { return namespace == apis.ClusterNamespace }

// ownLease holds for the heartbeat, and for the leader election of an agent,
// whose namespace its operator chooses (contract section 3.2). In the namespace
// of heartbeats only the first is taken, else one name could stand for both.
func ownLease(cluster, namespace, name string) bool {
	if namespace == apis.ClusterNamespace {
		return name == cluster
	}
	return name == LeaderLease(cluster)
}

// LeaderLease is the Lease by which the replicas of a karmada-agent elect one.
func LeaderLease(cluster string) string { return "karmada-agent-" + cluster }

func knownNamespace(cluster, _, name string) bool {
	return name == apis.ClusterNamespace || name == apis.SystemNamespace || name == apis.ExecutionSpace(cluster)
}

const interpreters = "config.karmada.io"

// agentRights is contract section 7.2, plus the agent's own Cluster, which it
// may change and delete (sections 6.7 and 7.1).
var agentRights = []permission{
	{clusterv1alpha1.GroupName, "clusters", "", "list watch", anyOrOwn},
	{clusterv1alpha1.GroupName, "clusters", "", "create", anywhere},
	{clusterv1alpha1.GroupName, "clusters", "", "get update delete", ownCluster},
	{clusterv1alpha1.GroupName, "clusters", "status", "update", ownCluster},
	{workv1alpha1.GroupName, "works", "", "get list watch create update delete", inOwnSpace},
	{workv1alpha1.GroupName, "works", "status", "update patch", inOwnSpace},
	{interpreters, "resourceinterpretercustomizations", "", "get list watch", anywhere},
	{interpreters, "resourceinterpreterwebhookconfigurations", "", "get list watch", anywhere},
	{"", "services", "", "list watch", anywhere},
	{"", "namespaces", "", "get", knownNamespace},
	{"", "secrets", "", "create", inClusterNamespace},
	{"", "secrets", "", "get patch", ownSecret},
	{"", "events", "", "create patch update", anywhere},
	{"coordination.k8s.io", "leases", "", "create", anywhere},
	{"coordination.k8s.io", "leases", "", "get update", ownLease},
}

// agentMay says whether the agent of a cluster may do something.
func agentMay(cluster string, a authorizer.Attributes) bool {
	for _, line := range agentRights {
		if line.covers(a) && line.where(cluster, a.GetNamespace(), a.GetName()) {
			return true
		}
	}
	return false
}

func (l permission) covers(a authorizer.Attributes) bool {
	if l.group != a.GetAPIGroup() || l.resource != a.GetResource() || l.subresource != a.GetSubresource() {
		return false
	}
	return slices.Contains(strings.Fields(l.verbs), a.GetVerb())
}

// helperMay says whether a registration helper may do something. What it creates
// exists already: admission answers so, without looking further.
func helperMay(ctx context.Context, id identity, a authorizer.Attributes, facts Facts) (bool, error) {
	grant, ok, err := facts.Helper(ctx, id.credential)
	if err != nil || !ok || a.GetSubresource() != "" {
		return false, err
	}
	resource := a.GetAPIGroup() + "/" + a.GetResource()
	switch a.GetVerb() {
	case "get":
		return resource == "cluster.karmada.io/clusters" && a.GetName() == grant.Cluster && grant.Exists, nil
	case "create":
		return grant.Exists && helperCreates(resource, a.GetNamespace(), grant.Cluster), nil
	case "delete":
		if resource == "certificates.k8s.io/certificatesigningrequests" {
			return a.GetName() == grant.Request, nil
		}
		if !helperDeletes(resource, a.GetNamespace(), a.GetName(), grant.Cluster) {
			return false, nil
		}
		// A refused register cleans up by deleting these, although it did not make
		// them: of a living cluster they stay (contract section 6.2 step 10).
		registered, err := facts.Registered(ctx, grant.Cluster)
		return !registered, err
	}
	return false, nil
}

func helperCreates(resource, namespace, cluster string) bool {
	switch resource {
	case "rbac.authorization.k8s.io/clusterroles", "rbac.authorization.k8s.io/clusterrolebindings", "/namespaces":
		return true
	case "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/rolebindings":
		return namespace == apis.ClusterNamespace || namespace == apis.ExecutionSpace(cluster)
	}
	return false
}

func helperDeletes(resource, namespace, name, cluster string) bool {
	switch resource {
	case "rbac.authorization.k8s.io/clusterroles", "rbac.authorization.k8s.io/clusterrolebindings":
		return name == agentRole(cluster)
	case "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/rolebindings":
		return namespace == apis.ClusterNamespace && name == secretsRole(cluster) ||
			namespace == apis.ExecutionSpace(cluster) && name == worksRole(cluster)
	}
	return false
}
