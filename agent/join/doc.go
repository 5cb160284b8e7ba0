// Package join registers a member cluster with a hub, keeps the identity that
// comes of it, and takes it all back (contract sections 5.3 and 6).
//
//	preflight   the member answers, we may create what the agent needs, the
//	            clocks agree, it is not registered elsewhere
//	discovery   cluster-info is read anonymously; its CA must match the pin
//	            before anything else happens; then again, verified by that CA
//	identity    a certificate request with the token, approved by the hub's rule
//	install     namespace, account, roles, identity Secret, Deployment
//	start       the pod runs, or this process does (--run)
//	ready       the hub shows the Cluster Ready
//
// What the agent is, is one Secret in the member: the hub's address and CA, and
// the client certificate with its key. Registering again at any point takes up
// what there is: a certificate that the hub still accepts is used again, objects
// are brought up to date.
//
// No byte of the token, not even its public half, is sent before the hub's CA
// has matched a pin, and never to a server that does not chain to that CA.
package join
