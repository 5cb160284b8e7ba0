package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/policy"
)

func TestParseGates(t *testing.T) {
	with := func(change func(*policy.Gates)) policy.Gates {
		gates := policy.DefaultGates()
		change(&gates)
		return gates
	}
	for text, want := range map[string]policy.Gates{
		"":                                    policy.DefaultGates(),
		"Failover=true":                       with(func(g *policy.Gates) { g.Failover = true }),
		"SchedulingOvercommitProtection=true": with(func(g *policy.Gates) { g.SchedulingOvercommitProtection = true }),
		" Failover = true, WorkloadAffinity=1,GracefulEviction=false,": with(func(g *policy.Gates) {
			g.Failover, g.WorkloadAffinity, g.GracefulEviction = true, true, false
		}),
		"Failover=true,Failover=false":                         policy.DefaultGates(),
		policy.DefaultGates().String():                         policy.DefaultGates(),
		policy.Gates{}.String():                                {},
		"PropagationPolicyPreemption=on":                       {},
		"AllAlpha=on":                                          {},
		"MultiClusterService=true,Failover=true,AllBeta=false": with(func(g *policy.Gates) { g.Failover = true }),
	} {
		got, err := policy.ParseGates(text)
		if broken := strings.HasSuffix(text, "=on"); (err != nil) != broken {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	_, err := policy.ParseGates("Faiover=true")
	if err == nil || !strings.Contains(err.Error(), "Faiover") || !strings.Contains(err.Error(), "Failover, FederatedQuotaEnforcement") {
		t.Errorf("an unknown gate: %v", err)
	}
}

func TestIdleGates(t *testing.T) {
	got := policy.IdleGates("Failover=true, MultiClusterService = true,AllAlpha=false,MultiClusterService=false,Faiover=true,")
	if diff := cmp.Diff([]string{"MultiClusterService", "AllAlpha"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := policy.IdleGates(policy.DefaultGates().String()); got != nil {
		t.Errorf("gates with an effect are called idle: %v", got)
	}
}
