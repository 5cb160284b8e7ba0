package component

import (
	"fmt"
	"slices"
	"strings"
)

// Gates are the feature gates of one component of the original and whether each is on by default.
type Gates map[string]bool

// Wish is one feature gate as a custom resource names it.
type Wish struct {
	Feature string
	Enable  bool
}

// Resolve says which gates are on, and which names nobody knows: those are reported and otherwise ignored.
func (g Gates) Resolve(wishes []Wish) (on map[string]bool, unknown []string) {
	on = make(map[string]bool, len(g))
	for name, enabled := range g {
		on[name] = enabled
	}
	for _, wish := range wishes {
		if _, known := g[wish.Feature]; !known {
			unknown = append(unknown, wish.Feature)
			continue
		}
		on[wish.Feature] = wish.Enable
	}
	slices.Sort(unknown)
	return on, slices.Compact(unknown)
}

// Differences lists the gates that differ from their default as NAME=BOOL, sorted: what a component is told.
func (g Gates) Differences(on map[string]bool) []string {
	var different []string
	for name, enabled := range on {
		if enabled != g[name] {
			different = append(different, fmt.Sprintf("%s=%t", name, enabled))
		}
	}
	slices.Sort(different)
	return different
}

// The gates of contract section 1.9, by component.
var (
	HubRegistrationGates = Gates{
		"DefaultClusterSet": true, "ResourceCleanup": true, "V1beta1CSRAPICompatibility": false,
		"ManagedClusterAutoApproval": false, "ClusterProfile": false, "ClusterImporter": false,
	}
	HubWorkGates = Gates{
		"NilExecutorValidating": false, "ManifestWorkReplicaSet": false, "CloudEventsDrivers": false, "CleanUpCompletedManifestWork": false,
	}
	HubAddOnGates          = Gates{"AddonManagement": true}
	PlacementGates         = Gates{"SIGPlacementDecision": false, "PlacementDebugServer": false}
	AgentRegistrationGates = Gates{
		"ClusterClaim": true, "AddonManagement": true, "ClusterProperty": false, "V1beta1CSRAPICompatibility": false, "MultipleHubs": false,
	}
	AgentWorkGates = Gates{"ExecutorValidatingCaches": false, "RawFeedbackJsonString": false}
)

// InvalidGates words the names that no component knows.
func InvalidGates(names []string) string {
	return "There are invalid feature gates: " + strings.Join(names, ", ")
}
