package handshake

import (
	"errors"
	"log/slog"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestLostAnswer: a hub that is killed when it has stored a request, and before it
// says so, has it all the same, and so does whoever approves it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	hub := fake.NewClientset()
	lost := false
	hub.PrependReactor("create", "certificatesigningrequests", func(action clienttesting.Action) (bool, runtime.Object, error) {
		made := action.(clienttesting.CreateAction).GetObject().(*certificatesv1.CertificateSigningRequest)
		made.Name = map[bool]string{false: "east-lost", true: "east-second"}[lost]
		lost = true
		return true, nil, errors.Join(errors.New("connection reset by peer"), hub.Tracker().Add(made))
	})
	key, _, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	form := agentForm("east", "abcde")
	body, err := form.body(key)
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{request: &request{cluster: "east", agent: "abcde", form: form, log: slog.New(slog.DiscardHandler)}, typed: hub, key: key, body: body}
	if err := a.ask(t.Context()); err == nil || a.name != "" {
		t.Fatalf("asked as %q, %v, want an error", a.name, err)
	}
	if err := a.ask(t.Context()); err != nil || a.name != "east-lost" || !a.looked.IsZero() {
		t.Errorf("asked as %q, %v, want the request that is there, looked at soon", a.name, err)
	}
	all, err := hub.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("%d requests, %v, want 1", len(all.Items), err)
	}
}
