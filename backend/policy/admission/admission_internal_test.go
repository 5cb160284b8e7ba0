package admission

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	networkingv1alpha1 "muster.dev/muster/backend/apis/networking/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// counting returns an admission whose ids are id-1, id-2 and so on.
func counting() *Admission {
	n := 0
	return newWith(func() string { n++; return fmt.Sprintf("id-%d", n) })
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func request(op admission.Operation, resource schema.GroupVersionResource, subresource string, obj, old runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(obj, old, resource.GroupVersion().WithKind("Kind"), "shop", "name", resource, subresource, op, nil, false, &user.DefaultInfo{Name: "system:admin"})
}

func policies(resource string) schema.GroupVersionResource {
	return policyv1alpha1.GroupVersion.WithResource(resource)
}

var works = workv1alpha1.GroupVersion.WithResource("works")

func TestAdmitPolicies(t *testing.T) {
	const head = `apiVersion: policy.karmada.io/v1alpha1, kind: Kind`
	for name, test := range map[string]struct {
		op           admission.Operation
		resource     string
		object, want string
	}{
		"created policy": {admission.Create, "propagationpolicies",
			`{` + head + `, metadata: {name: a, namespace: shop, labels: {propagationpolicy.karmada.io/permanent-id: copied, mine: x}}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], priority: 0}}`,
			`{` + head + `, metadata: {name: a, namespace: shop, labels: {propagationpolicy.karmada.io/permanent-id: id-1, mine: x}, finalizers: [karmada.io/propagation-policy-controller]},
			  spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}], priority: 0}}`},
		"updated policy": {admission.Update, "propagationpolicies",
			`{` + head + `, metadata: {name: a, namespace: shop, labels: {propagationpolicy.karmada.io/permanent-id: kept}}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}}`,
			`{` + head + `, metadata: {name: a, namespace: shop, labels: {propagationpolicy.karmada.io/permanent-id: kept}}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}]}}`},
		"created cluster policy": {admission.Create, "clusterpropagationpolicies",
			`{` + head + `, metadata: {name: a, finalizers: [mine]}, spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace}], propagateDeps: false}}`,
			`{` + head + `, metadata: {name: a, labels: {clusterpropagationpolicy.karmada.io/permanent-id: id-1}, finalizers: [mine, karmada.io/cluster-propagation-policy-controller]},
			  spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace}], propagateDeps: false}}`},
		"override policy": {admission.Create, "overridepolicies",
			`{` + head + `, metadata: {name: a, namespace: shop}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], overrideRules: [{overriders: {plaintext: [{path: /x, operator: add, value: {deep: [1, 2.5]}}]}}]}}`,
			`{` + head + `, metadata: {name: a, namespace: shop}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}], overrideRules: [{overriders: {plaintext: [{path: /x, operator: add, value: {deep: [1, 2.5]}}]}}]}}`},
		"cluster override policy": {admission.Create, "clusteroverridepolicies",
			`{` + head + `, metadata: {name: a}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}}`,
			`{` + head + `, metadata: {name: a}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}}`},
		"wrong shape": {admission.Update, "propagationpolicies",
			`{` + head + `, metadata: {name: a}, spec: {resourceSelectors: none}}`, `{` + head + `, metadata: {name: a}, spec: {resourceSelectors: none}}`},
		"wrong shape of another": {admission.Create, "federatedresourcequotas", `{` + head + `, metadata: {name: a}, spec: {overall: none}}`, `{` + head + `, metadata: {name: a}, spec: {overall: none}}`},
		"no spec":                {admission.Update, "propagationpolicies", `{` + head + `, metadata: {name: a}}`, `{` + head + `, metadata: {name: a}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := object(t, test.object), object(t, test.want)
			if err := counting().Admit(t.Context(), request(test.op, policies(test.resource), "", got, nil)); err != nil {
				t.Fatal(err)
			}
			// Through JSON: the numbers of the API server are int64, those of the YAML reader float64.
			if diff := cmp.Diff(asYAML(t, want), asYAML(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func asYAML(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	data, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestValidatePolicies(t *testing.T) {
	labelled := func(id, spec string) *unstructured.Unstructured {
		return object(t, `{metadata: {name: a, namespace: shop, labels: {propagationpolicy.karmada.io/permanent-id: "`+id+`"}}, spec: {`+spec+`}}`)
	}
	const spec = `resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}], schedulerName: default-scheduler`
	for name, test := range map[string]struct {
		op       admission.Operation
		resource string
		obj, old *unstructured.Unstructured
		refused  func(error) bool
	}{
		"created":           {admission.Create, "propagationpolicies", labelled("1", spec), nil, nil},
		"updated":           {admission.Update, "propagationpolicies", labelled("1", spec+", priority: 5"), labelled("1", spec), nil},
		"id changed":        {admission.Update, "propagationpolicies", labelled("2", spec), labelled("1", spec), apierrors.IsInvalid},
		"id removed":        {admission.Update, "propagationpolicies", labelled("", spec), labelled("1", spec), apierrors.IsInvalid},
		"scheduler changed": {admission.Update, "propagationpolicies", labelled("1", `resourceSelectors: [], schedulerName: other`), labelled("1", spec), apierrors.IsInvalid},
		"rule broken":       {admission.Create, "propagationpolicies", labelled("1", `resourceSelectors: [{apiVersion: v1, kind: A, namespace: b}]`), nil, apierrors.IsInvalid},
		"wrong shape":       {admission.Create, "propagationpolicies", labelled("1", `resourceSelectors: none`), nil, apierrors.IsBadRequest},
		"override":          {admission.Create, "overridepolicies", object(t, `{spec: {}}`), nil, nil},
		"bad override":      {admission.Create, "overridepolicies", object(t, `{spec: {targetCluster: {}, overrideRules: [{overriders: {}}]}}`), nil, apierrors.IsInvalid},
		"bad cluster-wide":  {admission.Update, "clusteroverridepolicies", object(t, `{spec: {targetCluster: {}, overrideRules: [{overriders: {}}]}}`), object(t, `{}`), apierrors.IsInvalid},
		"bad quota":         {admission.Create, "federatedresourcequotas", object(t, `{spec: {overall: {cpu: "-1"}}}`), nil, apierrors.IsInvalid},
		"bad taints":        {admission.Update, "clustertaintpolicies", object(t, `{spec: {taints: [{key: "a b"}]}}`), object(t, `{}`), apierrors.IsInvalid},
		"shape of taints":   {admission.Create, "clustertaintpolicies", object(t, `{spec: {taints: none}}`), nil, apierrors.IsBadRequest},
		"another kind":      {admission.Create, "somethingelse", object(t, `{spec: {taints: none}}`), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var old runtime.Object
			if test.old != nil {
				old = test.old
			}
			err := counting().Validate(t.Context(), request(test.op, policies(test.resource), "", test.obj, old))
			if test.refused == nil && err != nil || test.refused != nil && !test.refused(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func work(manifests ...string) *workv1alpha1.Work {
	w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "karmada-es-m1"}}
	for _, m := range manifests {
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(m)}})
	}
	return w
}

func TestAdmitWorks(t *testing.T) {
	in := `{"kind":"ConfigMap","apiVersion":"v1","status":{},"metadata":{"uid":"x","name":"a","labels":{"karmada.io/managed":"true"}},"data":{"big":"9007199254740993"},"n":9007199254740993}`
	want := `{"apiVersion":"v1","data":{"big":"9007199254740993"},"kind":"ConfigMap","metadata":{"annotations":{` +
		`"resourcetemplate.karmada.io/managed-annotations":"resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels",` +
		`"resourcetemplate.karmada.io/managed-labels":"karmada.io/managed,work.karmada.io/permanent-id"},` +
		`"labels":{"karmada.io/managed":"true","work.karmada.io/permanent-id":"id-1"},"name":"a"},"n":9007199254740993}`
	got := work(in, in)
	for _, op := range []admission.Operation{admission.Create, admission.Update} { // the second write changes nothing
		if err := counting().Admit(t.Context(), request(op, works, "", got, nil)); err != nil {
			t.Fatal(err)
		}
		if id := got.Labels["work.karmada.io/permanent-id"]; id != "id-1" {
			t.Errorf("%s: id %q", op, id)
		}
		for _, m := range got.Spec.Workload.Manifests {
			if diff := cmp.Diff(want, string(m.Raw)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", op, diff)
			}
		}
	}

	given := work(`null`, `"x"`, `{`)
	given.Labels = map[string]string{"work.karmada.io/permanent-id": "mine"}
	if err := counting().Admit(t.Context(), request(admission.Create, works, "", given, nil)); err != nil {
		t.Fatal(err)
	}
	if given.Labels["work.karmada.io/permanent-id"] != "mine" {
		t.Error("a given id was replaced")
	}
	if diff := cmp.Diff(work(`null`, `"x"`, `{`).Spec, given.Spec); diff != "" {
		t.Errorf("what is no object was changed: %s", diff)
	}

	status := work(in)
	if err := counting().Admit(t.Context(), request(admission.Update, works, "status", status, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(work(in), status); diff != "" {
		t.Errorf("a status write was changed: %s", diff)
	}
}

func TestAdmitBindings(t *testing.T) {
	for _, test := range []struct {
		resource, label string
		obj             metav1.Object
	}{
		{"resourcebindings", "resourcebinding.karmada.io/permanent-id", &workv1alpha2.ResourceBinding{}},
		{"clusterresourcebindings", "clusterresourcebinding.karmada.io/permanent-id", &workv1alpha2.ClusterResourceBinding{}},
	} {
		attributes := func(op admission.Operation) admission.Attributes {
			return request(op, workv1alpha2.GroupVersion.WithResource(test.resource), "", test.obj.(runtime.Object), nil)
		}
		a := counting()
		if err := a.Admit(t.Context(), attributes(admission.Update)); err != nil || test.obj.GetLabels() != nil {
			t.Errorf("%s: an update set %v, %v", test.resource, test.obj.GetLabels(), err)
		}
		for range 2 { // a given id is kept
			if err := a.Admit(t.Context(), attributes(admission.Create)); err != nil || test.obj.GetLabels()[test.label] != "id-1" {
				t.Errorf("%s: labels %v, %v", test.resource, test.obj.GetLabels(), err)
			}
		}
	}
}

// TestOtherKinds holds that the smaller kinds are judged too.
func TestOtherKinds(t *testing.T) {
	for _, test := range []struct {
		resource schema.GroupVersionResource
		spec     string
	}{
		{configv1alpha1.GroupVersion.WithResource("resourceinterpretercustomizations"), `{target: {apiVersion: v1, kind: Pod}, customizations: {retention: {luaScript: "function ("}}}`},
		{appsv1alpha1.GroupVersion.WithResource("workloadrebalancers"), `{workloads: [{apiVersion: v1, kind: Pod}]}`},
		{networkingv1alpha1.GroupVersion.WithResource("multiclusterservices"), `{types: [Magic]}`},
	} {
		broken := object(t, `{metadata: {name: a}, spec: `+test.spec+`}`)
		if err := counting().Validate(t.Context(), request(admission.Create, test.resource, "", broken, nil)); !apierrors.IsInvalid(err) {
			t.Errorf("%s: got %v", test.resource.Resource, err)
		}
	}
	service := object(t, `{metadata: {name: a}, spec: {types: []}}`)
	if err := counting().Admit(t.Context(), request(admission.Create, networkingv1alpha1.GroupVersion.WithResource("multiclusterservices"), "", service, nil)); err != nil {
		t.Fatal(err)
	}
	if id := service.GetLabels()["multiclusterservice.karmada.io/permanent-id"]; id != "id-1" {
		t.Errorf("a service has the id %q", id)
	}
}

func TestDeletionProtection(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	labelled := func(value string) runtime.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"resourcetemplate.karmada.io/deletion-protected": value}}}
	}
	for name, test := range map[string]struct {
		op          admission.Operation
		old         runtime.Object
		subresource string
		refused     bool
	}{
		"protected":   {admission.Delete, labelled("Always"), "", true},
		"otherwise":   {admission.Delete, labelled("Never"), "", false},
		"unlabelled":  {admission.Delete, &corev1.Pod{}, "", false},
		"unknown":     {admission.Delete, nil, "", false},
		"namespace":   {admission.Delete, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"resourcetemplate.karmada.io/deletion-protected": "Always"}}}, "", true},
		"custom kind": {admission.Delete, object(t, `{metadata: {labels: {resourcetemplate.karmada.io/deletion-protected: Always}}}`), "", true},
		"updated":     {admission.Update, labelled("Always"), "", false},
		"subresource": {admission.Delete, labelled("Always"), "proxy", false},
	} {
		err := counting().Validate(t.Context(), request(test.op, pods, test.subresource, nil, test.old))
		if apierrors.IsForbidden(err) != test.refused || !test.refused && err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
