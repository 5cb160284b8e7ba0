package agentapi

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

const (
	// LinkPath is where the hub API serves the agents' WebSocket, on the same
	// host and port as everything else agents use.
	LinkPath = "/muster/agent/v1/link"

	// TokenIDHeader carries the public half of a bootstrap token (six
	// characters) on the anonymous read of cluster-info, so that the hub can tell
	// which registration it hears from. It is sent only after the hub's CA has
	// been matched against the pin.
	TokenIDHeader = "Muster-Token-Id"
	// TokenExpiredHeader says, in the answer 401 to a bootstrap token that was
	// shown whole and has expired, when it did (RFC 3339). A wrong secret half gets
	// the bare 401, so that the token's id, which is public, tells nobody more.
	TokenExpiredHeader = "Muster-Token-Expired"

	// SignerName is the signer of agent certificates.
	SignerName = "kubernetes.io/kube-apiserver-client"

	// AgentNamespace is where muster-agent lives in a member unless told
	// otherwise.
	AgentNamespace = "muster-system"
	// AgentName names the agent's objects in the member: Deployment, account,
	// roles and identity Secret.
	AgentName = "muster-agent"
	// AgentImageRepository is the repository of the agent's image; the tag is the
	// version.
	AgentImageRepository = "muster-agent"
)

const (
	// Protocol is the newest protocol number this code speaks, MinProtocol the
	// oldest.
	Protocol    = 3
	MinProtocol = 1

	// Heartbeat is how often an agent sends a frame when it has nothing else to
	// say, unless welcome says otherwise.
	Heartbeat = 5 * time.Second
	// Deadline is how long either side waits for a frame before it takes the link
	// for dead. The agent also stops writing to its member then, until it is
	// connected again.
	Deadline = 15 * time.Second
	// HelloTimeout bounds the time between the upgrade and hello.
	HelloTimeout = 10 * time.Second
)

// WebSocket close codes of the link. 1000–2999 keep their usual meaning.
const (
	// CloseSlow: the peer did not read for too long.
	CloseSlow = 4008
	// CloseMalformed: a frame broke the contract of this package.
	CloseMalformed = 4400
	// CloseRefused: the hub does not accept the agent; a refused frame said why.
	CloseRefused = 4403
	// CloseSilent: no frame arrived within the deadline.
	CloseSilent = 4408
	// CloseSuperseded: another agent with the same identity has the link now.
	CloseSuperseded = 4409
	// CloseRemoved: the cluster was removed from the hub.
	CloseRemoved = 4410
)

// Codes of a refusal that have a meaning to the agent beyond being shown.
const (
	// CodeRefused is the general reason of a refused link.
	CodeRefused = "MU-113"
	// CodeSuperseded is sent to an agent that has lost its place to another one
	// with the same identity, or tries to take it back.
	CodeSuperseded = "superseded"
	// CodeProtocol is sent to an agent that speaks no protocol the hub knows.
	CodeProtocol = "protocol"
)

// ClusterOfUser returns the cluster an agent's user name speaks for. It is false
// for any other user, including the registration helper, and for names that no
// cluster can have.
func ClusterOfUser(user string) (string, bool) {
	cluster, ok := apis.ClusterOfAgent(user)
	if !ok || len(cluster) > clusterv1alpha1.MaxNameLength || len(validation.IsDNS1123Label(cluster)) > 0 {
		return "", false
	}
	return cluster, true
}

// AgentImage returns the image of the agent of one version.
func AgentImage(version string) string {
	return fmt.Sprintf("%s:%s", AgentImageRepository, version)
}
