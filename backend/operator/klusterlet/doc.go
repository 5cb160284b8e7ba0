// Package klusterlet puts our agents on a managed cluster, as the custom resource Klusterlet of Open Cluster Management asks for (contract
// ocm.md sections 1.8 and 3.2), and takes them away again.
//
//	mode             resource and pods live on   agents' namespace   Deployments
//	Default          the managed cluster         spec.namespace      <k>-registration-agent, <k>-work-agent
//	Singleton        the managed cluster         spec.namespace      <k>-agent
//	Hosted           a management cluster        <k>                 as Default
//	SingletonHosted  a management cluster        <k>                 as Singleton
//
// One reconcile:
//
//	finalizer → [hosted: reach the managed cluster] → kinds → managed side → management side → hub asked → Deployments → old namespaces gone
//
// Removal runs the other way: Deployments (and their pods) first, so that no agent takes the clean-up for an order to remove workload;
// then the managed side, then the management side, then the finalizers. Applied workload stays.
//
// We are the only writer of every condition of a Klusterlet; HubConnectionDegraded is what the hub itself answers to access reviews made with
// the agent's credentials, asked all at once. What a resource asks for and we do not act on is named in condition NotSupported.
//
// Two deviations from the original are on purpose: the records of applied works and the kinds we brought are removed with the last
// Klusterlet, so that the cluster is left as it was; and a hosted Klusterlet whose external-managed-kubeconfig is gone is given up after the
// same five minutes as an unreachable cluster, instead of never.
package klusterlet
