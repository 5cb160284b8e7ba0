package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube/kubetest"
)

// An operator hands on the names that its own pod was told the addresses of.
func TestOwnHostAliases(t *testing.T) {
	h := kubetest.StartHub(t)
	want := []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"hub.example"}}}
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "operators"}})
	h.Create(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "operator-0"}, Spec: corev1.PodSpec{
		HostAliases: want, Containers: []corev1.Container{{Name: "operator", Image: "muster:test"}},
	}})
	for _, c := range []struct {
		namespace, pod string
		want           []corev1.HostAlias
		missing        bool
	}{
		{"", "", nil, false}, // not a pod
		{"operators", "operator-0", want, false},
		{"operators", "operator-1", nil, true},
	} {
		t.Setenv("POD_NAMESPACE", c.namespace)
		t.Setenv("POD_NAME", c.pod)
		got, err := ownHostAliases(t.Context(), h.Config())
		if apierrors.IsNotFound(err) != c.missing || !c.missing && err != nil {
			t.Errorf("pod %q: %v", c.pod, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("pod %q (-want +got):\n%s", c.pod, diff)
		}
	}
}

// An operator whose Lease has nowhere to be says so and ends, instead of trying for ever.
func TestOperatorNeedsTheNamespaceOfItsLease(t *testing.T) {
	h := kubetest.StartHub(t)
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leases"}})
	for _, c := range []struct {
		config OperatorConfig
		told   bool
	}{
		{OperatorConfig{Namespace: "leases", LeaderElection: true}, false},
		{OperatorConfig{Namespace: "nowhere"}, false},
		{OperatorConfig{Namespace: "nowhere", LeaderElection: true}, true},
	} {
		err := c.config.checkNamespace(t.Context(), h.Config())
		said, told := fault.As(err)
		if told != c.told || !told && err != nil || told && !strings.Contains(said.Fix, "kubectl create namespace nowhere") {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}
