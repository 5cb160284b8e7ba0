// Package eviction moves workloads off clusters that must not or cannot run
// them: clusters with a NoExecute taint that is not tolerated, and clusters where
// an application stays unhealthy (contract sections 7.7 and 8.6). It also keeps
// the taints that ClusterTaintPolicies ask for, and writes on clusters the actions
// that Remedies ask for.
//
// We take a cluster out of a binding's spec.clusters and put a task into
// spec.gracefulEvictionTasks; the scheduler finds another cluster, propagation
// keeps or removes the old copy as the task says, and we drop the task once the
// move is over:
//
//	target ──taint, or unhealthy too long──► task ──all targets healthy──► gone
//	                                          │ ──grace period over──────►
//	                                          └─ suppressDeletion: a user decides
//
// Taints and applications are looked at only with the feature gate Failover;
// tasks, whoever made them, and Remedies always.
package eviction
