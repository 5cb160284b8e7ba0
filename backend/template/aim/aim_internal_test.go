package aim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template/catalog"
)

// shelf is a hub's templates: Deployments, ConfigMaps and Namespaces.
type shelf struct {
	objects []*unstructured.Unstructured
	broken  bool
}

func (s *shelf) Get(ref catalog.Ref) (*unstructured.Unstructured, bool) {
	for _, o := range s.objects {
		if catalog.RefOf(o) == ref {
			return o, true
		}
	}
	return nil, false
}

func (s *shelf) List(apiVersion, kind, namespace string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, o := range s.objects {
		if o.GetAPIVersion() == apiVersion && o.GetKind() == kind && (namespace == "" || o.GetNamespace() == namespace) {
			found = append(found, o)
		}
	}
	return found
}

func (s *shelf) Readable(string, string) bool { return !s.broken }

func (s *shelf) Served(kind schema.GroupKind) (string, bool) {
	switch kind.String() {
	case "Deployment.apps":
		return "apps/v1", true
	case "ConfigMap", "Namespace":
		return "v1", true
	case "Event":
		return "", true
	}
	return "", false
}

func object(apiVersion, kind, namespace, name string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

func selector(apiVersion, kind, namespace, name string) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
}

func labelled(s policyv1alpha1.ResourceSelector, value string) policyv1alpha1.ResourceSelector {
	s.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
	return s
}

func TestJudgeAndExplain(t *testing.T) {
	from := &shelf{objects: []*unstructured.Unstructured{
		object("v1", "Namespace", "", "shop", nil), object("v1", "Namespace", "", "other", nil),
		object("apps/v1", "Deployment", "shop", "web", map[string]string{"app": "web"}),
		object("apps/v1", "Deployment", "other", "api", nil),
	}}
	scope, err := catalog.NewScope(catalog.DefaultSkippedNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		selector       policyv1alpha1.ResourceSelector
		cause, instead string // cause is empty where it selects something
		says           string
	}{
		"name":              {selector: selector("apps/v1", "Deployment", "shop", "web")},
		"name anywhere":     {selector: selector("apps/v1", "Deployment", "", "api")},
		"kind":              {selector: selector("apps/v1", "Deployment", "", "")},
		"labels":            {selector: labelled(selector("apps/v1", "Deployment", "shop", ""), "web")},
		"labels and name":   {selector: labelled(selector("apps/v1", "Deployment", "shop", "web"), "another")},
		"no kind":           {selector("shop.io/v1", "Till", "shop", "a"), policy.CauseNoKind, "", "serves no shop.io/v1 Till"},
		"other version":     {selector("apps/v1beta1", "Deployment", "shop", "web"), policy.CauseOtherVersion, "apps/v1", "as apps/v1, not as apps/v1beta1"},
		"kind kept":         {selector("v1", "Event", "shop", ""), policy.CauseKindKept, "", "stay on the hub"},
		"namespace kept":    {selector("v1", "ConfigMap", "kube-system", "a"), policy.CauseNamespaceKept, "", "nothing is propagated from namespace kube-system"},
		"no namespace":      {selector("apps/v1", "Deployment", "sohp", "web"), policy.CauseNoNamespace, "", "no namespace sohp"},
		"no name":           {selector("apps/v1", "Deployment", "shop", "wbe"), policy.CauseNoName, "", "no Deployment wbe in namespace shop"},
		"name elsewhere":    {selector("apps/v1", "Deployment", "shop", "api"), policy.CauseNoName, "other", "namespace other has one"},
		"no labels":         {labelled(selector("apps/v1", "Deployment", "shop", ""), "x"), policy.CauseNoLabels, "", "no Deployment in namespace shop has the labels app=x"},
		"labels of nothing": {labelled(selector("v1", "ConfigMap", "shop", ""), "x"), policy.CauseNoObject, "", "there is no ConfigMap in namespace shop"},
		"no object":         {selector("v1", "ConfigMap", "", ""), policy.CauseNoObject, "", "there is no ConfigMap on the hub"},
	} {
		t.Run(name, func(t *testing.T) {
			selectors := []policyv1alpha1.ResourceSelector{test.selector}
			if lost := judge(from, selectors).lost; lost != (test.cause != "") {
				t.Fatalf("lost is %v", lost)
			}
			if test.cause == "" {
				return
			}
			misses := explain(from, scope, selectors)
			want := []policy.Miss{{Selector: policy.SelectorOf(&test.selector), Cause: test.cause, Instead: test.instead}}
			if diff := cmp.Diff(want, misses); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := policy.TellMisses(misses); !strings.Contains(text, test.says) {
				t.Errorf("%q does not say %q", text, test.says)
			}
		})
	}
	web, wbe := selector("apps/v1", "Deployment", "shop", "web"), selector("apps/v1", "Deployment", "shop", "wbe")
	if seen := judge(from, []policyv1alpha1.ResourceSelector{wbe, web}); seen != (verdict{}) {
		t.Errorf("one of two selectors suffices: %+v", seen)
	}
	if seen := judge(from, nil); seen != (verdict{}) {
		t.Errorf("without selectors a policy means everything: %+v", seen)
	}
	from.broken = true
	if seen := judge(from, []policyv1alpha1.ResourceSelector{wbe}); seen != (verdict{unsure: true}) {
		t.Errorf("a kind that cannot be read: %+v", seen)
	}
}

func TestNext(t *testing.T) {
	type look struct {
		uid  types.UID
		at   time.Duration // from the first look
		seen verdict
		want outcome
	}
	lost, found, unsure := verdict{lost: true}, verdict{}, verdict{unsure: true}
	told := outcome{told: true, again: lookAgain}
	tell := outcome{tell: tellLost, told: true, again: lookAgain}
	for name, looks := range map[string][]look{
		"matches":                   {{"a", 0, found, outcome{}}, {"a", time.Hour, found, outcome{}}},
		"objects come in time":      {{"a", 0, lost, outcome{again: Settle}}, {"a", Settle - 1, lost, outcome{again: 1}}, {"a", Settle, found, outcome{}}},
		"told once":                 {{"a", 0, lost, outcome{again: Settle}}, {"a", Settle, lost, tell}, {"a", Settle + 1, lost, told}, {"a", time.Hour, lost, told}},
		"told again after a match":  {{"a", 0, lost, outcome{again: Settle}}, {"a", Settle, lost, tell}, {"a", 2 * Settle, found, outcome{tell: tellFound}}, {"a", 3 * Settle, lost, outcome{again: Settle}}, {"a", 4 * Settle, lost, tell}},
		"replaced in time":          {{"a", 0, found, outcome{}}, {"a", Settle, lost, outcome{again: Settle}}, {"a", Settle + 1, found, outcome{}}, {"a", 3 * Settle, lost, outcome{again: Settle}}},
		"another of the name":       {{"a", 0, lost, outcome{again: Settle}}, {"a", Settle, lost, tell}, {"b", Settle + 1, lost, outcome{again: Settle}}, {"b", Settle + 2, found, outcome{}}},
		"unreadable is not judged":  {{"a", 0, unsure, outcome{again: Settle}}, {"a", time.Hour, unsure, outcome{again: Settle}}, {"a", time.Hour, found, outcome{}}},
		"what was told stays known": {{"a", 0, lost, outcome{again: Settle}}, {"a", Settle, lost, tell}, {"a", time.Hour, unsure, outcome{told: true, again: Settle}}, {"a", 2 * time.Hour, lost, told}},
	} {
		t.Run(name, func(t *testing.T) {
			var s state
			began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, look := range looks {
				if got := s.next(look.uid, look.seen, began.Add(look.at)); got != look.want {
					t.Errorf("look %d: %+v, want %+v", i, got, look.want)
				}
			}
		})
	}
}
