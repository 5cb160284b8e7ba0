package controlplanetest_test

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

func TestMember(t *testing.T) {
	t.Parallel()
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 2})

	nodes, err := m.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 2 {
		t.Errorf("%d nodes, want 2", len(nodes.Items))
	}

	path, err := m.KubeconfigFor("nobody")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "secrets", Namespace: "default"},
	}}
	review, err = kubernetes.NewForConfigOrDie(config).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if review.Status.Allowed {
		t.Error("a user without rights may create secrets")
	}

	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Client.Discovery().ServerVersion(); err == nil {
		t.Error("the member answers after its end")
	}
}

func TestMissingBinaryIsNamed(t *testing.T) {
	t.Setenv("MUSTER_BIN", t.TempDir())
	if _, err := controlplanetest.Binary("kube"); err == nil {
		t.Error("a binary was found in an empty folder")
	}
	if _, err := controlplanetest.NewMember(t.Context(), t.TempDir(), controlplanetest.MemberOptions{}); err == nil {
		t.Error("a member started without a binary")
	}
}
