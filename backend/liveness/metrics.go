package liveness

import "muster.dev/muster/backend/kube"

// syncing is the metric of contract section 14 about what members report: from
// the report to the Cluster's status.
var syncing = kube.NewDurations("cluster_sync_status_duration_seconds", "How long bringing what a cluster reports to its status took.", 12, "member_cluster")
