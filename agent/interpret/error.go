package interpret

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Error says that a question was not answered: by whom, about what, why, and
// what somebody can do about it. Its text is fit for a condition or an event.
type Error struct {
	// Source is who was asked: "customization NAME", "webhook NAME", "the rules of
	// Muster".
	Source    string
	Operation Operation
	// Object is what the question was about: "apps/v1 Deployment shop/web".
	Object string
	Reason string
	Fix    string
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s, %s of %s: %s", e.Source, e.Operation, e.Object, e.Reason)
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// describe names an object in errors.
func describe(o *unstructured.Unstructured) string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return o.GetAPIVersion() + " " + o.GetKind() + " " + name
}
