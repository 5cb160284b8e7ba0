package apply_test

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/agent/apply"
	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/agentapi"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

func TestMain(m *testing.M) {
	interpret.RunSandboxIfAsked()
	os.Exit(m.Run())
}

// TestOneAckADelivery: where nothing in the member is left to change the object,
// Applied and its status are told at once, and the watch's echo is no news.
func TestOneAckADelivery(t *testing.T) {
	b := startWorker(t)
	b.begin(false)
	b.deliver(work(t, "shop", shop), 1)
	b.deliver(work(t, "settings", settings), 2)
	b.deliver(work(t, "account", `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}}`), 3)
	told := map[string]int{}
	for len(told) < 3 {
		ack := b.await("applied", func(a *agentapi.Ack) bool { return applied(a) })
		told[ack.Name]++
		if len(ack.ManifestStatuses) != 1 || ack.ManifestStatuses[0].Health != workv1alpha1.ResourceHealthy {
			t.Errorf("%s is not told whole: %+v", ack.Name, ack.ManifestStatuses)
		}
	}
	b.noAck()
	for name, n := range told {
		if n != 1 {
			t.Errorf("%s is told %d times", name, n)
		}
	}
}

// TestInterpreter: an applier keeps, reports and judges as its interpreter says,
// and tells what cannot be interpreted.
func TestInterpreter(t *testing.T) {
	i := interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox()})
	t.Cleanup(i.Close)
	teach := func(retain, status string) {
		c := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: "maps"}}
		c.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: "v1", Kind: "ConfigMap"}
		c.Spec.Customizations.Retention = &configv1alpha1.LocalValueRetention{LuaScript: retain}
		c.Spec.Customizations.StatusReflection = &configv1alpha1.StatusReflection{LuaScript: status}
		i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{c})
	}
	const keeps = `function Retain(desiredObj, observedObj) desiredObj.data.k = observedObj.data.k return desiredObj end`
	teach(keeps, `function ReflectStatus(o) return {k = o.data.k} end`)

	m := membertest.New(t)
	a, err := apply.New(m.Config(), apply.WithInterpreter(i))
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, a, work(t, "shop", shop))
	w := work(t, "settings", settings)
	status := mustApply(t, a, w)
	if got := string(status.ManifestStatuses[0].Status.Raw); got != `{"k":"v"}` || meta.FindStatusCondition(status.Conditions, workv1alpha1.WorkDegraded) != nil {
		t.Errorf("status %s, conditions %+v", got, status.Conditions)
	}
	o := m.Get("ConfigMap", "shop", "settings")
	o.Object["data"] = map[string]any{"k": "of the member", "drift": "x"}
	m.Put(o)
	if status = mustApply(t, a, w); string(status.ManifestStatuses[0].Status.Raw) != `{"k":"of the member"}` {
		t.Errorf("not kept: %s", status.ManifestStatuses[0].Status.Raw)
	}
	if data := m.Get("ConfigMap", "shop", "settings").Object["data"].(map[string]any); len(data) != 1 || data["k"] != "of the member" {
		t.Errorf("the member has %v", data)
	}

	w.Status = status
	teach(keeps, `function ReflectStatus(o) return o.none.k end`)
	status, err = a.Apply(t.Context(), w)
	c := meta.FindStatusCondition(status.Conditions, workv1alpha1.WorkDegraded)
	if err == nil || c == nil || c.Status != "True" || c.Reason != workv1alpha1.ReasonReflectStatusFailed || !strings.Contains(c.Message, "customization maps") ||
		!meta.IsStatusConditionTrue(status.Conditions, "Applied") || string(status.ManifestStatuses[0].Status.Raw) != `{"k":"of the member"}` {
		t.Errorf("trouble with the status: %v, %+v", err, status)
	}
	w.Status = status
	teach(`function Retain() return nil end`, `function ReflectStatus(o) return {} end`)
	w.Spec.Workload.Manifests[0].Raw = []byte(strings.Replace(string(w.Spec.Workload.Manifests[0].Raw), `"v"`, `"w"`, 1))
	status, err = a.Apply(t.Context(), w)
	if err == nil || meta.IsStatusConditionTrue(status.Conditions, "Applied") || !strings.Contains(err.Error(), "customization maps, Retain of v1 ConfigMap shop/settings") {
		t.Errorf("trouble with keeping: %v, %+v", err, status.Conditions)
	}
	if c := meta.FindStatusCondition(status.Conditions, workv1alpha1.WorkDegraded); c == nil || c.Status != "False" {
		t.Errorf("the status is well again: %+v", c)
	}
}
