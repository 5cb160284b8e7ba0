package manifestwork

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	deployment := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {paused: true, replicas: 3, template: {spec: {containers: [{name: a, image: "a:1"}, {name: b}]}}}, status: {replicas: 2, availableReplicas: 1}}`
	paths := func(p ...ocmworkv1.JSONPath) []ocmworkv1.FeedbackRule {
		return []ocmworkv1.FeedbackRule{{Type: ocmworkv1.JSONPaths, JSONPaths: p}}
	}
	wellKnown := []ocmworkv1.FeedbackRule{{Type: ocmworkv1.WellKnownStatus}}
	for name, c := range map[string]struct {
		object string
		rules  []ocmworkv1.FeedbackRule
		raw    bool
		want   string // name=value, in order
		fails  string
	}{
		"well known, as far as there": {deployment, wellKnown, false, "Replicas=2 AvailableReplicas=1", ""},
		"well known of a job":         {`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`, wellKnown, false, "JobComplete=True JobSucceeded=1", ""},
		"well known of a pod":         {`{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running, conditions: [{type: Ready, status: "False"}]}}`, wellKnown, false, "PodReady=False PodPhase=Running", ""},
		"not well known":              {`{apiVersion: v1, kind: Secret, metadata: {name: s}}`, wellKnown, false, "", "no well-known status of Secret"},
		"text, number, yes or no":     {deployment, paths(ocmworkv1.JSONPath{Name: "i", Path: ".spec.template.spec.containers[0].image"}, ocmworkv1.JSONPath{Name: "r", Path: "{.spec.replicas}"}, ocmworkv1.JSONPath{Name: "p", Path: ".spec.paused"}), false, "i=a:1 r=3 p=true", ""},
		"missing":                     {deployment, paths(ocmworkv1.JSONPath{Name: "x", Path: ".status.nothing"}), false, "", ""},
		"another version":             {deployment, paths(ocmworkv1.JSONPath{Name: "x", Path: ".spec.replicas", Version: "v2"}), false, "", "version v2"},
		"several":                     {deployment, paths(ocmworkv1.JSONPath{Name: "x", Path: ".spec.template.spec.containers[*].name"}), false, "", "several values"},
		"no path":                     {deployment, paths(ocmworkv1.JSONPath{Name: "x", Path: ".spec["}), false, "", "path .spec["},
		"a map without the gate":      {deployment, paths(ocmworkv1.JSONPath{Name: "x", Path: ".status"}, ocmworkv1.JSONPath{Name: "r", Path: ".spec.replicas"}), false, "r=3", "RawFeedbackJsonString"},
		"a map with the gate":         {deployment, paths(ocmworkv1.JSONPath{Name: "x", Path: ".status"}), true, `x={"availableReplicas":1,"replicas":2}`, ""},
		"too large": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "` + strings.Repeat("x", 1100) + `"}}`,
			paths(ocmworkv1.JSONPath{Name: "x", Path: ".data"}), true, "", "more than 1024"},
	} {
		values, err := feedback(object(t, c.object), c.rules, c.raw)
		var got []string
		for _, v := range values {
			switch v.Value.Type {
			case ocmworkv1.ValueInteger:
				got = append(got, v.Name+"="+itoa(*v.Value.Integer))
			case ocmworkv1.ValueBoolean:
				got = append(got, v.Name+"="+map[bool]string{true: "true", false: "false"}[*v.Value.Boolean])
			case ocmworkv1.ValueString:
				got = append(got, v.Name+"="+*v.Value.String)
			case ocmworkv1.ValueJSONRaw:
				got = append(got, v.Name+"="+*v.Value.JSONRaw)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: error %v, want %q", name, err, c.fails)
		}
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestConditionRules(t *testing.T) {
	t.Parallel()
	job := `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {conditions: [{type: Complete, status: "True"}]}}`
	cel := func(message, expression string, texts ...string) ocmworkv1.ConditionRule {
		return ocmworkv1.ConditionRule{Condition: "C", Type: ocmworkv1.CelConditionExpressions, CelExpressions: texts, Message: message, MessageExpression: expression}
	}
	wellKnown := ocmworkv1.ConditionRule{Condition: "Complete", Type: ocmworkv1.WellKnownConditions}
	for name, c := range map[string]struct {
		object  string
		rule    ocmworkv1.ConditionRule
		none    bool
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"finished job":         {job, wellKnown, false, "True", "ConditionRuleEvaluated", "Job is finished"},
		"unfinished job":       {`{apiVersion: batch/v1, kind: Job, metadata: {name: j}}`, wellKnown, false, "False", "ConditionRuleEvaluated", "Job is not finished"},
		"failed pod":           {`{apiVersion: v1, kind: Pod, metadata: {name: j}, status: {phase: Failed}}`, wellKnown, false, "True", "ConditionRuleEvaluated", "Pod is finished"},
		"not well known":       {`{apiVersion: v1, kind: Secret, metadata: {name: j}}`, wellKnown, true, "", "", ""},
		"holds":                {job, cel("done", "", `object.status.conditions.exists(c, c.type == "Complete")`), false, "True", "ConditionRuleEvaluated", "done"},
		"one does not hold":    {job, cel("done", "", "true", "object.metadata.name == 'other'"), false, "False", "ConditionRuleEvaluated", "done"},
		"message by rule":      {job, cel("plain", `object.metadata.name + (result ? " is well" : " is not")`, "true"), false, "True", "ConditionRuleEvaluated", "j is well"},
		"message rule empty":   {job, cel("plain", `""`, "true"), false, "True", "ConditionRuleEvaluated", "plain"},
		"missing key":          {job, cel("m", "", "object.status.replicas != 1"), false, "False", "ConditionRuleExpressionError", "no such key: replicas"},
		"has conditions":       {job, cel("m", "", "hasConditions(object.status)"), false, "True", "ConditionRuleEvaluated", "m"},
		"has none":             {`{apiVersion: v1, kind: Secret, metadata: {name: j}}`, cel("m", "", "hasConditions(object.metadata)"), false, "False", "ConditionRuleEvaluated", "m"},
		"no yes or no":         {job, cel("m", "", "object.metadata.name"), false, "False", "ConditionRuleExpressionError", `expression "object.metadata.name" is no yes or no`},
		"no expression":        {job, cel("m", ""), false, "False", "ConditionRuleExpressionError", "the rule has no expression"},
		"type from the future": {job, ocmworkv1.ConditionRule{Condition: "C", Type: "New"}, false, "Unknown", "ConditionRuleInvalid", "Rules of type New are not known"},
	} {
		got, ok := newExpressions().judge(c.rule, object(t, c.object))
		if ok == c.none {
			t.Errorf("%s: made %v", name, ok)
		}
		if ok && (got.Status != c.status || got.Reason != c.reason || got.Message != c.message) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	list := make([]any, 3000)
	for i := range list {
		list[i] = int64(i)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"l": list}}
	rule := ocmworkv1.ConditionRule{Condition: "C", Type: ocmworkv1.CelConditionExpressions, CelExpressions: []string{"object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))"}}
	if c, _ := newExpressions().judge(rule, o); c.Reason != reasonRuleError || !strings.Contains(c.Message, "cost") {
		t.Errorf("%+v", c)
	}
}

func TestIgnoredFields(t *testing.T) {
	t.Parallel()
	const wanted = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 1, template: {spec: {containers: [{name: a, image: "a:1"}, {name: b, image: "b:1"}]}}}}`
	const observed = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 5, template: {spec: {containers: [{name: b, image: "b:9"}, {name: a, image: "a:9"}]}}}}`
	for name, c := range map[string]struct {
		field   ocmworkv1.IgnoreField
		changed bool
		want    string // replicas, images
		fails   bool
	}{
		"json path":            {ocmworkv1.IgnoreField{JSONPaths: []string{".spec.replicas"}}, false, "5 a:1 b:1", false},
		"json pointer":         {ocmworkv1.IgnoreField{JSONPointers: []string{"/spec/replicas"}}, false, "5 a:1 b:1", false},
		"jq":                   {ocmworkv1.IgnoreField{JQPathExpressions: []string{`.spec.template.spec.containers[] | select(.name == "b") | .image`}}, false, "1 a:1 b:9", false},
		"filter":               {ocmworkv1.IgnoreField{JSONPaths: []string{`.spec.template.spec.containers[?(@.name=="a")].image`}}, false, "1 a:9 b:1", false},
		"all of a list":        {ocmworkv1.IgnoreField{JSONPaths: []string{`.spec.template.spec.containers[*].image`}}, false, "1 a:9 b:9", false},
		"the last of a list":   {ocmworkv1.IgnoreField{JSONPaths: []string{`.spec.template.spec.containers[-1].image`}}, false, "1 a:1 b:9", false},
		"nothing there":        {ocmworkv1.IgnoreField{JSONPaths: []string{".spec.paused"}, JSONPointers: []string{"/spec/x/y", "spec"}}, false, "1 a:1 b:1", false},
		"on change, unchanged": {ocmworkv1.IgnoreField{Condition: ocmworkv1.IgnoreOnSpokeChange, JSONPaths: []string{".spec.replicas"}}, false, "5 a:1 b:1", false},
		"on change, changed":   {ocmworkv1.IgnoreField{Condition: ocmworkv1.IgnoreOnSpokeChange, JSONPaths: []string{".spec.replicas"}}, true, "1 a:1 b:1", false},
		"present, changed":     {ocmworkv1.IgnoreField{Condition: ocmworkv1.IgnoreOnSpokePresent, JSONPaths: []string{".spec.replicas"}}, true, "5 a:1 b:1", false},
		"bad path":             {ocmworkv1.IgnoreField{JSONPaths: []string{".spec["}}, false, "1 a:1 b:1", true},
		"bad jq":               {ocmworkv1.IgnoreField{JQPathExpressions: []string{".spec["}}, false, "1 a:1 b:1", true},
	} {
		w := object(t, wanted)
		err := ignore(w, object(t, observed), []ocmworkv1.IgnoreField{c.field}, c.changed)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		replicas, _, _ := unstructured.NestedInt64(w.Object, "spec", "replicas")
		text := itoa(replicas)
		containers, _, _ := unstructured.NestedSlice(w.Object, "spec", "template", "spec", "containers")
		for _, container := range containers {
			text += " " + container.(map[string]any)["image"].(string)
		}
		if text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	gone := object(t, wanted)
	if err := ignore(gone, object(t, `{apiVersion: v1, kind: x, spec: {}}`), []ocmworkv1.IgnoreField{{JSONPointers: []string{"/spec/replicas"}}}, false); err != nil {
		t.Fatal(err)
	}
	if _, there, _ := unstructured.NestedInt64(gone.Object, "spec", "replicas"); there {
		t.Error("a field that the member has not is applied")
	}
}

func TestConfigurationsByName(t *testing.T) {
	t.Parallel()
	option := func(name, namespace string) ocmworkv1.ManifestConfigOption {
		return ocmworkv1.ManifestConfigOption{ResourceIdentifier: ocmworkv1.ResourceIdentifier{Resource: "configmaps", Name: name, Namespace: namespace}}
	}
	options := []ocmworkv1.ManifestConfigOption{option("a*", "*"), option("ab", "x"), option("*", "y")}
	for id, want := range map[ocmworkv1.ResourceIdentifier]int{
		{Resource: "configmaps", Name: "ab", Namespace: "x"}:             1,
		{Resource: "configmaps", Name: "abc", Namespace: "x"}:            0,
		{Resource: "configmaps", Name: "zz", Namespace: "y"}:             2,
		{Resource: "configmaps", Name: "zz", Namespace: "x"}:             -1,
		{Group: "g", Resource: "configmaps", Name: "ab", Namespace: "x"}: -1,
	} {
		got := -1
		if o := optionOf(options, id); o != nil {
			got = slices.IndexFunc(options, func(c ocmworkv1.ManifestConfigOption) bool { return c.ResourceIdentifier == o.ResourceIdentifier })
		}
		if got != want {
			t.Errorf("%+v: %d, want %d", id, got, want)
		}
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	manifest := func(conditions ...metav1.Condition) ocmworkv1.ManifestCondition {
		return ocmworkv1.ManifestCondition{Conditions: conditions}
	}
	is := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	there, gone, unknown := is("Available", "True", "", ""), is("Available", "False", "", ""), is("Available", "Unknown", "", "")
	for want, manifests := range map[string][]ocmworkv1.ManifestCondition{
		"True All resources are available":             {manifest(there), manifest(there)},
		"False 1 of 3 resources are not available":     {manifest(there), manifest(gone), manifest(unknown)},
		"Unknown 1 of 2 resources have unknown status": {manifest(there), manifest(unknown)},
	} {
		if c, _ := availableOf(manifests); string(c.Status)+" "+c.Message != want {
			t.Errorf("%s %s, want %s", c.Status, c.Message, want)
		}
	}
	rule := func(status metav1.ConditionStatus, message string) metav1.Condition {
		return is("P", status, reasonRuleEvaluated, message)
	}
	for want, manifests := range map[string][]ocmworkv1.ManifestCondition{
		"True m":       {manifest(rule("True", "m")), manifest(rule("True", "m")), manifest()},
		"False b; c":   {manifest(rule("True", "a")), manifest(rule("False", "b")), manifest(rule("False", "c")), manifest(rule("Unknown", "d"))},
		"Unknown what": {manifest(rule("True", "a")), manifest(rule("Unknown", "what"))},
	} {
		if c := ruleConditions(manifests); len(c) != 1 || string(c[0].Status)+" "+c[0].Message != want || c[0].Reason != "ConditionRulesAggregated" {
			t.Errorf("%+v, want %s", c, want)
		}
	}
}

// What is left of a rule that was taken out, and what others wrote.
func TestStatusForgetsRulesAndKeepsTimes(t *testing.T) {
	t.Parallel()
	then, now := metav1.NewTime(time.Unix(1000, 0)), time.Unix(2000, 0)
	r := &reporter{expressions: newExpressions(), now: func() time.Time { return now }}
	work := &ocmworkv1.ManifestWork{}
	work.Generation = 2
	work.Status.Conditions = []metav1.Condition{
		{Type: "Applied", Status: "True", Reason: "AppliedManifestWorkComplete", LastTransitionTime: then},
		{Type: "Progressing", Status: "True", Reason: "ConditionRulesAggregated", LastTransitionTime: then},
		{Type: "Theirs", Status: "True", Reason: "Other", LastTransitionTime: then},
	}
	cm := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: n}}`)
	status := r.status(work, []outcome{{tried: true, object: cm, meta: ocmworkv1.ManifestResourceMeta{Resource: "configmaps"}}})
	var got []string
	for _, c := range status.Conditions {
		got = append(got, c.Type+"@"+c.LastTransitionTime.UTC().Format("05"))
	}
	if diff := cmp.Diff([]string{"Applied@40", "Theirs@40", "Available@20"}, got); diff != "" {
		t.Error(diff)
	}
	failed := r.status(work, []outcome{{tried: true, err: errors.New("no"), unread: errors.New("no answer"), meta: ocmworkv1.ManifestResourceMeta{Resource: "configmaps"}}})
	if c := failed.ResourceStatus.Manifests[0].Conditions[1]; c.Status != metav1.ConditionUnknown || c.Message != "no answer" {
		t.Errorf("%+v", c)
	}
}

func TestMergeKeepsWhatIsTheMembers(t *testing.T) {
	t.Parallel()
	wanted := object(t, `{apiVersion: v1, kind: Service, metadata: {name: s, labels: {a: "1"}}, spec: {ports: [{port: 80}]}, status: {x: y}}`)
	observed := object(t, `{apiVersion: v1, kind: Service, metadata: {name: s, uid: u, resourceVersion: "7", labels: {a: "0", b: "2"}, annotations: {c: "3"}, finalizers: [f]}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 81}]}}`)
	got := merge(wanted, observed, []metav1.OwnerReference{{UID: "o", Name: "r", Kind: "K", APIVersion: "v"}})
	want := object(t, `{apiVersion: v1, kind: Service, metadata: {name: s, resourceVersion: "7", labels: {a: "1", b: "2"}, annotations: {c: "3"}, finalizers: [f], ownerReferences: [{apiVersion: v, kind: K, name: r, uid: o}]}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80}]}}`)
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Error(diff)
	}
	if !says(observed, object(t, `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 81}]}}`)) || says(observed, wanted) {
		t.Error("what an object says is not told right")
	}
}
