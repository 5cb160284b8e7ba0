package main

import (
	"testing"

	"github.com/spf13/pflag"

	"muster.dev/muster/backend/fault"
)

func TestChoosePlane(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args     []string
		external bool
		refused  bool
	}{
		"nothing said":              {nil, false, false},
		"embedded":                  {[]string{"--plane=embedded"}, false, false},
		"a kubeconfig":              {[]string{"--kubeconfig=f"}, true, false},
		"in a pod":                  {[]string{"--plane=external", "--webhooks-only"}, true, false},
		"unknown":                   {[]string{"--plane=other"}, false, true},
		"flag of the other plane":   {[]string{"--sign-csrs"}, false, true},
		"kubeconfig, yet embedded":  {[]string{"--plane=embedded", "--kubeconfig=f"}, false, true},
		"an address of its own API": {[]string{"--kubeconfig=f", "--listen=127.0.0.1:1"}, false, true},
	} {
		flags, set := &planeFlags{}, pflag.NewFlagSet(name, pflag.ContinueOnError)
		set.String("listen", "", "address of the hub API")
		flags.add(set)
		if err := set.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		chosen, err := flags.choose(set)
		known, _ := fault.As(err)
		if (chosen != nil) != test.external || (err != nil) != test.refused || err != nil && known.Fix == "" {
			t.Errorf("%s: chose %v, %v", name, chosen, err)
		}
	}
}
