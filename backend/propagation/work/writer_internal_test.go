package work

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// TestSized: of a Work that is too large somebody can tell by how much, and mend it.
func TestSized(t *testing.T) {
	work := &workv1alpha1.Work{}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{}}
	work.Spec.Workload.Manifests[0].Raw = []byte(strings.Repeat("a", 1234))
	for name, test := range map[string]struct {
		err  error
		says bool
	}{
		"the store's word": {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), true},
		"the API's word":   {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		"another word":     {apierrors.NewForbidden(workv1alpha1.GroupVersion.WithResource("works").GroupResource(), "w", nil), false},
		"none":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := sized(test.err, work)
			if !errors.Is(got, test.err) || got != nil && strings.Contains(got.Error(), "takes 1234 bytes") != test.says {
				t.Errorf("%v", got)
			}
		})
	}
}
