package manifestwork_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	"muster.dev/muster/backend/manifestwork"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// batches reads groups such as "canary: s p t; : t t": s succeeded, p progressing,
// f failed, t to apply, x timed out; each has been so for a minute.
func batches(text string) []manifestwork.Batch {
	progress := map[byte]manifestwork.Progress{
		's': manifestwork.Succeeded, 'p': manifestwork.Progressing, 'f': manifestwork.Failed, 't': manifestwork.ToApply, 'x': manifestwork.TimedOut,
	}
	var out []manifestwork.Batch
	number := 0
	for i, group := range strings.Split(text, ";") {
		name, members, _ := strings.Cut(group, ":")
		b := manifestwork.Batch{Name: strings.TrimSpace(name), Index: int32(i)}
		for _, m := range strings.Fields(members) {
			b.Members = append(b.Members, manifestwork.Member{Cluster: fmt.Sprintf("c%d", number), Progress: progress[m[0]], Since: noon.Add(-time.Minute)})
			number++
		}
		out = append(out, b)
	}
	return out
}

func all(config ocmv1alpha1.RolloutConfig) ocmv1alpha1.RolloutStrategy {
	return ocmv1alpha1.RolloutStrategy{Type: ocmv1alpha1.RolloutAll, All: &ocmv1alpha1.RolloutAllStrategy{RolloutConfig: config}}
}

func progressive(config ocmv1alpha1.RolloutConfig, width intstr.IntOrString, mandatory ...ocmv1alpha1.MandatoryDecisionGroup) ocmv1alpha1.RolloutStrategy {
	return ocmv1alpha1.RolloutStrategy{Type: ocmv1alpha1.RolloutProgressive, Progressive: &ocmv1alpha1.RolloutProgressiveStrategy{
		RolloutConfig: config, MaxConcurrency: width, MandatoryDecisionGroups: ocmv1alpha1.MandatoryDecisionGroups{MandatoryDecisionGroups: mandatory},
	}}
}

func perGroup(config ocmv1alpha1.RolloutConfig, mandatory ...ocmv1alpha1.MandatoryDecisionGroup) ocmv1alpha1.RolloutStrategy {
	return ocmv1alpha1.RolloutStrategy{Type: ocmv1alpha1.RolloutProgressivePerGroup, ProgressivePerGroup: &ocmv1alpha1.RolloutProgressivePerGroupStrategy{
		RolloutConfig: config, MandatoryDecisionGroups: ocmv1alpha1.MandatoryDecisionGroups{MandatoryDecisionGroups: mandatory},
	}}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	var plain ocmv1alpha1.RolloutConfig
	soak := func(d time.Duration) ocmv1alpha1.RolloutConfig {
		return ocmv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: d}}
	}
	failures := func(n string) ocmv1alpha1.RolloutConfig {
		return ocmv1alpha1.RolloutConfig{MaxFailures: intstr.Parse(n)}
	}
	deadline := func(text, failures string) ocmv1alpha1.RolloutConfig {
		return ocmv1alpha1.RolloutConfig{ProgressDeadline: text, MaxFailures: intstr.Parse(failures)}
	}
	canary, second := ocmv1alpha1.MandatoryDecisionGroup{GroupName: "canary"}, ocmv1alpha1.MandatoryDecisionGroup{GroupIndex: 1}
	none := intstr.IntOrString{}
	for name, c := range map[string]struct {
		strategy ocmv1alpha1.RolloutStrategy
		groups   string
		apply    string
		done     bool
		stopped  bool
		again    time.Duration
	}{
		"nothing said":                   {strategy: ocmv1alpha1.RolloutStrategy{}, groups: ": t s; : t", apply: "c0 c2"},
		"all":                            {strategy: all(plain), groups: ": t t f; : t", apply: "c0 c1 c3"},
		"all done":                       {strategy: all(plain), groups: ": s s; : s", done: true},
		"all but one failed":             {strategy: all(plain), groups: ": s f"},
		"nobody":                         {strategy: all(plain), groups: ":", done: true},
		"progressive by number":          {strategy: progressive(plain, intstr.FromInt32(2)), groups: ": t t t; : t", apply: "c0 c1"},
		"progressive by percentage":      {strategy: progressive(plain, intstr.FromString("50%")), groups: ": t t t; : t", apply: "c0 c1"},
		"progressive, a tiny percentage": {strategy: progressive(plain, intstr.FromString("1%")), groups: ": t t t", apply: "c0"},
		"progressive, by group size":     {strategy: progressive(plain, none), groups: ": t t; : t", apply: "c0 c1"},
		"progressive, busy":              {strategy: progressive(plain, intstr.FromInt32(2)), groups: ": s p t t", apply: "c2"},
		"progressive, full":              {strategy: progressive(plain, intstr.FromInt32(1)), groups: ": s p t t"},
		"progressive, over":              {strategy: progressive(plain, intstr.FromInt32(1)), groups: ": s s", done: true},
		"a failure stops it":             {strategy: progressive(plain, intstr.FromInt32(2)), groups: ": s f t", stopped: true},
		"a failure is allowed":           {strategy: progressive(failures("1"), intstr.FromInt32(2)), groups: ": s f t", apply: "c2"},
		"a tenth may fail":               {strategy: progressive(failures("10%"), intstr.FromInt32(1)), groups: ": f t t t t t t t t t", apply: "c1"},
		"of fewer one may":               {strategy: progressive(failures("10%"), intstr.FromInt32(1)), groups: ": f t t", apply: "c1"},
		"but not two":                    {strategy: progressive(failures("10%"), intstr.FromInt32(1)), groups: ": f f t", stopped: true},
		"a percentage is rounded up":     {strategy: progressive(plain, intstr.FromString("50%")), groups: ": t t t", apply: "c0 c1"},
		"none at all":                    {strategy: progressive(failures("0%"), intstr.FromInt32(1)), groups: ": f t t", stopped: true},
		"it ends with a failure":         {strategy: progressive(failures("1"), intstr.FromInt32(2)), groups: ": s f"},
		"well for long enough":           {strategy: progressive(soak(time.Minute), intstr.FromInt32(1)), groups: ": s t", apply: "c1"},
		"not yet":                        {strategy: progressive(soak(90*time.Second), intstr.FromInt32(1)), groups: ": s t", again: 30 * time.Second},
		"too slow":                       {strategy: progressive(deadline("30s", "0"), intstr.FromInt32(2)), groups: ": p t", stopped: true},
		"too slow, allowed":              {strategy: progressive(deadline("1m", "1"), intstr.FromInt32(1)), groups: ": p t", apply: "c1"},
		"slow":                           {strategy: progressive(deadline("2m", "0"), intstr.FromInt32(1)), groups: ": p t", again: time.Minute},
		"no deadline":                    {strategy: progressive(deadline("None", "0"), intstr.FromInt32(1)), groups: ": p t"},
		"timed out before":               {strategy: progressive(plain, intstr.FromInt32(1)), groups: ": x t", stopped: true},
		"mandatory first":                {strategy: progressive(plain, intstr.FromInt32(1), canary), groups: ": t t; canary: t t", apply: "c2 c3"},
		"mandatory by index":             {strategy: progressive(plain, intstr.FromInt32(1), second), groups: ": t t; : t t", apply: "c2 c3"},
		"mandatory at work":              {strategy: progressive(plain, intstr.FromInt32(1), canary), groups: ": t t; canary: s p"},
		"after the mandatory":            {strategy: progressive(plain, intstr.FromInt32(1), canary), groups: ": t t; canary: s s", apply: "c0"},
		"a mandatory failure":            {strategy: progressive(failures("3"), intstr.FromInt32(1), canary), groups: ": t t; canary: s f", stopped: true},
		"several mandatory, in order":    {strategy: progressive(plain, intstr.FromInt32(1), canary, second), groups: "canary: s; : t; : t", apply: "c1"},
		"group by group":                 {strategy: perGroup(plain), groups: ": s s; : t t; : t", apply: "c2 c3"},
		"a group at work":                {strategy: perGroup(plain), groups: ": s p; : t t"},
		"a group that failed":            {strategy: perGroup(plain), groups: ": s f; : t t", stopped: true},
		"failures add up":                {strategy: perGroup(failures("1")), groups: ": s f; : f s; : t", stopped: true},
		"failures within":                {strategy: perGroup(failures("2")), groups: ": s f; : f s; : t", apply: "c4"},
		"mandatory groups first":         {strategy: perGroup(plain, canary), groups: ": t; canary: t; : t", apply: "c1"},
		"all groups":                     {strategy: perGroup(plain, canary), groups: ": s; canary: s; : s", done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step, err := manifestwork.Advance(&c.strategy, batches(c.groups), noon)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(step.Apply, " "); got != c.apply {
				t.Errorf("applies %q, want %q", got, c.apply)
			}
			if step.Done != c.done || (step.Stopped != "") != c.stopped {
				t.Errorf("done %t, stopped %q; want %t, %t", step.Done, step.Stopped, c.done, c.stopped)
			}
			var again time.Duration
			if !step.Again.IsZero() {
				again = step.Again.Sub(noon)
			}
			if again != c.again {
				t.Errorf("again in %s, want %s", again, c.again)
			}
		})
	}
}

func TestAdvanceRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]ocmv1alpha1.RolloutStrategy{
		"type":     {Type: "Sometimes"},
		"width":    progressive(ocmv1alpha1.RolloutConfig{}, intstr.FromString("many")),
		"deadline": progressive(ocmv1alpha1.RolloutConfig{ProgressDeadline: "soon"}, intstr.FromInt32(1)),
		"failures": perGroup(ocmv1alpha1.RolloutConfig{MaxFailures: intstr.FromString("101%")}),
	} {
		if _, err := manifestwork.Advance(&strategy, batches(": t"), noon); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
