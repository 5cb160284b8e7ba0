package controlplane_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// answer is what a client sees of a request.
type answer struct {
	Code    int32
	Reason  metav1.StatusReason
	Message string
	Object  map[string]any
}

// answerOf leaves out what differs from one object to the next, and who refused.
func answerOf(object *unstructured.Unstructured, err error) answer {
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		status := refusal.Status()
		_, message, denied := strings.Cut(status.Message, "denied the request: ")
		if !denied {
			message = status.Message
		}
		return answer{Code: status.Code, Reason: status.Reason, Message: message}
	}
	if err != nil || object == nil {
		return answer{Message: "no answer of the API"}
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	return answer{Code: 200, Object: object.Object}
}

// TestBothPlanesAdmitAlike sends the same requests to an API server that runs
// admission in process and to one that asks for it by webhooks.
func TestBothPlanesAdmitAlike(t *testing.T) {
	member := controlplanetest.Start(t)
	external, _ := startExternal(t, externalOptions(t, member, nil))
	lead(t, external)
	awaitWebhooks(t, member.Client)
	inside, outside := dynamicClient(t, embeddedPlane(t).Config()), dynamicClient(t, member.Config())

	thing := func(name string, spec map[string]any) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "test.muster.dev/v1", "kind": "Thing", "metadata": map[string]any{"name": name}}}
		if spec != nil {
			object.Object["spec"] = spec
		}
		return object
	}
	creates := func(name string, spec map[string]any) func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return client.Create(ctx, thing(name, spec), metav1.CreateOptions{})
		}
	}
	patches := func(name, patch string, subresources ...string) func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		}
	}
	type spec = map[string]any
	for _, test := range []struct {
		name string
		code int32
		send func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error)
	}{
		{"create", 200, creates("a", spec{"list": []any{"x"}, "number": int64(7), "share": 1.5, "secret": "s"})},
		{"create without spec", 200, creates("b", nil)},
		{"create with a drawn name", 200, func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			object := thing("", nil)
			object.SetGenerateName("drawn-")
			made, err := client.Create(ctx, object, metav1.CreateOptions{})
			if made != nil {
				made.SetName("drawn")
			}
			return made, err
		}},
		{"dry run", 200, func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return client.Create(ctx, thing("dry", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		}},
		{"removed field", 200, creates("c", spec{"secret": "s", "kept": "k"})},
		{"refused while it is changed", 400, creates("d", spec{"mutation": "refuse"})},
		{"bad", 400, creates("e", spec{"answer": "bad"})},
		{"forbidden", 403, creates("f", spec{"answer": "forbidden"})},
		{"exists", 409, creates("g", spec{"answer": "exists"})},
		{"invalid", 422, creates("h", spec{"answer": "invalid"})},
		{"broken", 500, creates("i", spec{"answer": "broken"})},
		{"an old one is wanted", 400, creates("j", spec{"answer": "changed"})},
		{"update", 200, patches("b", `{"spec":{"answer":"changed","list":[]}}`)},
		{"refused update", 400, patches("a", `{"spec":{"answer":"bad"}}`)},
		{"status", 200, patches("a", `{"status":{"done":true}}`, "status")},
		{"refused status", 200, patches("a", `{"status":{"answer":"bad"}}`, "status")},
		{"keep", 200, patches("a", `{"metadata":{"annotations":{"keep":"yes"}}}`)},
		{"deletion", 403, func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return thing("a", nil), client.Delete(ctx, "a", metav1.DeleteOptions{})
		}},
		{"allowed deletion", 200, func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return thing("b", nil), client.Delete(ctx, "b", metav1.DeleteOptions{})
		}},
		{"apply", 200, func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return client.Apply(ctx, "applied", thing("applied", spec{"list": []any{"x"}}), metav1.ApplyOptions{FieldManager: "test"})
		}},
	} {
		want, got := answerOf(test.send(t.Context(), inside)), answerOf(test.send(t.Context(), outside))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: in process (-) and by webhook (+) differ:\n%s", test.name, diff)
		}
		if want.Code != test.code {
			t.Errorf("%s: answered %d %s, want %d", test.name, want.Code, want.Message, test.code)
		}
	}
}
