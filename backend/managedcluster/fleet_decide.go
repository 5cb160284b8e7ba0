package managedcluster

import (
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/registration"
)

// fleetStep is what there is to do for the two objects of one name.
type fleetStep string

const (
	// stepNone: nothing to mirror, or both speak for themselves.
	stepNone fleetStep = "none"
	// stepBringCluster makes or changes the Cluster of an OCM member.
	stepBringCluster fleetStep = "bring-cluster"
	// stepBringManaged makes or changes the ManagedCluster of a Karmada member.
	stepBringManaged fleetStep = "bring-managed"
	// stepDropCluster and stepDropManaged remove a mirror whose member is going or gone.
	stepDropCluster fleetStep = "drop-cluster"
	stepDropManaged fleetStep = "drop-managed"
	// stepRemoveManaged and stepRemoveCluster remove a member whose mirror somebody
	// has deleted.
	stepRemoveManaged fleetStep = "remove-managed"
	stepRemoveCluster fleetStep = "remove-cluster"
)

// decide says what there is to do for a Cluster and a ManagedCluster of one name,
// either of which may be nil.
//
//	            ManagedCluster   none      native            mirror
//	Cluster
//	none                         –         bring, if         drop
//	                                       accepted
//	native                       bring     –                 bring; origin goes: drop; mirror goes: remove
//	mirror                       drop      bring; likewise   –
func decide(cluster *clusterv1alpha1.Cluster, managed *ocmv1.ManagedCluster) fleetStep {
	switch {
	case cluster == nil && managed == nil:
		return stepNone
	case managed == nil:
		return decideAlone(registration.Mirrored(cluster), cluster.DeletionTimestamp != nil, true, stepBringManaged, stepDropCluster)
	case cluster == nil:
		return decideAlone(registration.Mirrored(managed), managed.DeletionTimestamp != nil, managed.Spec.HubAcceptsClient, stepBringCluster, stepDropManaged)
	}
	clusterGoes, managedGoes := cluster.DeletionTimestamp != nil, managed.DeletionTimestamp != nil
	switch mirroredCluster, mirroredManaged := registration.Mirrored(cluster), registration.Mirrored(managed); {
	case mirroredCluster == mirroredManaged:
		return stepNone // two members of one name, or two mirrors of none: neither follows the other
	case mirroredCluster && managedGoes:
		return stepDropCluster
	case mirroredCluster && clusterGoes:
		return stepRemoveManaged
	case mirroredCluster:
		return stepBringCluster
	case clusterGoes:
		return stepDropManaged
	case managedGoes:
		return stepRemoveCluster
	}
	return stepBringManaged
}

// decideAlone is about an object without the other one of its name.
func decideAlone(mirror, goes, accepted bool, bring, drop fleetStep) fleetStep {
	switch {
	case mirror:
		return drop
	case goes || !accepted:
		return stepNone
	}
	return bring
}
