package tunnel_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/agentapi"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// lesson is a customization by name.
func lesson(name string) configv1alpha1.ResourceInterpreterCustomization {
	c := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: "example.com/v1", Kind: "Thing"}
	return c
}

// TestLessons: what agents have to know about kinds comes before any Work, and
// again when it has changed; agents of protocol 1 are spared.
func TestLessons(t *testing.T) {
	i := interpret.New(interpret.Options{Fed: true})
	h := startHub(t)
	h.stopLink()
	h.interpreters = i
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{lesson("one")})
	i.SetWebhooks(nil)
	h.startLink()
	h.work("a", 1)
	h.eventually("the hub knows the Work", func() bool {
		old := h.open("edge-7")
		old.send(h.hello("one", nil, ""))
		next[*agentapi.Welcome](old)
		_, delivered := take(old).(*agentapi.Work)
		return delivered
	})

	learner := h.open("edge-7")
	greeting := h.hello("one", nil, "")
	greeting.Protocol = agentapi.Protocol
	learner.send(greeting)
	if w := next[*agentapi.Welcome](learner); w.Protocol != agentapi.Protocol {
		t.Errorf("welcome %+v", w)
	}
	names := func(f *agentapi.Interpreters) string {
		text := ""
		customizations, webhooks, err := f.Objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range customizations {
			text += c.Name + " "
		}
		for _, w := range webhooks {
			text += w.Name + " "
		}
		return text
	}
	if f := typed[*agentapi.Interpreters](learner, take(learner)); names(f) != "one " || !f.First || f.More {
		t.Errorf("first %+v", f)
	}
	next[*agentapi.Work](learner)
	next[*agentapi.Synced](learner)

	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{lesson("one")}) // no news
	i.SetWebhooks([]configv1alpha1.ResourceInterpreterWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "hook"}}})
	if f := next[*agentapi.Interpreters](learner); names(f) != "one hook " {
		t.Errorf("changed: %+v", f)
	}
	i.SetCustomizations(nil)
	if f := next[*agentapi.Interpreters](learner); names(f) != "hook " {
		t.Errorf("changed again: %+v", f)
	}
	learner.quiet()
}
