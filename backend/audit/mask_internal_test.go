package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "edge-7", "edge-7"},
		{"other scripts", "集群 éß", "集群 éß"},
		{"join token", "register --token abcdef.0123456789abcdef now", "register --token (masked) now"},
		{"JSON web token", "got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln here", "got (masked) here"},
		{"PEM", "key -----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", "key (masked)"},
		{"header", "Authorization: Bearer s3cr3t.x/y", "Authorization: (masked)"},
		{"password in a URL", "postgres://muster:hunter2@db/x", "postgres(masked)db/x"},
		{"line breaks", "one\r\nfake=\"entry\"", "one  fake=\"entry\""},
		{"terminal", "a\x1b[31mb\x00c", "a [31mb c"},
		{"right to left", "a\u202eb\u2028c", "a b c"},
		{"bytes", "a\xff\xfeb", "a b"},
		{"too long", strings.Repeat("é", 40), strings.Repeat("é", 30) + "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, clean(test.text, 64)); diff != "" {
				t.Errorf("clean (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMaskDetail(t *testing.T) {
	got := maskDetail(map[string]string{
		"password": "hunter2", "apiKey": "x", "kubeconfig": "y", "Set-Cookie": "z", "token": "t", "tokenId": "abcdef",
		"kind": "Cluster", "path": "/a?b=eyJhbGciOiJSUzI1.eyJzdWIiOiJ4In0", "empty": "",
	})
	want := map[string]string{
		"password": masked, "apiKey": masked, "kubeconfig": masked, "Set-Cookie": masked, "token": masked, "tokenId": "abcdef",
		"kind": "Cluster", "path": "/a?b=" + masked,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("detail (-want +got):\n%s", diff)
	}
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprint(i)] = strings.Repeat("x", 10_000)
	}
	if got := maskDetail(many); len(got) != detailPairs || len(got["0"]) != detailValue {
		t.Errorf("kept %d pairs of %d bytes", len(got), len(got["0"]))
	}
}
