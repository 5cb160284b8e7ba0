package token_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/token"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestGenerateHasWireFormatAndDoesNotRepeat(t *testing.T) {
	seen := map[string]bool{}
	for range 2000 {
		id, secret := token.Generate()
		if gotID, gotSecret, err := token.Parse(id + "." + secret); err != nil || gotID != id || gotSecret != secret {
			t.Fatalf("Parse(%q.%q) = %q, %q, %v", id, secret, gotID, gotSecret, err)
		}
		if seen[secret] {
			t.Fatal("the same secret was drawn twice")
		}
		seen[secret] = true
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		text   string
		id     string
		secret string
		wrong  bool
	}{
		{text: "abcdef.0123456789abcdef", id: "abcdef", secret: "0123456789abcdef"},
		{text: " abcdef.0123456789abcdef\n", id: "abcdef", secret: "0123456789abcdef"},
		{text: "abcdef0123456789abcdef", wrong: true},
		{text: "ABCDEF.0123456789abcdef", wrong: true},
		{text: "abcdef.0123456789abcde", wrong: true},
		{text: "abcdef.0123456789abcdefg", wrong: true},
		{text: "abcdef.0123456789abcdef\nabcdef.0123456789abcdef", wrong: true},
		{text: "", wrong: true},
	}
	for _, test := range tests {
		id, secret, err := token.Parse(test.text)
		if (err != nil) != test.wrong || id != test.id || secret != test.secret {
			t.Errorf("Parse(%q) = %q, %q, %v", test.text, id, secret, err)
		}
		if err != nil && strings.Contains(err.Error(), "0123456789") {
			t.Errorf("Parse(%q) repeats the token: %v", test.text, err)
		}
	}
}

func TestParseID(t *testing.T) {
	for text, want := range map[string]string{"abcdef": "abcdef", "abcdef.0123456789abcdef": "abcdef", "notatoken": "", "abcde": "", "": ""} {
		got, err := token.ParseID(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseID(%q) = %q, %v", text, got, err)
		}
	}
}

func TestSpecMakesKubernetesSecret(t *testing.T) {
	spec := token.Spec{Description: "lab", TTL: time.Hour, ClusterName: "edge-7", MaxClusters: 1, CreatedBy: "ada", RegistrationID: "r1"}
	secret := spec.Secret("abcdef", "0123456789abcdef", now)
	want := map[string]string{
		"token-id": "abcdef", "token-secret": "0123456789abcdef", "description": "lab", "expiration": "2026-11-21T13:00:00Z",
		"usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:karmada:default-cluster-token",
	}
	got := map[string]string{}
	for key, value := range secret.Data {
		got[key] = string(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if secret.Name != "bootstrap-token-abcdef" || secret.Namespace != "kube-system" || secret.Type != "bootstrap.kubernetes.io/token" {
		t.Errorf("secret is %s/%s of type %s", secret.Namespace, secret.Name, secret.Type)
	}
	read, err := token.FromSecret(secret, now)
	if err != nil {
		t.Fatal(err)
	}
	expires := now.Add(time.Hour)
	wantToken := token.Token{
		ID: "abcdef", Description: "lab", Usages: []string{"authentication", "signing"}, Groups: []string{token.DefaultGroup},
		CreatedAt: secret.CreationTimestamp.UTC(), ExpiresAt: &expires, ClusterName: "edge-7", MaxClusters: 1, UsedBy: []string{},
		CreatedBy: "ada", RegistrationID: "r1",
	}
	if diff := cmp.Diff(wantToken, read); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
}

func TestSpecWithoutEndOrBinding(t *testing.T) {
	secret := token.Spec{Usages: []string{"signing"}}.Secret("abcdef", "0123456789abcdef", now)
	if _, ok := secret.Data["expiration"]; ok {
		t.Error("a token for ever has an expiration")
	}
	if _, ok := secret.Data["usage-bootstrap-authentication"]; ok {
		t.Error("a signing token may authenticate")
	}
	if len(secret.Annotations) != 0 {
		t.Errorf("an unbound token is annotated: %v", secret.Annotations)
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		spec  token.Spec
		field string
	}{
		"defaults":          {spec: token.Spec{}},
		"full":              {spec: token.Spec{TTL: time.Hour, Usages: []string{"signing"}, Groups: []string{"system:bootstrappers:other"}, ClusterName: "a", MaxClusters: 3}},
		"negative ttl":      {spec: token.Spec{TTL: -1}, field: "ttlSeconds"},
		"tiny ttl":          {spec: token.Spec{TTL: time.Millisecond}, field: "ttlSeconds"},
		"usage":             {spec: token.Spec{Usages: []string{"everything"}}, field: "usages"},
		"foreign group":     {spec: token.Spec{Groups: []string{"system:masters"}}, field: "groups"},
		"group with comma":  {spec: token.Spec{Groups: []string{"system:bootstrappers:a,system:masters"}}, field: "groups"},
		"group ends in -":   {spec: token.Spec{Groups: []string{"system:bootstrappers:a-"}}, field: "groups"},
		"long description":  {spec: token.Spec{Description: strings.Repeat("x", 2000)}, field: "description"},
		"two lines":         {spec: token.Spec{Description: "a\nb"}, field: "description"},
		"reserved name":     {spec: token.Spec{ClusterName: "rbac-generator"}, field: "clusterName"},
		"long name":         {spec: token.Spec{ClusterName: strings.Repeat("a", 49)}, field: "clusterName"},
		"upper-case name":   {spec: token.Spec{ClusterName: "Edge"}, field: "clusterName"},
		"negative clusters": {spec: token.Spec{MaxClusters: -1}, field: "maxClusters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.spec.Validate()
			if test.field == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			known, ok := fault.As(err)
			if !ok || known.Kind != fault.KindInvalid || len(known.Fields) != 1 || known.Fields[0].Field != test.field {
				t.Fatalf("got %v with fields %v, want an invalid %s", err, known, test.field)
			}
		})
	}
}

func TestFromSecretRefusesWhatKubernetesWould(t *testing.T) {
	tests := map[string]func(*corev1.Secret){
		"type":       func(s *corev1.Secret) { s.Type = "Opaque" },
		"id":         func(s *corev1.Secret) { delete(s.Data, "token-id") },
		"name":       func(s *corev1.Secret) { s.Name = "bootstrap-token-ffffff" },
		"secret":     func(s *corev1.Secret) { s.Data["token-secret"] = []byte("short") },
		"expiration": func(s *corev1.Secret) { s.Data["expiration"] = []byte("tomorrow") },
		"limit":      func(s *corev1.Secret) { s.Annotations[token.AnnotationMaxClusters] = "many" },
	}
	for name, spoil := range tests {
		secret := token.Spec{MaxClusters: 1}.Secret("abcdef", "0123456789abcdef", now)
		spoil(secret)
		if _, err := token.FromSecret(secret, now); !fault.Is(err, fault.KindInvalid) {
			t.Errorf("%s: got %v, want a fault", name, err)
		} else if strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%s: the error holds the secret", name)
		}
	}
}

func TestAdmits(t *testing.T) {
	past, future := now.Add(-time.Minute), now.Add(time.Minute)
	tests := map[string]struct {
		token   token.Token
		cluster string
		code    string
	}{
		"unbound":                    {token.Token{}, "a", ""},
		"unbound, second cluster":    {token.Token{UsedBy: []string{"a"}}, "b", ""},
		"bound":                      {token.Token{ClusterName: "a", ExpiresAt: &future}, "a", ""},
		"bound to another":           {token.Token{ClusterName: "a"}, "b", token.CodeBound},
		"one cluster, first use":     {token.Token{MaxClusters: 1}, "a", ""},
		"one cluster, retry":         {token.Token{MaxClusters: 1, UsedBy: []string{"a"}}, "a", ""},
		"one cluster, second":        {token.Token{MaxClusters: 1, UsedBy: []string{"a"}}, "b", token.CodeBound},
		"two clusters, second":       {token.Token{MaxClusters: 2, UsedBy: []string{"a"}}, "b", ""},
		"expired":                    {token.Token{ExpiresAt: &past}, "a", token.CodeExpired},
		"expires now":                {token.Token{ExpiresAt: &now}, "a", token.CodeExpired},
		"expired, retry of its user": {token.Token{ExpiresAt: &past, UsedBy: []string{"a"}}, "a", token.CodeExpired},
	}
	for name, test := range tests {
		err := test.token.Admits(test.cluster, now)
		known, _ := fault.As(err)
		if (err == nil) != (test.code == "") || known != nil && known.Code != test.code {
			t.Errorf("%s: got %v, want code %q", name, err, test.code)
		}
	}
}

func TestMarkUsed(t *testing.T) {
	secret := token.Spec{}.Secret("abcdef", "0123456789abcdef", now)
	if !token.MarkUsed(secret, "a") || token.MarkUsed(secret, "a") || !token.MarkUsed(secret, "b") {
		t.Error("MarkUsed does not report changes rightly")
	}
	for i := range 300 {
		token.MarkUsed(secret, strings.Repeat("x", 1+i%40)+strings.Repeat("y", i/40))
	}
	read, err := token.FromSecret(secret, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.UsedBy) > 100 {
		t.Errorf("an unlimited token remembers %d names", len(read.UsedBy))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("abcdef.0123456789abcdef")
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, err := token.Parse(text)
		if err == nil && (len(id) != 6 || len(secret) != 16) {
			t.Errorf("Parse(%q) = %q, %q", text, id, secret)
		}
	})
}
