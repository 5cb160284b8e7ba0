// Package clustermanager puts our hub on a cluster, as the custom resource ClusterManager of Open Cluster Management asks for (contract
// ocm.md sections 1.7 and 3.1), and takes it away again.
//
//	mode     Deployments live on       namespace                     the hub is reached by                webhooks are reached by
//	Default  the hub cluster           open-cluster-management-hub   ServiceAccounts                      Services in that namespace
//	Hosted   a management cluster      <cm>, on both clusters        Secrets <account>-kubeconfig there   address and port of the resource
//
// One reconcile:
//
//	finalizer → hub reached → namespaces → certificates → stored objects migrated → kinds → migrated → pull secret → roles, accounts, Services →
//	[hosted: credentials] → Deployments → judged → once nothing rolls any more: webhook configurations
//
// Three Deployments: <cm>-registration-controller is the hub itself (registration, placement, work and the dashboard in one process);
// <cm>-registration-webhook and <cm>-work-webhook answer the API server's questions and do nothing else, so that a Service can select
// either by its label app.
//
// Removal: the managed clusters go first, with their works, while the hub still runs and serves everything; then the kinds, in order; then the webhook
// configurations (on the hub), roles and accounts, namespaces, and the finalizer. While something holds a kind back, condition
// CleanupBlocked names it.
//
// We are the only writer of every condition of a ClusterManager. What a resource asks for and we do not act on is named in condition
// NotSupported.
package clustermanager
