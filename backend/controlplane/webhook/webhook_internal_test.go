package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sent, made, want string }{
		"nothing":       {`{"kind":"A","spec":{"n":1,"f":1.5,"l":[1,2]}}`, `{"kind":"A","spec":{"n":1,"f":1.5,"l":[1,2]}}`, ``},
		"label":         {`{"kind":"A","metadata":{"name":"a"}}`, `{"kind":"A","metadata":{"name":"a","labels":{"x/y~z":"1"}}}`, `[{"op":"add","path":"/metadata/labels","value":{"x/y~z":"1"}}]`},
		"another label": {`{"kind":"A","metadata":{"labels":{"a":"b"}}}`, `{"kind":"A","metadata":{"labels":{"a":"b","x/y~z":"1"}}}`, `[{"op":"add","path":"/metadata/labels/x~1y~0z","value":"1"}]`},
		"replaced":      {`{"kind":"A","spec":{"n":1,"s":true}}`, `{"kind":"A","spec":{"n":2,"s":false}}`, `[{"op":"replace","path":"/spec/n","value":2},{"op":"replace","path":"/spec/s","value":false}]`},
		"removed":       {`{"kind":"A","spec":{"n":1,"m":2}}`, `{"kind":"A","spec":{"m":2}}`, `[{"op":"remove","path":"/spec/n"}]`},
		"list":          {`{"kind":"A","spec":{"l":[{"a":1}]}}`, `{"kind":"A","spec":{"l":[{"a":1,"b":2}]}}`, `[{"op":"replace","path":"/spec/l","value":[{"a":1,"b":2}]}]`},
		"null":          {`{"kind":"A","spec":{"n":1}}`, `{"kind":"A","spec":{"n":null,"m":null}}`, `[{"op":"replace","path":"/spec/n","value":null},{"op":"add","path":"/spec/m","value":null}]`},
		"other shape":   {`{"kind":"A","spec":{"n":{}}}`, `{"kind":"A","spec":{"n":[]}}`, `[{"op":"replace","path":"/spec/n","value":[]}]`},
	} {
		made := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(test.made), &made.Object); err != nil {
			t.Fatal(err)
		}
		got, err := changes([]byte(test.sent), made)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, test.want)
		}
	}
}

// step is an Admission of two functions.
type step struct {
	admit, validate func(admission.Attributes) error
}

func (s step) Admit(_ context.Context, a admission.Attributes) error {
	if s.admit == nil {
		return nil
	}
	return s.admit(a)
}

func (s step) Validate(_ context.Context, a admission.Attributes) error {
	if s.validate == nil {
		return nil
	}
	return s.validate(a)
}

func ask(t *testing.T, r reviewer, request string) *admissionv1.AdmissionResponse {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":%s}`, request)
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/x", strings.NewReader(body)))
	if answer.Code != http.StatusOK {
		t.Fatalf("answered %d %s", answer.Code, answer.Body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil {
		t.Fatal(err)
	}
	return review.Response
}

// TestAttributes shows a step what it would see inside an API server.
func TestAttributes(t *testing.T) {
	t.Parallel()
	var seen string
	look := func(a admission.Attributes) error {
		who := a.GetUserInfo()
		seen = fmt.Sprint(a.GetOperation(), " ", a.GetKind(), " ", a.GetResource(), " ", a.GetSubresource(), " ", a.GetNamespace(), "/", a.GetName(), " dry=", a.IsDryRun(),
			" ", who.GetName(), who.GetUID(), who.GetGroups(), who.GetExtra(), fmt.Sprintf(" %T %T %T", a.GetObject(), a.GetOldObject(), a.GetOperationOptions()))
		return nil
	}
	r := reviewer{steps: []Admission{step{validate: look}}, scheme: clientgoscheme.Scheme}
	const who = `"userInfo":{"username":"ann","uid":"7","groups":["a","b"],"extra":{"k":["v"]}}`
	for name, test := range map[string]struct{ request, want string }{
		"custom resource": {`{"uid":"u","kind":{"group":"g.io","version":"v1","kind":"Thing"},"resource":{"group":"g.io","version":"v1","resource":"things"},"subResource":"status",
			"namespace":"ns","name":"n","operation":"UPDATE",` + who + `,"object":{"apiVersion":"g.io/v1","kind":"Thing"},"oldObject":{"apiVersion":"g.io/v1","kind":"Thing"},"dryRun":true,
			"options":{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"}}`,
			"UPDATE g.io/v1, Kind=Thing g.io/v1, Resource=things status ns/n dry=true ann7[a b] map[k:[v]] *unstructured.Unstructured *unstructured.Unstructured *v1.UpdateOptions"},
		"kind of Kubernetes": {`{"uid":"u","kind":{"group":"certificates.k8s.io","version":"v1","kind":"CertificateSigningRequest"},
			"resource":{"group":"certificates.k8s.io","version":"v1","resource":"certificatesigningrequests"},"operation":"CREATE",` + who + `,
			"object":{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","spec":{"signerName":"x"}},"oldObject":null}`,
			"CREATE certificates.k8s.io/v1, Kind=CertificateSigningRequest certificates.k8s.io/v1, Resource=certificatesigningrequests  / dry=false ann7[a b] map[k:[v]] *v1.CertificateSigningRequest <nil> <nil>"},
		"deletion": {`{"uid":"u","kind":{"group":"g.io","version":"v1","kind":"Thing"},"resource":{"group":"g.io","version":"v1","resource":"things"},"name":"n","operation":"DELETE",` + who + `,
			"object":null,"oldObject":{"apiVersion":"g.io/v1","kind":"Thing"},"options":{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":"Foreground"}}`,
			"DELETE g.io/v1, Kind=Thing g.io/v1, Resource=things  /n dry=false ann7[a b] map[k:[v]] <nil> *unstructured.Unstructured *v1.DeleteOptions"},
	} {
		if response := ask(t, r, test.request); !response.Allowed || response.UID != "u" {
			t.Errorf("%s: %+v", name, response)
		}
		if seen != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, seen, test.want)
		}
	}
}

func TestReviewRefusesAndChanges(t *testing.T) {
	t.Parallel()
	const request = `{"uid":"u","kind":{"group":"certificates.k8s.io","version":"v1","kind":"CertificateSigningRequest"},"operation":"CREATE",
		"object":{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"a"},"spec":{"signerName":"x","request":"eA=="},"status":{}}}`
	refusing := reviewer{scheme: clientgoscheme.Scheme, steps: []Admission{step{validate: func(admission.Attributes) error { return apierrors.NewBadRequest("not so") }}}}
	got := ask(t, refusing, request)
	if got.Allowed || got.Result.Code != http.StatusBadRequest || got.Result.Reason != "BadRequest" || got.Result.Message != "not so" {
		t.Errorf("got %+v", got)
	}
	broken := reviewer{scheme: clientgoscheme.Scheme, steps: []Admission{step{validate: func(admission.Attributes) error { return fmt.Errorf("out of order") }}}}
	if got = ask(t, broken, request); got.Allowed || got.Result.Code != http.StatusInternalServerError {
		t.Errorf("got %+v", got)
	}
	changing := reviewer{scheme: clientgoscheme.Scheme, mutating: true, steps: []Admission{step{admit: func(a admission.Attributes) error {
		a.GetObject().(*certificatesv1.CertificateSigningRequest).Labels = map[string]string{"a": "b"}
		return nil
	}}}}
	got = ask(t, changing, request)
	if diff := cmp.Diff(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, string(got.Patch)); diff != "" || *got.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestReviewTakesReviewsOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"nothing":      {``, http.StatusBadRequest},
		"no request":   {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest},
		"old version":  {`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u"}}`, http.StatusBadRequest},
		"far too much": {`{"x":"` + strings.Repeat("x", 9<<20) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		answer := httptest.NewRecorder()
		reviewer{}.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/x", strings.NewReader(test.body)))
		if answer.Code != test.want {
			t.Errorf("%s: answered %d, want %d", name, answer.Code, test.want)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\n"
	for name, test := range map[string]struct {
		text  string
		paths []string
		fails bool
	}{
		"two":       {"---\n" + head + "webhooks:\n- {name: a, clientConfig: {service: {path: /a}}}\n- {name: b, clientConfig: {service: {path: /b}}}\n---\n", []string{"/a", "/b"}, false},
		"no path":   {head + "webhooks:\n- {name: a, clientConfig: {}}\n", nil, true},
		"other":     {"apiVersion: v1\nkind: Secret\n", nil, true},
		"misspelt":  {head + "webhooks:\n- {name: a, clientConfig: {service: {path: /a}}, failurePolice: Fail}\n", nil, true},
		"only text": {"# nothing\n", nil, false},
	} {
		all, err := read(fstest.MapFS{"a.yaml": {Data: []byte(test.text)}})
		var paths []string
		for _, one := range all {
			paths = append(paths, one.paths()...)
		}
		if diff := cmp.Diff(test.paths, paths); diff != "" || (err != nil) != test.fails {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
