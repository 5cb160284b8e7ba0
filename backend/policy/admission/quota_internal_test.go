package admission

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
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
