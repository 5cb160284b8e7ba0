package kube_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

func TestFault(t *testing.T) {
	clusters := schema.GroupResource{Group: "cluster.karmada.io", Resource: "clusters"}
	tests := map[string]struct {
		err  error
		want fault.Kind
	}{
		"not found":   {apierrors.NewNotFound(clusters, "m1"), fault.KindNotFound},
		"exists":      {apierrors.NewAlreadyExists(clusters, "m1"), fault.KindConflict},
		"conflict":    {apierrors.NewConflict(clusters, "m1", errors.New("changed")), fault.KindConflict},
		"forbidden":   {apierrors.NewForbidden(clusters, "m1", errors.New("no")), fault.KindForbidden},
		"unknown":     {apierrors.NewUnauthorized("who?"), fault.KindUnauthenticated},
		"bad request": {apierrors.NewBadRequest("what?"), fault.KindInvalid},
		"too many":    {apierrors.NewTooManyRequests("slow down", 1), fault.KindTooMany},
		"unavailable": {apierrors.NewServiceUnavailable("starting"), fault.KindUnavailable},
		"wrapped":     {fmt.Errorf("read cluster: %w", apierrors.NewNotFound(clusters, "m1")), fault.KindNotFound},
	}
	for name, test := range tests {
		if got := kube.Fault(test.err); !fault.Is(got, test.want) {
			t.Errorf("%s: got %v, want %s", name, got, test.want)
		}
	}
	if got := kube.Fault(nil); got != nil {
		t.Errorf("nil: got %v", got)
	}
	inner := apierrors.NewInternalError(errors.New("disk"))
	if got := kube.Fault(inner); got != error(inner) {
		t.Errorf("an internal error must stay one: got %v", got)
	}
	own := fault.NotFound("no such thing")
	if got := kube.Fault(own); got != error(own) {
		t.Errorf("a fault must stay itself: got %v", got)
	}
}

func TestFaultNamesFields(t *testing.T) {
	err := apierrors.NewInvalid(schema.GroupKind{Group: "cluster.karmada.io", Kind: "Cluster"}, "m1", field.ErrorList{
		field.Required(field.NewPath("spec", "syncMode"), "say Push or Pull"),
	})
	known, ok := fault.As(kube.Fault(err))
	if !ok {
		t.Fatal("no fault")
	}
	want := []fault.Field{{Field: "spec.syncMode", Message: "Required value: say Push or Pull"}}
	if diff := cmp.Diff(want, known.Fields); diff != "" {
		t.Error(diff)
	}
}
