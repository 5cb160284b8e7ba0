package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// reviewLimit is how large a request may be: an API server takes objects of
// three megabytes, and a review of an update holds two.
const reviewLimit = 8 << 20

// reviewer answers AdmissionReviews of version v1 with the steps that run inside
// the embedded API server.
type reviewer struct {
	steps    []Admission
	scheme   *runtime.Scheme
	mutating bool
}

// ServeHTTP implements http.Handler.
func (r reviewer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(http.MaxBytesReader(w, request.Body, reviewLimit)).Decode(&review); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, "the review is too large", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "the body is no AdmissionReview", http.StatusBadRequest)
		return
	}
	if review.Request == nil || review.APIVersion != admissionv1.SchemeGroupVersion.String() {
		http.Error(w, "the body is no AdmissionReview of admission.k8s.io/v1 with a request", http.StatusBadRequest)
		return
	}
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: r.judge(request.Context(), review.Request)}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		slog.Debug("admission answer not sent", "error", err)
	}
}

// judge runs the steps for one request.
func (r reviewer) judge(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	attributes, err := r.attributes(request)
	if err == nil {
		err = r.run(ctx, attributes)
	}
	if err == nil && r.mutating {
		response.Patch, err = changes(request.Object.Raw, attributes.GetObject())
	}
	if err != nil {
		return &admissionv1.AdmissionResponse{UID: request.UID, Result: statusOf(err)}
	}
	if len(response.Patch) > 0 {
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType = &kind
	}
	return response
}

func (r reviewer) run(ctx context.Context, attributes admission.Attributes) error {
	for _, step := range r.steps {
		run := step.Validate
		if r.mutating {
			run = step.Admit
		}
		if err := run(ctx, attributes); err != nil {
			return err
		}
	}
	return nil
}

// attributes are the request as a step inside the API server would see it.
func (r reviewer) attributes(request *admissionv1.AdmissionRequest) (admission.Attributes, error) {
	kind := schema.GroupVersionKind(request.Kind)
	object, err := r.decode(kind, request.Object.Raw)
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	old, err := r.decode(kind, request.OldObject.Raw)
	if err != nil {
		return nil, fmt.Errorf("read old object: %w", err)
	}
	options, err := decodeOptions(request.Operation, request.Options.Raw)
	if err != nil {
		return nil, err
	}
	return admission.NewAttributesRecord(object, old, kind, request.Namespace, request.Name, schema.GroupVersionResource(request.Resource),
		request.SubResource, admission.Operation(request.Operation), options, request.DryRun != nil && *request.DryRun, requester(request.UserInfo)), nil
}

// decode reads an object: kinds of the scheme as Go types, all others as an API
// server holds custom resources.
func (r reviewer) decode(kind schema.GroupVersionKind, raw []byte) (runtime.Object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if r.scheme != nil && r.scheme.Recognizes(kind) {
		object, err := r.scheme.New(kind)
		if err != nil {
			return nil, err
		}
		return object, json.Unmarshal(raw, object)
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(raw)
}

func decodeOptions(operation admissionv1.Operation, raw []byte) (runtime.Object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var options runtime.Object
	switch operation {
	case admissionv1.Create:
		options = &metav1.CreateOptions{}
	case admissionv1.Update:
		options = &metav1.UpdateOptions{}
	case admissionv1.Delete:
		options = &metav1.DeleteOptions{}
	default:
		return nil, nil
	}
	if err := json.Unmarshal(raw, options); err != nil {
		return nil, fmt.Errorf("read options: %w", err)
	}
	return options, nil
}

func requester(info authenticationv1.UserInfo) user.Info {
	extra := make(map[string][]string, len(info.Extra))
	for key, values := range info.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: extra}
}

// statusOf is a refusal as the API hands it to its client: with its own code and
// reason if it has any, as in an API server.
func statusOf(err error) *metav1.Status {
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		status := refusal.Status()
		return &status
	}
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
}
