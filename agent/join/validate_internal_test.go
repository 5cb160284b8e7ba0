package join

import (
	"strings"
	"testing"
)

// TestValidate refuses what the hub would refuse, before anything is sent.
func TestValidate(t *testing.T) {
	for _, c := range []struct{ name, hub, cluster, namespace, want string }{
		{"all is well", "hub:6443", "paris", "", ""},
		{"the namespace that there is", "hub:6443", "paris", "karmada-cluster", ""},
		{"a namespace of one's own", "hub:6443", "paris", "elsewhere", "--cluster-namespace elsewhere"},
		{"a URL", "https://hub:6443", "paris", "", "HOST:PORT"},
		{"no name", "hub:6443", "Paris", "", "cannot name a cluster"},
		{"a name that is too long", "hub:6443", strings.Repeat("p", 49), "", "cannot name a cluster"},
		{"the helper's name", "hub:6443", "rbac-generator", "", "reserved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Hub: c.hub}
			o.ClusterName, o.ClusterNamespace = c.cluster, c.namespace
			err := o.validate()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
