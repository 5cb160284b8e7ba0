package app_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "muster.dev/muster/"

// domains may import leftward only.
var domains = []string{"access", "audit", "token", "registration", "identity", "reach", "joining", "enrolment", "liveness", "cluster", "tunnel", "policy", "override", "estimator", "scheduling", "template", "execution", "propagation", "eviction", "workload", "consent", "waiting", "managedcluster", "addon", "placement", "manifestwork", "relay", "operator", "insight"}

// platform knows no domain, nor each other.
var platform = []string{"httpapi", "live", "database", "kube", "controlplane"}

// contracts are all that agent/ may import of backend/.
var contracts = []string{"fault", "agentapi", "apis"}

// embeds are the packages that carry files; only app hands them down.
var embeds = []string{"frontend", "migrations", "deploy", "api-docs"}

// borders say which packages alone may import a third party. A border is a path
// prefix; "*" is any one folder.
var borders = []struct {
	library string // import path prefix
	allowed []string
	// files: within the allowed packages, only these file names may; nil: all.
	files []string
}{
	{"github.com/gin-gonic/gin", []string{"backend/httpapi", "backend/live", "backend/app", "backend/*"}, []string{"http.go", "http_", "app.go", "routes.go", "external_routes.go"}},
	{"gorm.io/", []string{"backend/database", "backend/*"}, []string{"store.go", "store_"}},
	{"github.com/glebarez/sqlite", []string{"backend/database"}, nil},
	{"github.com/gorilla/websocket", []string{"backend/live", "backend/tunnel", "agent/tunnel"}, nil},
	{"k8s.io/kubernetes", []string{"backend/controlplane", "e2e/cluster/kube"}, nil},
	{"google.golang.org/grpc", []string{"backend/controlplane", "backend/estimator"}, nil},
	{"go.etcd.io/etcd", []string{"backend/controlplane", "e2e/cluster/kube", "e2e/load/clonehub"}, nil},
}

// goPackage is what go list tells about one package.
type goPackage struct {
	ImportPath                string
	Dir                       string
	GoFiles                   []string
	Imports                   []string
	TestImports, XTestImports []string
}

func (p goPackage) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// isTest says whether a package exists for tests: their rules are looser.
func (p goPackage) isTest() bool { return strings.HasSuffix(p.path(), "test") }

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// below returns the folder under parent that path is in or below, if it is.
func below(parent, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, parent+"/")
	if !ok {
		return "", false
	}
	folder, _, _ := strings.Cut(rest, "/")
	return folder, true
}

// refusal says why a package may not import another of this module; empty: it may.
func refusal(from, to string) string {
	if slices.ContainsFunc(embeds, func(e string) bool { return to == e }) && from != "backend/app" && from != "agent/cmd/muster-agent" {
		return "only app and the agent's command import the packages that carry files"
	}
	target, toBackend := below("backend", to)
	switch source, ok := below("backend", from); {
	case ok && source != "app" && source != "cmd":
		return refusalInBackend(source, target, to, toBackend)
	case ok && source == "cmd" && toBackend && slices.Contains(platform, target) && target != "kube":
		return "a command goes through app"
	case strings.HasPrefix(from, "agent") && toBackend && !slices.Contains(contracts, target):
		return "the agent imports contracts only"
	case strings.HasPrefix(from, "e2e") && toBackend && !slices.Contains(contracts, target) && !strings.HasSuffix(to, "test"):
		return "end-to-end tests import contracts only"
	}
	return ""
}

func refusalInBackend(source, target, to string, toBackend bool) string {
	if strings.HasPrefix(to, "agent/") {
		// One code applies Works and observes members: in the hub for push, in
		// the agent for pull.
		if slices.Contains([]string{"execution", "propagation"}, source) && to == "agent/apply" || source == "liveness" && to == "agent/inventory" {
			return ""
		}
		// So does one interpreter of kinds.
		if to == "agent/interpret" && slices.Contains(domains, source) {
			return ""
		}
		return "the backend does not import the agent"
	}
	if !toBackend || source == target || slices.Contains(contracts, target) && !slices.Contains(contracts, source) {
		return ""
	}
	switch {
	case target == "app" || target == "cmd":
		return "only app wires"
	case slices.Contains(contracts, source):
		if slices.Contains(contracts, target) {
			return ""
		}
		return "contracts import contracts only"
	case slices.Contains(platform, source):
		return "platform packages know no domain, nor each other"
	case slices.Contains(platform, target):
		return ""
	case slices.Index(domains, target) < 0 || slices.Index(domains, source) < 0:
		return "the package is in no list of imports_test.go"
	case slices.Index(domains, target) > slices.Index(domains, source):
		return "domains import leftward only"
	}
	return ""
}

func TestImportsPointLeftAndDown(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if p.isTest() {
			continue
		}
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			if why := refusal(p.path(), to); why != "" {
				t.Errorf("%s imports %s: %s", p.path(), to, why)
			}
		}
	}
}

func TestThirdPartyBorders(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		for _, b := range borders {
			uses := func(imports []string) bool {
				return slices.ContainsFunc(imports, func(i string) bool { return strings.HasPrefix(i, b.library) })
			}
			if !uses(p.Imports) || p.isTest() {
				continue
			}
			if !slices.ContainsFunc(b.allowed, func(allowed string) bool { return within(p.path(), allowed) }) {
				t.Errorf("%s imports %s, which only %v may", p.path(), b.library, b.allowed)
				continue
			}
			checkFiles(t, p, b.library, b.files)
		}
	}
}

// checkFiles fails for files of a domain that import a library which only some
// of its files may.
func checkFiles(t *testing.T, p goPackage, library string, files []string) {
	t.Helper()
	folder, _ := below("backend", p.path())
	if files == nil || slices.Contains(platform, folder) {
		return
	}
	for _, file := range p.GoFiles {
		allowed := slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(file, f) })
		if !allowed && importsLibrary(t, filepath.Join(p.Dir, file), library) {
			t.Errorf("%s/%s imports %s, which only %v may", p.path(), file, library, files)
		}
	}
}

func within(path, allowed string) bool {
	if parent, ok := strings.CutSuffix(allowed, "/*"); ok {
		folder, isBelow := below(parent, path)
		return isBelow && path == parent+"/"+folder && slices.Contains(domains, folder)
	}
	return path == allowed || strings.HasPrefix(path, allowed+"/")
}

func importsLibrary(t *testing.T, file, library string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool {
		return strings.HasPrefix(strings.Trim(i.Path.Value, `"`), library)
	})
}

func TestRefusalKnowsTheRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		refused  bool
	}{
		{"backend/cluster", "backend/token", false},
		{"backend/token", "backend/cluster", true},
		{"backend/cluster", "backend/kube", false},
		{"backend/kube", "backend/cluster", true},
		{"backend/kube", "backend/database", true},
		{"backend/kube", "backend/fault", false},
		{"backend/fault", "backend/kube", true},
		{"backend/agentapi", "backend/apis/work/v1alpha1", false},
		{"backend/propagation", "agent/apply", false},
		{"backend/liveness", "agent/inventory", false},
		{"backend/cluster", "agent/apply", true},
		{"backend/cluster", "migrations", true},
		{"backend/app", "migrations", false},
		{"backend/access", "backend/app", true},
		{"agent/join", "backend/agentapi", false},
		{"agent/join", "backend/kube", true},
		{"e2e", "backend/apis/cluster/v1alpha1", false},
		{"e2e", "backend/controlplane/controlplanetest", false},
		{"e2e", "backend/controlplane", true},
	} {
		if got := refusal(c.from, c.to) != ""; got != c.refused {
			t.Errorf("%s imports %s: refused = %v, want %v (%s)", c.from, c.to, got, c.refused, refusal(c.from, c.to))
		}
	}
}
