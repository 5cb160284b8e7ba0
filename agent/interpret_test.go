package agent_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/agent/interpret"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

func TestMain(m *testing.M) {
	interpret.RunSandboxIfAsked()
	os.Exit(m.Run())
}

// TestAgentLearnsKinds: customizations of the hub reach the agent, which looks at
// the objects of the kind anew; trouble with one is told, and overcome.
func TestAgentLearnsKinds(t *testing.T) {
	h := startHub(t)
	h.run(h.newMember(time.Hour))
	h.createWork("shop", shop)
	h.createWork("settings", settings("1"))
	h.eventually("both are applied", func() bool { return h.applied("shop")() && h.applied("settings")() })
	entry := func() workv1alpha1.ManifestStatus { return h.work("settings").Status.ManifestStatuses[0] }
	if e := entry(); e.Health != workv1alpha1.ResourceHealthy || e.Status != nil {
		t.Errorf("native: %+v", e)
	}

	teach := func(health, status string) {
		c := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: "maps"}}
		c.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: "v1", Kind: "ConfigMap"}
		c.Spec.Customizations.HealthInterpretation = &configv1alpha1.HealthInterpretation{LuaScript: health}
		c.Spec.Customizations.StatusReflection = &configv1alpha1.StatusReflection{LuaScript: status}
		h.interpreter.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{c})
	}
	unhealthy := `function InterpretHealth(o) return o.data.k ~= "1" end`
	told := `function ReflectStatus(o) return {k = o.data.k} end`
	teach(unhealthy, told)
	h.eventually("the customization counts", func() bool {
		e := entry()
		return e.Health == workv1alpha1.ResourceUnhealthy && e.Status != nil && string(e.Status.Raw) == `{"k":"1"}`
	})

	degraded := func() *metav1.Condition {
		return meta.FindStatusCondition(h.work("settings").Status.Conditions, workv1alpha1.WorkDegraded)
	}
	teach(unhealthy, `function ReflectStatus(o) while true do end end`)
	h.eventually("the runaway script is named", func() bool {
		c := degraded()
		return c != nil && c.Status == "True" && c.Reason == workv1alpha1.ReasonReflectStatusFailed &&
			strings.Contains(c.Message, "customization maps, InterpretStatus of v1 ConfigMap shop/settings") && strings.Contains(c.Message, "look for a loop")
	})
	if e := entry(); e.Status == nil || string(e.Status.Raw) != `{"k":"1"}` {
		t.Errorf("the last status is lost: %+v", e)
	}
	if !meta.IsStatusConditionTrue(h.work("settings").Status.Conditions, "Applied") {
		t.Error("it is applied all the same")
	}

	teach(unhealthy, told)
	h.eventually("the trouble is over", func() bool { return degraded().Status == "False" })
	h.interpreter.SetCustomizations(nil)
	h.eventually("the native rules count again", func() bool { return entry().Health == workv1alpha1.ResourceHealthy })
}
