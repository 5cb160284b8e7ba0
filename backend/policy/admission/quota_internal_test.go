package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// shelf is a reader of what a test puts on it, as a cache that lags is.
type shelf struct {
	client.Reader
	quotas   []policyv1alpha1.FederatedResourceQuota
	bindings []workv1alpha2.ResourceBinding
}

func (s *shelf) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch list := into.(type) {
	case *policyv1alpha1.FederatedResourceQuotaList:
		list.Items = s.quotas
	case *workv1alpha2.ResourceBindingList:
		list.Items = s.bindings
	}
	return nil
}

func binding(t *testing.T, name, spec string) *workv1alpha2.ResourceBinding {
	t.Helper()
	b := &workv1alpha2.ResourceBinding{}
	if err := yaml.UnmarshalStrict([]byte(`{metadata: {namespace: shop, name: `+name+`}, spec: {resource: {apiVersion: v1, kind: X, name: x}, `+spec+`}}`), b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestQuotaAdmission(t *testing.T) {
	const half = `replicaRequirements: {resourceRequest: {cpu: 500m, memory: 1Gi}}, clusters: `
	at := time.Unix(1000, 0)
	on := &shelf{quotas: make([]policyv1alpha1.FederatedResourceQuota, 1)}
	if err := yaml.UnmarshalStrict([]byte(`{metadata: {namespace: shop, name: budget}, spec: {overall: {cpu: "2"}}}`), &on.quotas[0]); err != nil {
		t.Fatal(err)
	}
	on.bindings = []workv1alpha2.ResourceBinding{*binding(t, "old", half+`[{name: m1, replicas: 1}]`)} // uses 500m
	a := counting()
	resource := workv1alpha2.GroupVersion.WithResource("resourcebindings")
	try := func(name string, created *workv1alpha2.ResourceBinding, old *workv1alpha2.ResourceBinding, refused bool) {
		t.Helper()
		operation, before := admission.Create, runtime.Object(nil)
		if old != nil {
			operation, before = admission.Update, old
		}
		err := a.Validate(t.Context(), request(operation, resource, "", created, before))
		if (err != nil) != refused {
			t.Errorf("%s: got %v", name, err)
		}
		if refused && (string(apierrors.ReasonForError(err)) != "QuotaExceeded" || !strings.Contains(err.Error(), "budget") ||
			!strings.HasPrefix(err.Error(), `admission webhook "resourcebinding.karmada.io" denied the request: `)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	four := binding(t, "a", half+`[{name: m1, replicas: 2}, {name: m2, replicas: 2}]`)
	try("not enforced", four, nil, false)
	a.EnforceQuotas(on)
	a.quotas.Load().now = func() time.Time { return at }
	try("2 of 1.5 left", four, nil, true)
	three := binding(t, "a", half+`[{name: m1, replicas: 1}, {name: m2, replicas: 2}]`)
	try("1.5 of 1.5 left", three, nil, false)
	try("the same again", three, three, false)
	try("nothing left, though the reader lags", binding(t, "b", half+`[{name: m1, replicas: 1}]`), nil, true)
	try("not scheduled yet", binding(t, "b", `replicaRequirements: {resourceRequest: {cpu: "9"}}`), nil, false)
	try("asks for nothing", binding(t, "b", `clusters: [{name: m1, replicas: 9}]`), nil, false)
	try("asks for what has no quota", binding(t, "b", `replicaRequirements: {resourceRequest: {memory: 9Ti}}, clusters: [{name: m1, replicas: 9}]`), nil, false)
	try("less than before, over the quota", four, binding(t, "a", half+`[{name: m1, replicas: 9}]`), false)
	at = at.Add(time.Minute) // the reader never showed a: its write failed
	try("freed", binding(t, "b", half+`[{name: m1, replicas: 3}]`), nil, false)
	parts := `components: [{name: big, replicas: 1, replicaRequirements: {resourceRequest: {cpu: "3"}}}], clusters: [{name: m1, components: [{name: big, replicas: 1}]}]`
	at = at.Add(time.Minute)
	try("parts", binding(t, "c", parts), nil, true)
	try("as many parts as the template says", binding(t, "c", strings.Replace(parts, "{name: m1, components: [{name: big, replicas: 1}]}", "{name: m1}", 1)), nil, true)
	try("none of the parts here", binding(t, "c", strings.Replace(parts, "big, replicas: 1}]}]", "big}]}]", 1)), nil, false)
}

// TestAllowsPlacement: a plan is judged as a write would be, with the plans beside it,
// and is not remembered.
func TestAllowsPlacement(t *testing.T) {
	const need = `replicaRequirements: {resourceRequest: {cpu: 500m}}, clusters: `
	on := &shelf{quotas: make([]policyv1alpha1.FederatedResourceQuota, 1)}
	if err := yaml.UnmarshalStrict([]byte(`{metadata: {namespace: shop, name: budget}, spec: {overall: {cpu: "2"}}}`), &on.quotas[0]); err != nil {
		t.Fatal(err)
	}
	a := counting()
	nowhere, three := binding(t, "a", need+`[]`), binding(t, "a", need+`[{name: m1, replicas: 3}]`)
	key := client.ObjectKeyFromObject(three)
	beside := func(name string, replicas int) map[client.ObjectKey]corev1.ResourceList {
		other := binding(t, name, fmt.Sprintf(need+`[{name: m1, replicas: %d}]`, replicas))
		return map[client.ObjectKey]corev1.ResourceList{client.ObjectKeyFromObject(other): policy.Demand(&other.Spec)}
	}
	if err := a.AllowsPlacement(t.Context(), key, &nowhere.Spec, &three.Spec, beside("b", 9)); err != nil {
		t.Errorf("not enforced: %v", err)
	}
	a.EnforceQuotas(on)
	for name, c := range map[string]struct {
		planned map[client.ObjectKey]corev1.ResourceList
		refused bool
	}{
		"alone":                  {nil, false},
		"again, as none is kept": {nil, false},
		"beside one":             {beside("b", 1), false},
		"beside two":             {beside("b", 2), true},
		"instead of itself":      {beside("a", 9), false},
	} {
		err := a.AllowsPlacement(t.Context(), key, &nowhere.Spec, &three.Spec, c.planned)
		if (err != nil) != c.refused || c.refused && string(apierrors.ReasonForError(err)) != "QuotaExceeded" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.AllowsPlacement(t.Context(), key, &three.Spec, &three.Spec, beside("b", 9)); err != nil {
		t.Errorf("as before: %v", err)
	}
}
