// Package liveness owns how a member is right now: whether it is heard, what it
// reports of itself, and whether it could still clean up after itself.
//
//	Push                       StatusReconciler   a collector in the hub
//	Pull, our agent            Agents             what its link brings
//	Pull, karmada-agent        the agent itself; LeaseReconciler notes its silence
//
// Each of these alone writes the Ready condition of its kind of Cluster. Whether
// an agent is connected is held in memory; at rest a connected agent costs no
// write.
package liveness
