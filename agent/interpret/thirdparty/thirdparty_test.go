package thirdparty_test

import (
	"os"
	"testing"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/agent/interpret/thirdparty"
)

func TestMain(m *testing.M) {
	interpret.RunSandboxIfAsked()
	os.Exit(m.Run())
}

func TestScriptsCanBeRun(t *testing.T) {
	i := interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox()})
	t.Cleanup(i.Close)
	kinds := map[string]bool{}
	for _, c := range thirdparty.Customizations() {
		kind := c.Spec.Target.APIVersion + " " + c.Spec.Target.Kind
		if kinds[kind] {
			t.Errorf("%s is there twice", kind)
		}
		kinds[kind] = true
		for _, f := range i.Check(t.Context(), &c) {
			if f.Err != nil {
				t.Errorf("%s, %s: %v", c.Name, f.Operation, f.Err)
			}
		}
	}
	if len(kinds) < 40 {
		t.Errorf("%d kinds: %v", len(kinds), kinds)
	}
}
