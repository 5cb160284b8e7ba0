package apis_test

import (
	"testing"

	"muster.dev/muster/backend/apis"
)

func TestNamesThatHoldAClusterName(t *testing.T) {
	for name, test := range map[string]struct {
		parse       func(string) (string, bool)
		in, cluster string
	}{
		"execution space":       {apis.ClusterOfExecutionSpace, apis.ExecutionSpace("m1"), "m1"},
		"prefix alone":          {apis.ClusterOfExecutionSpace, "karmada-es-", ""},
		"other namespace":       {apis.ClusterOfExecutionSpace, "karmada-system", ""},
		"agent":                 {apis.ClusterOfAgent, "system:karmada:agent:m1", "m1"},
		"agent without cluster": {apis.ClusterOfAgent, "system:karmada:agent:", ""},
		"registration helper":   {apis.ClusterOfAgent, "system:karmada:agent:rbac-generator", ""},
		"agents' group":         {apis.ClusterOfAgent, "system:karmada:agents", ""},
		"somebody else":         {apis.ClusterOfAgent, "system:admin", ""},
	} {
		if cluster, ok := test.parse(test.in); cluster != test.cluster || ok != (test.cluster != "") {
			t.Errorf("%s: %q holds %q, %v; want %q", name, test.in, cluster, ok, test.cluster)
		}
	}
}
