package component

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A token is renewed in its last fifth; what cannot be told is renewed at once.
func TestRenewal(t *testing.T) {
	t.Parallel()
	stored := func(expires, issued string) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{tokenKey: []byte("t"), expirationKey: []byte(expires)}}
		if issued != "" {
			s.Data["issued"] = []byte(issued)
		}
		return s
	}
	for _, c := range []struct {
		name   string
		secret *corev1.Secret
		want   string
	}{
		{"a server that grants ten days", stored("2026-01-11T00:00:00Z", "2026-01-01T00:00:00Z"), "2026-01-09T00:00:00Z"},
		{"made by another operator, 360 days", stored("2026-12-27T00:00:00Z", ""), "2026-10-16T00:00:00Z"},
		{"no token", &corev1.Secret{Data: map[string][]byte{expirationKey: []byte("2026-12-27T00:00:00Z")}}, "0001-01-01T00:00:00Z"},
		{"nonsense", stored("tomorrow", ""), "0001-01-01T00:00:00Z"},
	} {
		if got := renewal(c.secret).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
