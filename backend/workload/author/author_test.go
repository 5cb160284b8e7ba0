package author_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/author"
)

const shop = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  replicas: 2
  selector:
    matchLabels: {app: shop}
  template:
    metadata:
      labels: {app: shop}
    spec:
      containers:
      - name: shop
        image: shop:1.0
        env:
        - {name: DB_PASSWORD, value: hunter2}
`

var shopRef = template.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "shop"}

type fixture struct {
	*kubetest.Hub
	author *author.Author
	audit  *audit.Service
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t)}
	f.audit = audit.NewService(databasetest.Open(t), live.NewHub())
	f.author = author.New(author.Options{Clients: func(access.Actor) (client.Client, error) { return f.Client, nil }, Audit: f.audit})
	return f
}

func as(t *testing.T, role access.Role) context.Context {
	return access.WithActor(t.Context(), access.Actor{Name: "ada", Role: role})
}

// entries are what the audit holds, newest first.
func (f *fixture) entries(t *testing.T) []audit.Entry {
	t.Helper()
	entries, _, err := f.audit.List(as(t, access.RoleViewer), audit.Filter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// fields are the names of the fields that a fault is about, and its code.
func fields(err error) []string {
	known, ok := fault.As(err)
	if !ok {
		return []string{"no fault"}
	}
	found := []string{known.Code}
	for _, field := range known.Fields {
		found = append(found, field.Field)
	}
	return found
}

func TestAuthor(t *testing.T) {
	f := newFixture(t)
	operator := as(t, access.RoleOperator)

	tried, err := f.author.Create(operator, author.Made{YAML: shop}, true)
	if err != nil || tried.Namespace != "default" || tried.Name != "shop" {
		t.Fatalf("dry run gave %+v, %v", tried, err)
	}
	if found := f.entries(t); len(found) != 0 {
		t.Errorf("a dry run left %v in the audit", found)
	}
	made, err := f.author.Create(operator, author.Made{YAML: shop}, false)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(made.YAML, "image: shop:1.0") || strings.Contains(made.YAML, "resourceVersion") {
		t.Errorf("the answer is not what a person writes:\n%s", made.YAML)
	}
	entry := f.entries(t)[0]
	if entry.Verb != "create" || entry.Kind != "Deployment" || entry.Name != "shop" || entry.Outcome != audit.OK {
		t.Errorf("audit has %+v", entry)
	}
	for path, value := range entry.Detail {
		if strings.Contains(value, "hunter2") {
			t.Errorf("audit shows an environment variable: %s: %s", path, value)
		}
	}
	if _, err := f.author.Create(operator, author.Made{YAML: shop}, true); !cmp.Equal(fields(err), []string{"exists", "metadata.name"}) {
		t.Errorf("a second one of that name: %v", err)
	}

	// Somebody scales it by hand while the text is edited.
	var live appsv1.Deployment
	key := client.ObjectKey{Namespace: "default", Name: "shop"}
	live.Namespace, live.Name = key.Namespace, key.Name
	if err := f.Client.Patch(operator, &live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":true}}`))); err != nil {
		t.Fatal(err)
	}
	change := author.Changed{Base: made.YAML, YAML: strings.Replace(made.YAML, "replicas: 2", "replicas: 3", 1)}
	if _, err := f.author.Change(operator, shopRef, change, false); err != nil {
		t.Fatalf("a change of another field: %v", err)
	}
	if err := f.Client.Get(operator, key, &live); err != nil {
		t.Fatal(err)
	}
	if *live.Spec.Replicas != 3 || !live.Spec.Paused {
		t.Errorf("replicas %d, paused %t: a change takes back what somebody else did", *live.Spec.Replicas, live.Spec.Paused)
	}
	if got := f.entries(t)[0].Detail["spec.replicas"]; got != "2 → 3" {
		t.Errorf("audit says of replicas: %q", got)
	}

	// What the hub notes on the object is not in the text, and stays when the text
	// has no labels any more.
	if err := f.Client.Patch(operator, &live, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"mine":"1","noted":"hub"}}}`))); err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(made.YAML, "metadata:\n", "metadata:\n  labels:\n    mine: \"1\"\n", 1)
	if _, err := f.author.Change(operator, shopRef, author.Changed{Base: named, YAML: made.YAML}, false); err != nil {
		t.Fatalf("taking the last label away: %v", err)
	}
	if err := f.Client.Get(operator, key, &live); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(live.Labels, map[string]string{"noted": "hub"}) {
		t.Errorf("labels are %v, want only what the text never showed", live.Labels)
	}

	misspelt := author.Changed{Base: made.YAML, YAML: strings.Replace(made.YAML, "  replicas: 2", "  replicas: 2\n  replica: 1", 1)}
	if _, err := f.author.Change(operator, shopRef, misspelt, true); !cmp.Equal(fields(err), []string{"invalid-object", "spec.replica"}) || len(err.Error()) > 100 {
		t.Errorf("a change to a field of nobody: %v %v", fields(err), err)
	}

	// The same text once more, but now somebody else has changed replicas, too.
	other := author.Changed{Base: made.YAML, YAML: strings.Replace(made.YAML, "replicas: 2", "replicas: 5", 1)}
	if _, err := f.author.Change(operator, shopRef, other, true); !cmp.Equal(fields(err), []string{"stale", "spec.replicas"}) {
		t.Errorf("a change of what somebody else changed: %v %v", err, fields(err))
	}
	other.Force = true
	if _, err := f.author.Change(operator, shopRef, other, false); err != nil {
		t.Errorf("the same by force: %v", err)
	}
	if err := f.author.Delete(operator, shopRef, "shopp"); !fault.Is(err, fault.KindInvalid) {
		t.Errorf("removal under another name: %v", err)
	}
	if err := f.author.Delete(operator, shopRef, "shop"); err != nil {
		t.Errorf("removal: %v", err)
	}
}

func TestAuthorRefuses(t *testing.T) {
	f := newFixture(t)
	configMap := func(more string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n" + more }
	for name, scenario := range map[string]struct {
		yaml string
		want []string
	}{
		"no YAML":             {"a: [", []string{"invalid-object", ""}},
		"nothing":             {"# soon\n", []string{"invalid-object", ""}},
		"two objects":         {configMap("") + "---\n" + configMap(""), []string{"invalid-object", ""}},
		"no name":             {"apiVersion: v1\nkind: ConfigMap\n", []string{"invalid-object", "metadata.name"}},
		"a kind of nobody":    {"apiVersion: v1\nkind: Confgmap\nmetadata: {name: c}\n", []string{"invalid-object", "kind"}},
		"a namespace of none": {configMap("  namespace: nowhere\n"), []string{"invalid-object", "metadata.namespace"}},
		"a field of nobody":   {configMap("dta: {}\n"), []string{"invalid-object", "dta"}},
		"a value of no sense": {strings.Replace(shop, "name: shop\nspec", "name: Shop_\nspec", 1), []string{"invalid-object", "metadata.name"}},
		"the hub's own":       {configMap("  namespace: karmada-system\n"), []string{"invalid-object", ""}},
		"a policy":            {"apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: p}\n", []string{"invalid-object", "kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.author.Create(as(t, access.RoleOperator), author.Made{YAML: scenario.yaml}, true)
			if diff := cmp.Diff(scenario.want, fields(err)); diff != "" {
				t.Errorf("refusal (-want +got):\n%s%v", diff, err)
			}
		})
	}
	if _, err := f.author.Create(as(t, access.RoleViewer), author.Made{YAML: configMap("")}, false); !fault.Is(err, fault.KindForbidden) {
		t.Errorf("a viewer makes an object: %v", err)
	}
	if entry := f.entries(t)[0]; entry.Outcome != audit.Denied {
		t.Errorf("the attempt is not recorded as denied: %+v", entry)
	}
}

// TestSecretsStaySecret changes a label of a Secret whose values were shown as
// their length: the values stay, and nothing tells them.
func TestSecretsStaySecret(t *testing.T) {
	f := newFixture(t)
	admin := as(t, access.RoleAdmin)
	made, err := f.author.Create(admin, author.Made{YAML: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  pin: hunter2\n"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(made.YAML, "hunter2") || strings.Contains(made.YAML, "aHVudGVyMg") {
		t.Errorf("the answer shows the value:\n%s", made.YAML)
	}
	change := author.Changed{Base: made.YAML, YAML: strings.Replace(made.YAML, "  name: s\n", "  name: s\n  labels: {a: b}\n", 1)}
	ref := template.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "default", Name: "s"}
	if _, err := f.author.Change(admin, ref, change, false); err != nil {
		t.Fatal(err)
	}
	var stored corev1.Secret
	if err := f.Client.Get(admin, client.ObjectKey{Namespace: "default", Name: "s"}, &stored); err != nil {
		t.Fatal(err)
	}
	if string(stored.Data["pin"]) != "hunter2" || stored.Labels["a"] != "b" {
		t.Errorf("stored: %v, %v", stored.Labels, len(stored.Data["pin"]))
	}
	for _, entry := range f.entries(t) {
		for path, value := range entry.Detail {
			if strings.Contains(value, "hunter2") || strings.Contains(value, "aHVudGVyMg") {
				t.Errorf("audit shows the value: %s: %s", path, value)
			}
		}
	}
	if _, err := f.author.Change(admin, ref, author.Changed{Base: made.YAML, YAML: strings.Replace(made.YAML, "name: s\n", "name: t\n", 1)}, true); !cmp.Equal(fields(err), []string{"invalid-object", "metadata.name"}) {
		t.Errorf("another name: %v", err)
	}
}
