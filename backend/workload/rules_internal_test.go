package workload

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	parsed := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &parsed.Object); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestImages(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"pod":      {`{kind: Pod, spec: {containers: [{image: a}, {image: b}, {image: a}], initContainers: [{image: c}]}}`, []string{"a", "b", "c"}},
		"template": {`{kind: Deployment, spec: {template: {spec: {containers: [{image: a}]}}}}`, []string{"a"}},
		"cron job": {`{kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: a}]}}}}}}`, []string{"a"}},
		"odd":      {`{kind: X, spec: {containers: [1, {image: 2}], template: [], jobTemplate: x}}`, []string{}},
		"none":     {`{kind: ConfigMap, data: {a: b}}`, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, imagesOf(object(t, test.object))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if len(imagesOf(nil)) != 0 {
		t.Error("nothing has images")
	}
}

func TestReplicasOf(t *testing.T) {
	for text, want := range map[string]int32{
		`{kind: Deployment, spec: {replicas: 3}}`: 3, `{kind: Job, spec: {parallelism: 2, replicas: 9}}`: 2, `{kind: ConfigMap}`: -1, `{kind: X, spec: {replicas: many}}`: -1,
	} {
		n, has := replicasOf(object(t, text))
		if !has {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", text, n, want)
		}
	}
}

func TestReports(t *testing.T) {
	n := func(v int32) *int32 { return &v }
	for kind, test := range map[string]struct {
		report        report
		wanted, ready int32
	}{
		"Deployment": {report{Replicas: n(3), ReadyReplicas: n(2)}, 3, 2},
		"DaemonSet":  {report{DesiredNumberScheduled: n(5), NumberReady: n(4)}, 5, 4},
		"Job":        {report{Replicas: n(0), Active: n(1), Succeeded: n(2)}, 0, 3},
		"ConfigMap":  {report{}, 0, 0},
	} {
		wanted, _ := test.report.wanted(kind)
		ready, _ := test.report.ready(kind)
		if wanted != test.wanted || ready != test.ready {
			t.Errorf("%s: %d of %d", kind, ready, wanted)
		}
	}
}

func TestManyAlikeAreCounted(t *testing.T) {
	var facts []fact.Fact
	for i := range 25 {
		facts = append(facts, fact.Say(fact.LevelWarn, fact.CodeWorkPending, "cluster", fmt.Sprint(i)))
	}
	facts = append(facts, fact.Say(fact.LevelInfo, fact.CodeWorkGoing, "cluster", "x"))
	kept := shorten(facts)
	if len(kept) != alike+2 || kept[alike].Text != "Further clusters are in the same way: 15." || kept[alike+1].Code != fact.CodeWorkGoing {
		t.Errorf("%d facts: %+v", len(kept), kept[len(kept)-2:])
	}
}

func TestPagesAreForgotten(t *testing.T) {
	now := time.Unix(0, 0)
	p := newPages(func() time.Time { return now })
	ref := func(i int) template.Ref { return template.Ref{Kind: "K", Name: fmt.Sprint(i)} }
	all := func(template.Ref) bool { return true }
	none := func(template.Ref) bool { return false }
	for i := range pagesKept + 1 {
		now = now.Add(time.Second)
		p.opened(ref(i), "ada")
	}
	p.allBehind()
	if p.open[ref(0)] != nil || len(p.open) != pagesKept {
		t.Error("the oldest page is kept")
	}
	if len(p.take(none)) != 0 {
		t.Error("nobody reads")
	}
	if got := len(p.take(all)); got != pagesKept {
		t.Errorf("%d are due", got)
	}
	if len(p.take(all)) != 0 {
		t.Error("they are up to date")
	}
	p.behind(ref(1))
	p.behind(ref(0)) // nobody looks at it
	if due := p.take(all); len(due) != 1 || due[0].reader != "ada" {
		t.Errorf("due: %v", due)
	}
	now = now.Add(pageLife + time.Hour)
	p.take(none)
	if len(p.open) != 0 {
		t.Error("pages nobody reads are kept")
	}
}
