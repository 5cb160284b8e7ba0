package controlplane

import "testing"

func TestHostPort(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"https://hub.example:6443": "hub.example:6443", "https://hub.example": "hub.example:443", "http://hub.example": "hub.example:80",
		"https://[fd00::1]": "[fd00::1]:443", "10.0.0.1:6443": "10.0.0.1:6443", "https://hub.example/path": "hub.example:443",
	} {
		if got := hostPort(server); got != want {
			t.Errorf("%s: got %s, want %s", server, got, want)
		}
	}
}
