package klusterlet

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/component"
)

// Types of conditions that the original does not have.
const (
	// ConditionNotSupported is True when the resource asks for something that we do not act on.
	ConditionNotSupported = "NotSupported"
	// ConditionCleanupBlocked is True while removal waits, and says what for.
	ConditionCleanupBlocked = "CleanupBlocked"
)

// Reasons of those conditions.
const (
	reasonPrepared              = "KlusterletPrepared"
	reasonPrepareFailed         = "KlusterletPrepareFailed"
	reasonApplied               = "KlusterletApplied"
	reasonApplyFailed           = "KlusterletApplyFailed"
	reasonKindsFailed           = "CRDApplyFailed"
	reasonManagedFailed         = "ManagedClusterResourceApplyFailed"
	reasonManagementFailed      = "ManagementClusterResourceApplyFailed"
	reasonAvailable             = "KlusterletAvailable"
	reasonNoPods                = "NoAvailablePods"
	reasonNoDeployment          = "GetDeploymentFailed"
	reasonFunctional            = "DeploymentsFunctional"
	reasonUnavailablePods       = "UnavailablePods"
	reasonConnected             = "HubConnectionFunctional"
	reasonGatesValid            = "FeatureGatesAllValid"
	reasonGatesInvalid          = "InvalidFeatureGatesExisting"
	reasonSettingsHonoured      = "SettingsHonoured"
	reasonSettingsIgnored       = "SettingsIgnored"
	reasonCleaningUp            = "CleaningUp"
	reasonPodsRemain            = "AgentPodsRemain"
	reasonManagedUnreachable    = "ManagedClusterUnreachable"
	reasonAppliedWorksRemain    = "AppliedManifestWorksRemain"
	reasonRemovalFailed         = "RemovalFailed"
	bootstrapSecretMissing      = "BootstrapSecretMissing"
	bootstrapSecretError        = "BootstrapSecretError"
	bootstrapSecretUnauthorized = "BootstrapSecretUnauthorized"
	bootstrapSecretFunctional   = "BootstrapSecretFunctional"
	hubSecretMissing            = "HubKubeConfigSecretMissing"
	hubKubeconfigMissing        = "HubKubeConfigMissing"
	hubKubeconfigError          = "HubKubeConfigError"
	hubKubeconfigUnauthorized   = "HubKubeConfigUnauthorized"
	clusterNameMissing          = "ClusterNameMissing"
)

func set(k *ocmoperatorv1.Klusterlet, kind string, status bool, reason, message string) {
	value := metav1.ConditionFalse
	if status {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&k.Status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: k.Generation,
	})
}

// setGates says whether every feature gate is known.
func setGates(k *ocmoperatorv1.Klusterlet, unknown []string) {
	if len(unknown) > 0 {
		set(k, ocmoperatorv1.ConditionValidFeatureGates, false, reasonGatesInvalid, component.InvalidGates(unknown))
		return
	}
	set(k, ocmoperatorv1.ConditionValidFeatureGates, true, reasonGatesValid, "Feature gates are all valid")
}

// setUnsupported names what is asked for and not acted on.
func setUnsupported(k *ocmoperatorv1.Klusterlet, notes []string) {
	if len(notes) > 0 {
		set(k, ConditionNotSupported, true, reasonSettingsIgnored, strings.Join(notes, "\n"))
		return
	}
	set(k, ConditionNotSupported, false, reasonSettingsHonoured, "All settings are acted on")
}

// setAvailability tells how the Deployments are doing; work is the same as registration where one Deployment does both.
func setAvailability(k *ocmoperatorv1.Klusterlet, registration, work component.Rollout) {
	rollouts := []component.Rollout{registration, work}
	if registration.Name == work.Name {
		rollouts = rollouts[:1]
	}
	setAvailable(k, rollouts)
	setDegraded(k, ocmoperatorv1.ConditionRegistrationDesiredDegraded, registration)
	setDegraded(k, ocmoperatorv1.ConditionWorkDesiredDegraded, work)
}

func setAvailable(k *ocmoperatorv1.Klusterlet, rollouts []component.Rollout) {
	names := make([]string, 0, len(rollouts))
	for _, r := range rollouts {
		switch {
		case r.Missing:
			set(k, ocmoperatorv1.ConditionAvailable, false, reasonNoDeployment, fmt.Sprintf("There is no deployment %q %q", r.Namespace, r.Name))
			return
		case r.Available == 0:
			set(k, ocmoperatorv1.ConditionAvailable, false, reasonNoPods, fmt.Sprintf("0 of requested instances are available of deployment %q %q", r.Namespace, r.Name))
			return
		}
		names = append(names, r.Name)
	}
	set(k, ocmoperatorv1.ConditionAvailable, true, reasonAvailable, "deployments are ready: "+strings.Join(names, ","))
}

func setDegraded(k *ocmoperatorv1.Klusterlet, kind string, r component.Rollout) {
	switch {
	case r.Missing:
		set(k, kind, true, reasonNoDeployment, fmt.Sprintf("There is no deployment %q %q", r.Namespace, r.Name))
	case r.Unavailable() > 0:
		set(k, kind, true, reasonUnavailablePods, fmt.Sprintf("%d of requested instances are unavailable of deployment %q %q", r.Unavailable(), r.Namespace, r.Name))
	case r.Desired > 0 && !r.Observed:
		set(k, kind, true, reasonUnavailablePods, fmt.Sprintf("The requested instances are not rolled out yet of deployment %q %q", r.Namespace, r.Name))
	default:
		set(k, kind, false, reasonFunctional, fmt.Sprintf("deployments replicas are desired: %d", r.Desired))
	}
}
