package app_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// askedByBrowsers are the packages whose faults the dashboard shows. All others
// speak to command lines, to agents and to kubectl only.
var askedByBrowsers = []string{
	"access", "audit", "cluster", "enrolment", "httpapi", "managedcluster", "manifestwork", "operator",
	"placement", "policy", "reach", "registration", "token", "waiting", "workload",
}

// saidChinese holds the sentences of the hub in 中文, by their English.
const saidChinese = "../../frontend/src/api/said.chinese.ts"

var (
	// verb is where a sentence takes a value, hole the same in the dictionary.
	verb = regexp.MustCompile(`%[+#]?[sdvqT]`)
	hole = regexp.MustCompile(`\{\d\}`)
	// sentence has words of its own; one word alone may be a name.
	sentence = regexp.MustCompile(`[A-Za-z].* |[ ].*[A-Za-z]`)
)

// TestFaultsAreSaidInChinese checks that every sentence which a fault tells the
// dashboard stands in its dictionary. Without it the reader gets English.
func TestFaultsAreSaidInChinese(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(saidChinese)
	if err != nil {
		t.Fatal(err)
	}
	sentences := 0
	for _, domain := range askedByBrowsers {
		for _, said := range saidIn(t, filepath.Join("..", domain)) {
			sentences++
			if !strings.Contains(string(text), "'"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(said.text)+"': ") {
				t.Errorf("%s: %s has no words for %q", said.at, filepath.Base(saidChinese), said.text)
			}
		}
	}
	if sentences < 200 {
		t.Errorf("only %d sentences were found: this test does not see them any more", sentences)
	}
}

// said is one sentence and where it is said.
type said struct{ text, at string }

// saidIn finds what the faults of a folder say: their message, their fix and what
// is wrong with a field.
func saidIn(t *testing.T, folder string) []said {
	t.Helper()
	files := token.NewFileSet()
	var found []said
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if text := saidBy(call); sentence.MatchString(hole.ReplaceAllString(text, "")) {
				at := files.Position(call.Pos())
				found = append(found, said{text, fmt.Sprintf("%s:%d", at.Filename, at.Line)})
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// saidBy is the sentence of a call that makes or completes a fault, with {0} for
// the first value in it.
func saidBy(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	argument := -1
	switch of, _ := method.X.(*ast.Ident); {
	case of != nil && of.Name == "fault" && slices.Contains([]string{"Invalid", "Unauthenticated", "Forbidden", "NotFound", "Conflict", "Senseless", "TooMany", "Unavailable"}, method.Sel.Name):
		argument = 0
	case method.Sel.Name == "WithFix":
		argument = 0
	case method.Sel.Name == "WithField":
		argument = 1
	}
	if argument < 0 || argument >= len(call.Args) {
		return ""
	}
	n := 0
	return verb.ReplaceAllStringFunc(literal(call.Args[argument]), func(verb string) string {
		n++
		hole := "{" + strconv.Itoa(n-1) + "}"
		if strings.HasSuffix(verb, "q") {
			return `"` + hole + `"`
		}
		return hole
	})
}

// literal is the text of an expression, with %s for what is joined in.
func literal(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind != token.STRING || err != nil {
			return ""
		}
		return text
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	case *ast.CallExpr:
		if method, ok := e.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Sprintf" {
			return literal(e.Args[0])
		}
	}
	return "%s"
}
