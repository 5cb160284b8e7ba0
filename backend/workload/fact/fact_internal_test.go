package fact

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/template"
)

// TestEverySentenceIsThere reads the codes from the source: none may lack its
// sentence, and none may be said twice.
func TestEverySentenceIsThere(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "fact.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[Code]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		code := Code(strings.Trim(literal.Value, `"`))
		if codes[code] {
			t.Errorf("%s stands for two sentences", code)
		}
		codes[code] = true
		if sentences[code] == "" {
			t.Errorf("%s has no sentence", code)
		}
		return true
	})
	if len(codes) != len(sentences) || len(codes) < 30 {
		t.Errorf("%d codes, %d sentences", len(codes), len(sentences))
	}
}

func TestSay(t *testing.T) {
	at := time.Unix(7, 0)
	said := Say(LevelWarn, CodeHealthUnready, "cluster", "{ready}", "ready", "1", "wanted", Number(int32(3))).Since(at).Linked(&ObjectRef{Kind: "Work"})
	if said.Text != "{ready}: 1 of 3 replicas are ready." { // what a member said is not a pattern
		t.Error(said.Text)
	}
	if said.Params["wanted"] != "3" || *said.At != at || said.Link.Kind != "Work" || said.Level != LevelWarn {
		t.Errorf("%+v", said)
	}
	if Say(LevelOK, CodePolicyNone).Since(time.Time{}).At != nil {
		t.Error("no time is a time")
	}
	for code, sentence := range sentences {
		if !strings.HasSuffix(sentence, ".") && !strings.HasSuffix(sentence, "{message}") || regexp.MustCompile(`\{[^}]*[^a-z}]`).MatchString(sentence) {
			t.Errorf("%s: %q is no sentence", code, sentence)
		}
	}
}

func TestID(t *testing.T) {
	for id, ref := range map[string]template.Ref{
		"apps/v1/Deployment/default/nginx": {APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "nginx"},
		"core/v1/Namespace/-/shop":         {APIVersion: "v1", Kind: "Namespace", Name: "shop"},
	} {
		if got := ID(ref); got != id {
			t.Errorf("%s, want %s", got, id)
		}
		parts := strings.Split(id, "/")
		if got := (Key{parts[0], parts[1], parts[2], parts[3], parts[4]}).Ref(); got != ref {
			t.Errorf("%+v, want %+v", got, ref)
		}
	}
}

func TestPolicies(t *testing.T) {
	got, err := PolicyAt("clusteroverridepolicies", "-", "a")
	if err != nil || got != (PolicyRef{Kind: "ClusterOverridePolicy", Resource: "clusteroverridepolicies", Name: "a"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got.String() != "ClusterOverridePolicy a" || got.Path() != "clusteroverridepolicies/-/a" {
		t.Errorf("%s at %s", got, got.Path())
	}
	if _, err := PolicyAt("things", "-", "a"); !fault.Is(err, fault.KindNotFound) {
		t.Errorf("got %v", err)
	}
	if len(Kinds) != 4 || len(Resources) != 4 {
		t.Error("there are four kinds")
	}
	for resource, kind := range Kinds {
		if Resources[kind] != resource {
			t.Errorf("%s is called %s", kind, Resources[kind])
		}
	}
}
