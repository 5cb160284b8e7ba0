package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster.dev/muster/backend/fault"
)

// Gates are the features that can be switched (contract section 7.7), under the
// names Karmada gives them on its command line.
type Gates struct {
	// Failover moves workloads away from clusters that do not answer.
	Failover bool
	// PropagationPolicyPreemption lets a policy take templates from another one.
	PropagationPolicyPreemption bool
	// GracefulEviction keeps the old copy until the new one is healthy.
	GracefulEviction bool
	// PropagateDeps ships what a workload refers to along with it.
	PropagateDeps bool
	// PriorityBasedScheduling schedules bindings of a higher priority first.
	PriorityBasedScheduling bool
	// FederatedQuotaEnforcement refuses bindings that exceed a quota.
	FederatedQuotaEnforcement bool
	// StatefulFailoverInjection carries state from the old copy to the new one.
	StatefulFailoverInjection bool
	// MultiplePodTemplatesScheduling schedules workloads of several pod templates.
	MultiplePodTemplatesScheduling bool
	// WorkloadAffinity keeps groups of workloads together or apart.
	WorkloadAffinity bool
	// SchedulingOvercommitProtection reckons with what was given to clusters and is not
	// known to run there yet.
	SchedulingOvercommitProtection bool
}

// DefaultGates are the gates as Karmada ships them.
func DefaultGates() Gates {
	return Gates{GracefulEviction: true, PropagateDeps: true, PriorityBasedScheduling: true}
}

// idleGates are gates of Karmada that switch nothing here: what they guard either
// works always, or is not part of Muster.
var idleGates = []string{
	"AllAlpha", "AllBeta", "ContextualLogging", "ControllerPriorityQueue", "CustomizedClusterResourceModeling", "LoggingAlphaOptions", "LoggingBetaOptions",
	"MultiClusterService", "ResourceQuotaEstimate",
}

// IdleGates are those gates of a text that ParseGates accepts and that have no
// effect.
func IdleGates(text string) []string {
	var idle []string
	for _, pair := range strings.Split(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); slices.Contains(idleGates, name) && !slices.Contains(idle, name) {
			idle = append(idle, name)
		}
	}
	return idle
}

// ParseGates reads "Failover=true,WorkloadAffinity=true", the form of Karmada's
// flag --feature-gates. What is not named keeps its default. IdleGates are accepted
// too, so that a command line of Karmada works as it is.
func ParseGates(text string) (Gates, error) {
	gates := DefaultGates()
	byName := gates.byName()
	for _, pair := range strings.Split(text, ",") {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		gate, known := byName[name]
		if slices.Contains(idleGates, name) {
			gate, known = new(bool), true
		}
		if !known {
			return Gates{}, fault.Invalid("feature gate %q is not known: use one of %s", name, strings.Join(gateNames(byName), ", "))
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return Gates{}, fault.Invalid("feature gate %s: %q is neither true nor false: write %s=true", name, value, name)
		}
		*gate = on
	}
	return gates, nil
}

// String is the form ParseGates reads, with every gate named.
func (g Gates) String() string {
	byName := g.byName()
	pairs := make([]string, 0, len(byName))
	for _, name := range gateNames(byName) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, *byName[name]))
	}
	return strings.Join(pairs, ",")
}

func (g *Gates) byName() map[string]*bool {
	return map[string]*bool{
		"Failover":                       &g.Failover,
		"PropagationPolicyPreemption":    &g.PropagationPolicyPreemption,
		"GracefulEviction":               &g.GracefulEviction,
		"PropagateDeps":                  &g.PropagateDeps,
		"PriorityBasedScheduling":        &g.PriorityBasedScheduling,
		"FederatedQuotaEnforcement":      &g.FederatedQuotaEnforcement,
		"StatefulFailoverInjection":      &g.StatefulFailoverInjection,
		"MultiplePodTemplatesScheduling": &g.MultiplePodTemplatesScheduling,
		"WorkloadAffinity":               &g.WorkloadAffinity,
		"SchedulingOvercommitProtection": &g.SchedulingOvercommitProtection,
	}
}

func gateNames(byName map[string]*bool) []string {
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
