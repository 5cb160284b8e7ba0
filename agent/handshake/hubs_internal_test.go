package handshake

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A certificate is good no more once the hub has refused it for a while, however long
// nothing was heard before that.
func TestRefusedForAWhile(t *testing.T) {
	t.Parallel()
	s := &service{heard: time.Now().Add(-time.Hour)}
	unauthorized := apierrors.NewUnauthorized("who are you")
	if s.refused(unauthorized) {
		t.Error("the first refusal counts as many")
	}
	s.refusing = s.refusing.Add(-refusedFor - time.Second)
	if !s.refused(unauthorized) {
		t.Error("refusals without an end are not noticed")
	}
	for name, answer := range map[string]error{
		"another answer": apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("not yours")),
		"no connection":  errors.New("connection refused"),
	} {
		s.refusing = time.Now().Add(-time.Hour)
		if s.refused(answer) || s.refused(unauthorized) {
			t.Errorf("%s does not end a time of refusals", name)
		}
		if s.silence() < time.Hour {
			t.Errorf("%s counts as if the hub had given what was asked for", name)
		}
	}
	s.heardOf(nil)
	if s.silence() > time.Minute || !s.refusing.IsZero() {
		t.Error("what the hub gives does not count")
	}
}
