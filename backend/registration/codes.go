package registration

import "muster.dev/muster/backend/token"

// Codes of what can go wrong while a cluster joins. They are stable: the
// dashboard words them in the reader's language, scripts match them. MU-1xx is
// the pull side (the member calls), MU-2xx the push side (the hub calls).
const (
	CodeTokenUnknown      = token.CodeUnknown
	CodeTokenSecret       = token.CodeSecret
	CodeTokenExpired      = token.CodeExpired
	CodeTokenBound        = token.CodeBound
	CodeNameTaken         = "MU-105"
	CodeSameCluster       = "MU-106"
	CodePin               = "MU-107"
	CodeHubUnreachable    = "MU-108"
	CodeHubClock          = "MU-109"
	CodeCSRRefused        = "MU-110"
	CodeAgentPod          = "MU-111"
	CodeAgentPermissions  = "MU-112"
	CodeLinkRefused       = "MU-113"
	CodeKubeconfig        = "MU-201"
	CodeRefusedField      = "MU-202"
	CodeAddress           = "MU-203"
	CodeDNS               = "MU-204"
	CodeTCP               = "MU-205"
	CodeTLS               = "MU-206"
	CodeUnauthenticated   = "MU-207"
	CodePermissions       = "MU-208"
	CodeVersion           = "MU-209"
	CodeClock             = "MU-210"
	CodeManaged           = "MU-211"
	CodeMemberName        = "MU-212"
	CodeProxy             = "MU-213"
	causeUnknown          = "The hub does not know this failure."
	fixUnknown            = "Run the command again with more output and read its last lines; the hub's log holds the other side."
	fixNewToken           = "Make a new token: in the dashboard under Join tokens, or with `muster token create --print-register-command`."
	fixRejoin             = "Mend it and run the same command again: registering can be repeated at any point."
	fixKubeconfigFlatten  = "Paste what `kubectl config view --raw --flatten --minify` prints."
	fixPreflightAgain     = "Mend it and run the preflight again; nothing was created."
	fixAgentLogs          = "Look at `kubectl -n muster-system get pods` and `kubectl -n muster-system logs deploy/muster-agent` in the member."
	fixAllowMemberAddress = "Ask an administrator to start the hub with --allow-member-cidr, join from the command line with `muster join`, or let the cluster call the hub (pull)."
)

// Advice is what a code means: what happened and why, and what to do.
type Advice struct {
	Code  string `json:"code"`
	Cause string `json:"cause"`
	Fix   string `json:"fix"`
} // @name cluster.Advice

var advices = map[string]Advice{
	CodeTokenUnknown:     {Cause: "The hub knows no token with this id: it was never made here, was revoked, or was cleaned away after it expired.", Fix: fixNewToken},
	CodeTokenSecret:      {Cause: "A token with this id exists, but its second half does not match.", Fix: "Copy the whole token again, or make a new one: the hub does not show a token twice."},
	CodeTokenExpired:     {Cause: "The token has expired.", Fix: fixNewToken},
	CodeTokenBound:       {Cause: "The token was made for another cluster, or has registered all the clusters it may.", Fix: fixNewToken},
	CodeNameTaken:        {Cause: "A cluster of this name is registered already, and the request does not come from it.", Fix: "Choose another --cluster-name, or remove the old cluster first; the old cluster's own agent may simply be restarted."},
	CodeSameCluster:      {Cause: "This cluster is registered already under another name.", Fix: "Use the name it has, or remove that registration first."},
	CodePin:              {Cause: "The server that answered does not chain to the pinned CA: it is another hub, or something on the way answers in its place.", Fix: "Compare the hash in the command with the one the dashboard shows. Do not skip the check."},
	CodeHubUnreachable:   {Cause: "The hub's address could not be reached from there: the name did not resolve, or the connection was refused or timed out.", Fix: "Try `curl -vk https://HUB:PORT/healthz` from the same place; start the hub with --advertise and --listen so that members reach it."},
	CodeHubClock:         {Cause: "The clocks of the member and the hub are too far apart, so that certificates are not yet or no longer valid.", Fix: "Set both clocks (NTP). " + fixRejoin},
	CodeCSRRefused:       {Cause: "The certificate request of the agent was not approved.", Fix: "See the reason with `kubectl get csr` on the hub. The token must be bound to this name or to none, and the name must be free."},
	CodeAgentPod:         {Cause: "The agent's pod does not start in the member: most often its image cannot be pulled.", Fix: fixAgentLogs + " Give --agent-image with an image that the member's nodes can pull."},
	CodeAgentPermissions: {Cause: "The kubeconfig used in the member may not create what the agent needs.", Fix: "Use a kubeconfig with the rights of cluster-admin for the register command; the agent itself gets an account of its own."},
	CodeLinkRefused:      {Cause: "The hub refused the agent's link.", Fix: fixAgentLogs},
	CodeKubeconfig:       {Cause: "The kubeconfig cannot be used.", Fix: fixKubeconfigFlatten},
	CodeRefusedField:     {Cause: "The kubeconfig names a program or a file, which the hub neither runs nor opens.", Fix: fixKubeconfigFlatten},
	CodeAddress:          {Cause: "The address is one that the hub does not dial on behalf of the dashboard.", Fix: fixAllowMemberAddress},
	CodeDNS:              {Cause: "The hub cannot resolve the name of the member's API server.", Fix: "Use a name or an address that resolves where the hub runs. " + fixPreflightAgain},
	CodeTCP:              {Cause: "The hub cannot connect to the member's API server.", Fix: "Open the way from the hub to that port, or let the cluster call the hub (pull)."},
	CodeTLS:              {Cause: "The certificate of the member's API server cannot be verified.", Fix: "Put the right certificate-authority-data into the kubeconfig, and an address that the certificate covers."},
	CodeUnauthenticated:  {Cause: "The member does not accept the credential of the kubeconfig.", Fix: "Make a fresh one: the token or certificate may have expired."},
	CodePermissions:      {Cause: "The credential may not do in the member what joining needs.", Fix: "Use a credential with the rights of cluster-admin; the hub exchanges it for an account of its own and forgets it."},
	CodeVersion:          {Cause: "The member's Kubernetes version is too old.", Fix: "Upgrade the member first."},
	CodeClock:            {Cause: "The member's clock and the hub's are too far apart.", Fix: "Set both clocks (NTP). " + fixPreflightAgain},
	CodeManaged:          {Cause: "This cluster is registered already.", Fix: "Use the name it has, or remove that registration first."},
	CodeMemberName:       {Cause: "A cluster of this name is registered already.", Fix: "Choose another name, or remove the old cluster first."},
	CodeProxy:            {Cause: "The forward proxy of the kubeconfig did not let the hub through.", Fix: "Check proxy-url, and that the proxy allows CONNECT to the member's port without a password."},
}

// Advise says what a code means. An unknown code gets a general answer.
func Advise(code string) Advice {
	advice, ok := advices[code]
	if !ok {
		return Advice{Code: code, Cause: causeUnknown, Fix: fixUnknown}
	}
	advice.Code = code
	return advice
}
