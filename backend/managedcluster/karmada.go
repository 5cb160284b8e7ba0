package managedcluster

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/registration"
)

// Claims that say what the other dialect has a field for.
const (
	claimID       = "id.k8s.io"
	claimVersion  = "kubeversion.open-cluster-management.io"
	claimPlatform = "platform.open-cluster-management.io"
	claimRegion   = "region.open-cluster-management.io"
)

// Names of fields in brought.
const (
	fieldID       = "id"
	fieldEndpoint = "endpoint"
	fieldProvider = "provider"
	fieldRegion   = "region"
)

// reasonNotAccepted is why the Cluster of an OCM member that the hub has turned
// away is not Ready; it is the reason that the ManagedCluster has.
const reasonNotAccepted = ocmv1.ReasonDenied

// newCluster is the Cluster of an OCM member, before it was given anything.
func newCluster(name string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{registration.AnnotationOrigin: registration.OriginOCM},
			Finalizers: []string{registration.FinalizerFleet, clusterv1alpha1.ClusterControllerFinalizer},
		},
		Spec: clusterv1alpha1.ClusterSpec{
			SyncMode: clusterv1alpha1.Pull,
			Taints:   []corev1.Taint{{Key: registration.TaintOtherDialect, Effect: corev1.TaintEffectNoSchedule}},
		},
	}
}

// notReady is the taint of a Cluster that has not reported yet.
func notReady(now time.Time) corev1.Taint {
	added := metav1.NewTime(now).Rfc3339Copy()
	return corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &added}
}

// bringToCluster puts into the Cluster of an OCM member what is new of it.
func bringToCluster(mirror *clusterv1alpha1.Cluster, origin *ocmv1.ManagedCluster) error {
	now, last := ofManaged(origin), broughtTo(mirror)
	mirror.Labels = bring(last.Labels, now.Labels, mirror.Labels)
	mirror.Spec.Taints = mergeTaints(mirror.Spec.Taints, last.Taints, now.Taints)
	fields := bring(last.Fields, now.Fields, filled(map[string]string{
		fieldID: mirror.Spec.ID, fieldEndpoint: mirror.Spec.APIEndpoint, fieldProvider: mirror.Spec.Provider, fieldRegion: mirror.Spec.Region,
	}))
	mirror.Spec.ID, mirror.Spec.APIEndpoint, mirror.Spec.Provider, mirror.Spec.Region = fields[fieldID], fields[fieldEndpoint], fields[fieldProvider], fields[fieldRegion]
	return now.note(mirror)
}

// ofManaged is what a ManagedCluster has to bring to a Cluster.
func ofManaged(origin *ocmv1.ManagedCluster) brought {
	b := brought{Labels: userLabels(origin.Labels), Taints: map[string]string{}, Fields: map[string]string{}}
	if set := origin.Labels[ocmv1.ClusterSetLabel]; set != "" {
		b.Labels[ocmv1.ClusterSetLabel] = set // so that a policy can choose by it
	}
	for i := range origin.Spec.Taints {
		taint := &origin.Spec.Taints[i]
		if taint.Effect == ocmv1.TaintEffectNoSelect && users(taint.Key) && len(validation.IsValidLabelValue(taint.Value)) == 0 {
			b.Taints[taint.Key] = taint.Value
		}
	}
	if id := claimOf(origin, claimID); len(id) <= clusterv1alpha1.MaxIDLength {
		b.Fields[fieldID] = id
	}
	if configs := origin.Spec.ManagedClusterClientConfigs; len(configs) > 0 && httpsAddress(configs[0].URL) {
		b.Fields[fieldEndpoint] = configs[0].URL
	}
	for field, claim := range map[string]string{fieldProvider: claimPlatform, fieldRegion: claimRegion} {
		if value := claimOf(origin, claim); len(validation.IsValidLabelValue(value)) == 0 {
			b.Fields[field] = value
		}
	}
	b.Fields = filled(b.Fields)
	return b
}

// filled leaves out what is empty: that is not set.
func filled(fields map[string]string) map[string]string {
	maps.DeleteFunc(fields, func(_, value string) bool { return value == "" })
	return fields
}

func claimOf(cluster *ocmv1.ManagedCluster, name string) string {
	for _, claim := range cluster.Status.ClusterClaims {
		if claim.Name == name {
			return claim.Value
		}
	}
	return ""
}

// httpsAddress tells that both dialects take the address.
func httpsAddress(text string) bool {
	address, err := url.Parse(text)
	return err == nil && address.Scheme == "https" && address.Host != "" && address.User == nil && address.Fragment == "" && address.RawQuery == ""
}

// mergeTaints brings taints to a Cluster, all with the effect NoSchedule.
func mergeTaints(taints []corev1.Taint, last, origin map[string]string) []corev1.Taint {
	there := map[string]string{}
	for i := range taints {
		if taint := &taints[i]; taint.Effect == corev1.TaintEffectNoSchedule && users(taint.Key) {
			there[taint.Key] = taint.Value
		}
	}
	wanted := bring(last, origin, there)
	after := slices.DeleteFunc(slices.Clone(taints), func(taint corev1.Taint) bool {
		value, ok := wanted[taint.Key]
		return taint.Effect == corev1.TaintEffectNoSchedule && users(taint.Key) && (!ok || value != taint.Value)
	})
	for _, key := range missing(wanted, func(key string) bool {
		return slices.ContainsFunc(after, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoSchedule && t.Key == key })
	}) {
		after = append(after, corev1.Taint{Key: key, Value: wanted[key], Effect: corev1.TaintEffectNoSchedule})
	}
	return after
}

// missing are the keys that are not there yet, in order.
func missing(wanted map[string]string, there func(key string) bool) []string {
	var keys []string
	for key := range wanted {
		if !there(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// reportOfManaged puts into a Cluster's status what is known of the OCM member.
// Of what its pods have asked for, nothing is.
func reportOfManaged(status *clusterv1alpha1.ClusterStatus, origin *ocmv1.ManagedCluster, now time.Time) {
	if version := origin.Status.Version.Kubernetes; version != "" {
		status.KubernetesVersion = version
	}
	if len(origin.Status.Allocatable) > 0 {
		status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: origin.Status.Allocatable.DeepCopy()}
	}
	if ready := readyOf(origin, meta.FindStatusCondition(status.Conditions, clusterv1alpha1.ClusterConditionReady) != nil); ready != nil {
		reportCondition(&status.Conditions, *ready, now)
	}
}

// readyOf judges an OCM member by what it reports and whether the hub accepts it.
// One that was never heard has no judgement, unless there was one before.
func readyOf(origin *ocmv1.ManagedCluster, judged bool) *metav1.Condition {
	ready := &metav1.Condition{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionUnknown}
	available := meta.FindStatusCondition(origin.Status.Conditions, ocmv1.ConditionAvailable)
	switch {
	case !origin.Spec.HubAcceptsClient:
		ready.Reason, ready.Message = reasonNotAccepted, "The hub does not accept the cluster any more."
		return ready
	case available == nil && !judged:
		return nil
	case available == nil:
		ready.Reason, ready.Message = clusterv1alpha1.ReasonClusterStatusUnknown, "The cluster has not reported yet."
		return ready
	}
	ready.Status, ready.Message, ready.LastTransitionTime = available.Status, available.Message, available.LastTransitionTime
	switch available.Status {
	case metav1.ConditionTrue:
		ready.Reason = clusterv1alpha1.ReasonClusterReady
	case metav1.ConditionFalse:
		ready.Reason = clusterv1alpha1.ReasonClusterNotReachable
	default:
		ready.Reason = clusterv1alpha1.ReasonClusterStatusUnknown
	}
	return ready
}

// newManaged is the ManagedCluster of a Karmada member, before it was given
// anything. Whoever registered the member has accepted it.
func newManaged(name string) *ocmv1.ManagedCluster {
	return &ocmv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{registration.AnnotationOrigin: registration.OriginKarmada}, Finalizers: []string{registration.FinalizerFleet},
		},
		Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: true, LeaseDurationSeconds: ocmv1.DefaultLeaseDurationSeconds},
	}
}

// bringToManaged puts into the ManagedCluster of a Karmada member what is new of it.
func bringToManaged(mirror *ocmv1.ManagedCluster, origin *clusterv1alpha1.Cluster) error {
	now, last := ofCluster(origin), broughtTo(mirror)
	mirror.Labels = bring(last.Labels, now.Labels, mirror.Labels)
	mirror.Spec.Taints = mergeManagedTaints(mirror.Spec.Taints, last.Taints, now.Taints)
	there := ""
	if configs := mirror.Spec.ManagedClusterClientConfigs; len(configs) > 0 {
		there = configs[0].URL
	}
	if address := bring(last.Fields, now.Fields, filled(map[string]string{fieldEndpoint: there}))[fieldEndpoint]; address != there {
		mirror.Spec.ManagedClusterClientConfigs = nil
		if address != "" {
			mirror.Spec.ManagedClusterClientConfigs = []ocmv1.ClientConfig{{URL: address}}
		}
	}
	return now.note(mirror)
}

// ofCluster is what a Cluster has to bring to a ManagedCluster.
func ofCluster(origin *clusterv1alpha1.Cluster) brought {
	b := brought{Labels: userLabels(origin.Labels), Taints: map[string]string{}, Fields: map[string]string{}}
	for i := range origin.Spec.Taints {
		if taint := &origin.Spec.Taints[i]; taint.Effect == corev1.TaintEffectNoSchedule && users(taint.Key) {
			b.Taints[taint.Key] = taint.Value
		}
	}
	if httpsAddress(origin.Spec.APIEndpoint) {
		b.Fields[fieldEndpoint] = origin.Spec.APIEndpoint
	}
	return b
}

// mergeManagedTaints brings taints to a ManagedCluster, all with the effect
// NoSelect. Those that stay keep their time, which admission asks for.
func mergeManagedTaints(taints []ocmv1.Taint, last, origin map[string]string) []ocmv1.Taint {
	there := map[string]string{}
	for i := range taints {
		if taint := &taints[i]; taint.Effect == ocmv1.TaintEffectNoSelect && users(taint.Key) {
			there[taint.Key] = taint.Value
		}
	}
	wanted := bring(last, origin, there)
	after := slices.DeleteFunc(slices.Clone(taints), func(taint ocmv1.Taint) bool {
		value, ok := wanted[taint.Key]
		return taint.Effect == ocmv1.TaintEffectNoSelect && users(taint.Key) && (!ok || value != taint.Value)
	})
	// A key stands once on a ManagedCluster, whatever the effect (contract section 1.2).
	for _, key := range missing(wanted, func(key string) bool {
		return slices.ContainsFunc(after, func(t ocmv1.Taint) bool { return t.Key == key })
	}) {
		after = append(after, ocmv1.Taint{Key: key, Value: wanted[key], Effect: ocmv1.TaintEffectNoSelect})
	}
	return after
}

// reportOfCluster puts into a ManagedCluster's status what is known of the
// Karmada member.
func reportOfCluster(status *ocmv1.ManagedClusterStatus, origin *clusterv1alpha1.Cluster, now time.Time) {
	reportCondition(&status.Conditions, metav1.Condition{
		Type: ocmv1.ConditionJoined, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonJoined, Message: "The cluster is registered as a Karmada member.",
		LastTransitionTime: origin.CreationTimestamp,
	}, now)
	if ready := meta.FindStatusCondition(origin.Status.Conditions, clusterv1alpha1.ClusterConditionReady); ready != nil {
		available := metav1.Condition{Type: ocmv1.ConditionAvailable, Status: ready.Status, Message: ready.Message, LastTransitionTime: ready.LastTransitionTime}
		switch ready.Status {
		case metav1.ConditionTrue:
			available.Reason = ocmv1.ReasonAvailable
		case metav1.ConditionFalse:
			available.Reason = ocmv1.ReasonKubeAPIServerUnavailable
		default:
			available.Reason = ocmv1.ReasonLeaseUpdateStopped
		}
		reportCondition(&status.Conditions, available, now)
	}
	status.Version.Kubernetes = origin.Status.KubernetesVersion
	status.Allocatable = nil
	if origin.Status.ResourceSummary != nil {
		status.Allocatable = origin.Status.ResourceSummary.Allocatable.DeepCopy()
	}
	status.ClusterClaims = claimsOf(origin)
}

func claimsOf(origin *clusterv1alpha1.Cluster) []ocmv1.ManagedClusterClaim {
	var claims []ocmv1.ManagedClusterClaim
	for _, claim := range []ocmv1.ManagedClusterClaim{
		{Name: claimID, Value: origin.Spec.ID}, {Name: claimVersion, Value: origin.Status.KubernetesVersion},
		{Name: claimPlatform, Value: origin.Spec.Provider}, {Name: claimRegion, Value: origin.Spec.Region},
	} {
		if claim.Value = strings.TrimSpace(claim.Value); claim.Value != "" && len(claim.Value) <= maxClaim {
			claims = append(claims, claim)
		}
	}
	return claims
}

// maxClaim bounds the value of a claim.
const maxClaim = 1024

// reportCondition is meta.SetStatusCondition with a clock of our own, for
// conditions that come without a time.
func reportCondition(conditions *[]metav1.Condition, condition metav1.Condition, now time.Time) {
	if condition.Message == "" {
		condition.Message = condition.Reason
	}
	old := meta.FindStatusCondition(*conditions, condition.Type)
	if condition.LastTransitionTime.IsZero() && (old == nil || old.Status != condition.Status) {
		condition.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	}
	meta.SetStatusCondition(conditions, condition)
}
