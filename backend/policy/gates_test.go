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
		"":              policy.DefaultGates(),
		"Failover=true": with(func(g *policy.Gates) { g.Failover = true }),
		" Failover = true, WorkloadAffinity=1,GracefulEviction=false,": with(func(g *policy.Gates) {
			g.Failover, g.WorkloadAffinity, g.GracefulEviction = true, true, false
		}),
		"Failover=true,Failover=false":   policy.DefaultGates(),
		policy.DefaultGates().String():   policy.DefaultGates(),
		policy.Gates{}.String():          {},
		"PropagationPolicyPreemption=on": {},
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
