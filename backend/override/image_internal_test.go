package override

import (
	"strings"
	"testing"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

func TestParseImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	for text, want := range map[string]image{
		"nginx":                        {repository: "nginx"},
		"nginx:1.20":                   {repository: "nginx", tag: "1.20"},
		"library/nginx":                {repository: "library/nginx"},
		"docker.io/library/nginx":      {registry: "docker.io", repository: "library/nginx"},
		"localhost/nginx":              {registry: "localhost", repository: "nginx"},
		"registry:5000/a/b:c":          {registry: "registry:5000", repository: "a/b", tag: "c"},
		"fictional.registry.us/a":      {registry: "fictional.registry.us", repository: "a"},
		"nginx@" + digest:              {repository: "nginx", digest: digest},
		"r.io/a/nginx:1.20@" + digest:  {registry: "r.io", repository: "a/nginx", tag: "1.20"},
		"[2001:db8::1]:5000/a:latest":  {registry: "[2001:db8::1]:5000", repository: "a", tag: "latest"},
		"gcr.io/distroless/static-x86": {registry: "gcr.io", repository: "distroless/static-x86"},
	} {
		got, ok := parseImage(text)
		if !ok || got != want {
			t.Errorf("%s: got %+v %t, want %+v", text, got, ok, want)
		}
		if again := got.String(); got.digest != "" || got.tag == "" || !strings.Contains(text, "@") {
			if again != text {
				t.Errorf("%s became %s", text, again)
			}
		}
	}
	for _, text := range []string{"", "Nginx", "a b", "nginx:", "nginx@sha256:abc", "/nginx", "https://r.io/nginx", strings.Repeat("x", 10) + ":" + strings.Repeat("t", 129)} {
		if got, ok := parseImage(text); ok {
			t.Errorf("%q is an image: %+v", text, got)
		}
	}
}

func TestOverrideImage(t *testing.T) {
	digest, other := "sha256:"+strings.Repeat("ab", 32), "sha256:"+strings.Repeat("cd", 32)
	add, replace, remove := policyv1alpha1.OverriderOpAdd, policyv1alpha1.OverriderOpReplace, policyv1alpha1.OverriderOpRemove
	for _, test := range []struct {
		image     string
		component policyv1alpha1.ImageComponent
		operator  policyv1alpha1.OverriderOperator
		value     string
		want      string
	}{
		{"nginx", policyv1alpha1.Registry, add, "r.io", "r.io/nginx"},
		{"r.io/nginx:1", policyv1alpha1.Registry, add, ":5000", "r.io:5000/nginx:1"},
		{"r.io/nginx:1", policyv1alpha1.Registry, replace, "eu.r.io", "eu.r.io/nginx:1"},
		{"r.io/team/nginx:1", policyv1alpha1.Registry, remove, "", "team/nginx:1"},
		{"r.io/team/nginx:1", policyv1alpha1.Registry, replace, "", "team/nginx:1"},
		{"r.io/nginx:1", policyv1alpha1.Repository, add, "-slim", "r.io/nginx-slim:1"},
		{"r.io/team/nginx:1", policyv1alpha1.Repository, replace, "other/web", "r.io/other/web:1"},
		{"nginx", policyv1alpha1.Tag, replace, "1.20", "nginx:1.20"},
		{"nginx:1", policyv1alpha1.Tag, replace, digest, "nginx@" + digest},
		{"nginx@" + digest, policyv1alpha1.Tag, replace, "1", "nginx:1"},
		{"nginx@" + digest, policyv1alpha1.Tag, replace, other, "nginx@" + other},
		{"nginx:1", policyv1alpha1.Tag, replace, "no tag", "nginx:1"},
		{"nginx:1", policyv1alpha1.Tag, replace, "", "nginx:1"},
		{"nginx:1.2", policyv1alpha1.Tag, add, "-alpine", "nginx:1.2-alpine"},
		{"nginx", policyv1alpha1.Tag, add, "1", "nginx:1"},
		{"nginx@" + digest, policyv1alpha1.Tag, add, "00", "nginx@" + digest + "00"},
		{"nginx:1", policyv1alpha1.Tag, remove, "", "nginx"},
		{"nginx@" + digest, policyv1alpha1.Tag, remove, "", "nginx"},
		{"nginx:1@" + digest, policyv1alpha1.Registry, add, "r.io", "r.io/nginx:1"},
	} {
		parsed, ok := parseImage(test.image)
		if !ok {
			t.Fatalf("%s is no image", test.image)
		}
		if got, known := parsed.override(test.component, test.operator, test.value); !known || got.String() != test.want {
			t.Errorf("%s %s %s %q: got %s, want %s", test.image, test.operator, test.component, test.value, got, test.want)
		}
	}
}
