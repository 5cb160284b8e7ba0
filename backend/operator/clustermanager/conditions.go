package clustermanager

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

// Types of conditions that the original's ClusterManager does not have.
const (
	// ConditionNotSupported is True when the resource asks for something that we do not act on.
	ConditionNotSupported = "NotSupported"
	// ConditionCleanupBlocked is True while removal waits, and says what for.
	ConditionCleanupBlocked = "CleanupBlocked"
)

// Reasons of the conditions.
const (
	reasonPrepared               = "ClusterManagerPrepared"
	reasonHubKubeconfigMissing   = "ExternalHubKubeconfigMissing"
	reasonHubUnreachable         = "HubUnreachable"
	reasonInvalid                = "InvalidSpec"
	reasonApplied                = "ClusterManagerApplied"
	reasonKindsFailed            = "CRDApplyFailed"
	reasonHubFailed              = "HubResourceApplyFailed"
	reasonAccountsFailed         = "ServiceAccountSyncFailed"
	reasonRuntimeFailed          = "RuntimeResourceApplyFailed"
	reasonWebhooksFailed         = "WebhookApplyFailed"
	reasonRolling                = "ClusterManagerDeploymentRolling"
	reasonUpToDate               = "ClusterManagerUpToDate"
	reasonRegistrationFunctional = "RegistrationFunctional"
	reasonRegistrationPods       = "UnavailableRegistrationPod"
	reasonRegistrationMissing    = "GetRegistrationDeploymentFailed"
	reasonPlacementFunctional    = "PlacementFunctional"
	reasonPlacementPods          = "UnavailablePlacementPod"
	reasonPlacementMissing       = "GetPlacementDeploymentFailed"
	reasonGatesValid             = "FeatureGatesAllValid"
	reasonGatesInvalid           = "InvalidFeatureGatesExisting"
	reasonSettingsHonoured       = "SettingsHonoured"
	reasonSettingsIgnored        = "SettingsIgnored"
	reasonMigrationDone          = "StorageVersionMigrationSucceed"
	reasonMigrationFailed        = "StorageVersionMigrationFailed"
	reasonRemovalFailed          = "RemovalFailed"
)

func set(cm *ocmoperatorv1.ClusterManager, kind string, status bool, reason, message string) {
	value := metav1.ConditionFalse
	if status {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&cm.Status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: cm.Generation,
	})
}

// setGates says whether every feature gate is known.
func setGates(cm *ocmoperatorv1.ClusterManager, unknown []string) {
	if len(unknown) > 0 {
		set(cm, ocmoperatorv1.ConditionValidFeatureGates, false, reasonGatesInvalid, component.InvalidGates(unknown))
		return
	}
	set(cm, ocmoperatorv1.ConditionValidFeatureGates, true, reasonGatesValid, "Feature gates are all valid")
}

// setUnsupported names what is asked for and not acted on.
func setUnsupported(cm *ocmoperatorv1.ClusterManager, notes []string) {
	if len(notes) > 0 {
		set(cm, ConditionNotSupported, true, reasonSettingsIgnored, strings.Join(notes, "\n"))
		return
	}
	set(cm, ConditionNotSupported, false, reasonSettingsHonoured, "All settings are acted on")
}

// setProgress tells whether any Deployment rolls, and how the hub itself is doing: it does both registration and placement.
func setProgress(cm *ocmoperatorv1.ClusterManager, hub component.Rollout, webhooks ...component.Rollout) (rolling bool) {
	var unfinished []string
	for _, r := range append([]component.Rollout{hub}, webhooks...) {
		if !r.Done() {
			unfinished = append(unfinished, r.Name)
		}
	}
	rolling = len(unfinished) > 0
	if rolling {
		set(cm, ocmoperatorv1.ConditionProgressing, true, reasonRolling, "These deployments are not up to date yet: "+strings.Join(unfinished, ", "))
	} else {
		set(cm, ocmoperatorv1.ConditionProgressing, false, reasonUpToDate, "Components of cluster manager are up to date")
	}
	degraded := func(kind, missing, pods, good, goodMessage, what string) {
		switch {
		case hub.Missing:
			set(cm, kind, true, missing, fmt.Sprintf("There is no deployment %q %q", hub.Namespace, hub.Name))
		case hub.Unavailable() > 0:
			set(cm, kind, true, pods, fmt.Sprintf("%d of requested instances are unavailable of %s deployment %q %q", hub.Unavailable(), what, hub.Namespace, hub.Name))
		default:
			set(cm, kind, false, good, goodMessage)
		}
	}
	degraded(ocmoperatorv1.ConditionHubRegistrationDegraded, reasonRegistrationMissing, reasonRegistrationPods, reasonRegistrationFunctional,
		"Registration is managing credentials", "registration")
	degraded(ocmoperatorv1.ConditionHubPlacementDegraded, reasonPlacementMissing, reasonPlacementPods, reasonPlacementFunctional,
		"Placement is scheduling placement decisions", "placement")
	return rolling
}
