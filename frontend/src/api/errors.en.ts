/** One failure in words: what happened, why, what to do. The hub's own sentence, when it has one, is more exact than `why`. */
export interface Wording {
  what: string;
  why?: string;
  fix?: string;
}

export const en = {
  offline: { what: 'The hub does not answer', why: 'The connection failed before any answer came.', fix: 'Check that the hub runs and that this browser reaches its address.' } as Wording,
  unexpected: { what: 'Something went wrong in the hub', fix: 'Look for the request id below in the hub’s log.' } as Wording,
  byStatus: {
    400: { what: 'The hub refused the input' },
    401: { what: 'You are signed out', fix: 'Sign in again.' },
    403: { what: 'You may not do this', fix: 'Ask an administrator for the role that it needs.' },
    404: { what: 'There is no such thing', why: 'It was removed, or it never existed.' },
    409: { what: 'This conflicts with what is there', fix: 'Reload and try again.' },
    422: { what: 'The hub refused the input' },
    429: { what: 'Too many tries', fix: 'Wait a minute and try again.' },
    502: { what: 'The hub does not answer', why: 'What stands in front of it got no answer.', fix: 'Check that the hub runs; it is asked again as soon as it is back.' },
    504: { what: 'The hub does not answer', why: 'What stands in front of it waited too long.', fix: 'Check that the hub runs; it is asked again as soon as it is back.' },
    503: { what: 'The hub cannot do this right now', fix: 'Try again in a moment.' },
  } as Record<number, Wording>,
  byCode: {
    'bad-credentials': { what: 'Name or password is wrong', fix: 'Check both. The administrator’s first password was printed by “muster serve” or “muster init”.' },
    'must-change-password': { what: 'Choose your own password first', why: 'The one you signed in with was made for you.' },
    'cross-site': { what: 'The request seemed to come from another site', why: 'The hub takes changes only from its own dashboard.', fix: 'Open the dashboard under the address that the hub printed, and reload the page.' },
    'last-admin': { what: 'This is the last administrator', why: 'Without one nobody could manage the hub.', fix: 'Make another user an administrator first.' },
    'audit-unavailable': { what: 'The audit could not be written, so nothing was changed', why: 'The hub changes nothing that it cannot record.', fix: 'Check the hub’s disk and database.' },
    'stale': { what: 'Somebody else saved first', why: 'The policy changed after it was read.', fix: 'Bring both changes together, then save.' },
    'forbidden': { what: 'You may not do this', why: 'Your role does not allow it.', fix: 'An administrator can grant the role under Users.' },
    'changed-meanwhile': { what: 'Somebody else changed this in the meantime', why: 'What you saw when you began is not what is there now.', fix: 'Discard your change, look at what is there, and make it again.' },
    'dialect-not-carried': { what: 'This hub does not carry Karmada members', why: 'It runs on an existing Kubernetes API, for Open Cluster Management only.', fix: 'Look under ManagedClusters.' },
    'owned': { what: 'Some of these fields belong to others', why: 'Another program or person set them.', fix: 'Take them over, or leave them as they are.' },
    'invalid-policy': { what: 'The policy makes no sense as it is' },
    'no-request': { what: 'No request waits for a certificate', why: 'The cluster’s agent has asked for none, or it was decided on already.', fix: 'See that the agent runs and reaches the hub.' },
    'several-requesters': { what: 'Several identities ask for this cluster', why: 'Only a person can tell which of them is right.', fix: 'Compare the fingerprints with what the agent prints, and approve that request alone.' },
    'improper-request': { what: 'This is not what an agent asks for', why: 'The request holds more, or other things, than an agent’s certificate.', fix: 'Deny it.' },
    'not-introduced': { what: 'The cluster has not introduced itself yet', why: 'Its agent makes the ManagedCluster once it reaches the hub.', fix: 'Approve the certificate now, and accept the cluster once it shows up.' },
    'too-large': { what: 'That is too much for one request', why: 'The hub takes one MiB at most.' },
    'MU-101': { what: 'The hub does not know this token', why: 'It was revoked, has expired and was cleaned up, or belongs to another hub.', fix: 'Make a new command and run it.' },
    'MU-102': { what: 'The token’s secret part is wrong', why: 'The id exists, but what stands behind the dot does not match.', fix: 'Copy the whole command again; nothing must be cut off.' },
    'MU-103': { what: 'The token has expired', why: 'It was valid for a limited time only.', fix: 'Make a new command and run it.' },
    'MU-104': { what: 'This token is for another cluster', why: 'It is bound to one cluster name, or it was used by as many clusters as it allows.', fix: 'Make a token for this cluster, or one for any cluster.' },
    'MU-105': { what: 'The cluster name is taken', why: 'Another cluster is registered under this name.', fix: 'Choose another name, or remove the old cluster first.' },
    'MU-106': { what: 'This cluster is registered already', why: 'The hub knows the same cluster under another name.', fix: 'Use the cluster under that name, or remove it there first.' },
    'MU-107': { what: 'The hub’s certificate does not match', why: 'The CA is not the one that the command pins. The token was not sent.', fix: 'Copy the command again from this hub. If it still happens, something answers in the hub’s place.' },
    'MU-108': { what: 'The hub was not reached', why: 'The name did not resolve, or the connection was refused or timed out.', fix: 'Open the hub’s address and port for outgoing connections of the cluster, or start the hub with --advertise and an address that the cluster can reach.' },
    'MU-109': { what: 'The clocks differ too much', why: 'A certificate is not valid yet, or not any more, by the cluster’s clock.', fix: 'Set the time of both machines by NTP, then run the command again.' },
    'MU-110': { what: 'The certificate request was refused', why: 'Its name, groups or key usage are not what the token allows.', fix: 'Run the command again as it is shown here.' },
    'MU-111': { what: 'The agent’s pod does not start', why: 'Most often its image cannot be pulled.', fix: 'Look at the pod with kubectl describe, or name a reachable image with --agent-image.' },
    'MU-112': { what: 'Permissions are missing in the cluster', why: 'The account that ran the command may not create what the agent needs.', fix: 'Run the command with a cluster administrator’s kubeconfig.' },
    'MU-113': { what: 'The agent’s link was refused', why: 'The hub did not accept its certificate or its cluster.', fix: 'Look at the agent’s log; register again when its certificate was revoked.' },
    'MU-201': { what: 'The kubeconfig cannot be read', why: 'It is not valid YAML, or it has no cluster or user in it.', fix: 'Paste the output of: kubectl config view --raw --minify --flatten' },
    'MU-202': { what: 'The kubeconfig uses something the hub refuses', why: 'Login programs (exec), auth providers and paths to files work on your machine only.', fix: 'Make one with a token or a certificate inside: kubectl config view --raw --minify --flatten' },
    'MU-203': { what: 'This address is not allowed', why: 'The hub does not dial loopback and link-local addresses for the browser.', fix: 'Use an address that the hub reaches over the network, let the cluster call the hub instead, or ask an administrator to allow it.' },
    'MU-204': { what: 'The server’s name does not resolve', why: 'The hub’s DNS knows no address for it.', fix: 'Use a name that the hub can resolve, or an IP address.' },
    'MU-205': { what: 'The server does not accept a connection', why: 'The port is closed, or a firewall drops the packets.', fix: 'Open the API server’s port for the hub, or let the cluster call the hub instead.' },
    'MU-206': { what: 'The server’s certificate is not trusted', why: 'It was issued by another CA, for another name, or has expired.', fix: 'Check certificate-authority-data and the server’s name in the kubeconfig.' },
    'MU-207': { what: 'The cluster does not accept the credential', why: 'The token or certificate is wrong, expired or revoked.', fix: 'Make a fresh kubeconfig and paste it again.' },
    'MU-208': { what: 'The credential may not do enough', why: 'The hub needs to create a namespace, service accounts and cluster roles once.', fix: 'Use a cluster administrator’s kubeconfig; it is exchanged for an account of its own and forgotten.' },
    'MU-209': { what: 'This Kubernetes version is not supported', fix: 'Upgrade the cluster.' },
    'MU-210': { what: 'The clocks differ too much', why: 'Hub and cluster disagree about the time.', fix: 'Set the time of both machines by NTP.' },
    'MU-211': { what: 'This cluster is managed already', why: 'Another hub, or this one under another name, left its account there.', fix: 'Remove it there first.' },
    'MU-212': { what: 'The cluster name is taken', why: 'Another cluster is registered under this name.', fix: 'Choose another name, or remove the old cluster first.' },
    'MU-213': { what: 'The proxy does not let the hub through', why: 'It refused the connection, or asks for a login.', fix: 'Check the proxy address and its rules.' },
  } as Record<string, Wording>,
};

export type ErrorWords = typeof en;
