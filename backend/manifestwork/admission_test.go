package manifestwork_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/manifestwork"
)

// parse reads the spec of a work in YAML.
func parse(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": ocmworkv1.GroupVersion.String(), "kind": "ManifestWork",
		"metadata": map[string]any{"namespace": "cluster1", "name": "work"}, "spec": content,
	}}
}

func request(who user.Info, object, old *unstructured.Unstructured) admission.Attributes {
	operation, before := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, before = admission.Update, old
	}
	return admission.NewAttributesRecord(object, before, ocmworkv1.GroupVersion.WithKind("ManifestWork"), "cluster1", "work",
		ocmworkv1.GroupVersion.WithResource("manifestworks"), "", operation, nil, false, who)
}

const (
	good = `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}]}`
	// runsAs is good with an executor.
	runsAs = good + `
executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: apps, name: %s}}}`
)

// TestValidate has the texts of the recording manifestwork-invalid, without what
// an API server puts before those of a webhook.
func TestValidate(t *testing.T) {
	t.Parallel()
	admin := &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	large := fmt.Sprintf(`workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: %s}}]}`, strings.Repeat("x", 500*1024))
	for name, c := range map[string]struct{ spec, old, want string }{
		"good":             {spec: good},
		"recorded empty":   {spec: `workload: {manifests: []}`, want: "manifests should not be empty"},
		"nothing at all":   {spec: `{}`, want: "manifests should not be empty"},
		"recorded dup":     {spec: `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}]}`, want: "duplicate manifest for resource default/a with resource type v1.ConfigMap"},
		"other kinds":      {spec: `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}]}`},
		"recorded noname":  {spec: `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-, namespace: default}}]}`, want: "name must be set in manifest"},
		"a generated name": {spec: `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, generateName: a-}}]}`, want: "generateName must not be set in manifest"},
		"no kind":          {spec: `workload: {manifests: [{apiVersion: v1, metadata: {name: a}}]}`, want: "apiVersion and kind must be set in manifest 0"},
		"too large":        {spec: large, want: "the manifests take 512078 bytes, and 512000 are the limit"},
		"no account":       {spec: good + "\nexecutor: {subject: {type: ServiceAccount}}", want: "the executor names no service account"},
		"stored before":    {spec: `workload: {manifests: []}`, old: `workload: {manifests: []}`},
		"made worse":       {spec: `workload: {manifests: []}`, old: good, want: "manifests should not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var old *unstructured.Unstructured
			if c.old != "" {
				old = parse(t, c.old)
			}
			err := manifestwork.NewAdmission().Validate(t.Context(), request(admin, parse(t, c.spec), old))
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			status, ok := err.(apierrors.APIStatus)
			if !ok || status.Status().Code != http.StatusBadRequest || status.Status().Message != c.want {
				t.Errorf("got %v, want 400 %q", err, c.want)
			}
		})
	}
}

// testExecutor judges executors by the hub's own roles.
func (f *fixture) testExecutor(t *testing.T) {
	f.Create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "runner"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"execute-as"}, APIGroups: []string{ocmworkv1.GroupName}, Resources: []string{"manifestworks"}, ResourceNames: []string{"system:serviceaccount:apps:runner"},
	}}})
	f.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "runner"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "runner"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}},
	})
	ann := &user.DefaultInfo{Name: "ann"}
	runner, boss := parse(t, fmt.Sprintf(runsAs, "runner")), parse(t, fmt.Sprintf(runsAs, "boss"))
	d := manifestwork.NewAdmission()
	if err := d.Validate(t.Context(), request(ann, runner, nil)); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("before the hub can be asked: %v", err)
	}
	d.UseClient(f.Client)
	f.Await(t, "role to count", func(ctx context.Context) bool { return d.Validate(ctx, request(ann, runner, nil)) == nil })
	refused := `user ann may not act as the executor apps/boss in namespace cluster1`
	for name, c := range map[string]struct {
		object, old *unstructured.Unstructured
		want        string
	}{
		"another account":            {boss, nil, refused},
		"a change of the account":    {boss, runner, refused},
		"the agent's own finalizer":  {boss, boss, ""},
		"away from another account":  {runner, boss, ""},
		"a changed work of the same": {parse(t, strings.Replace(fmt.Sprintf(runsAs, "boss"), "name: a", "name: b", 1)), boss, refused},
	} {
		err := d.Validate(t.Context(), request(ann, c.object, c.old))
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
